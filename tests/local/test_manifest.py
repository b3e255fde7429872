import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.local._errors import TargetError
from ledgence.local._limits import MANIFEST_BYTES
from ledgence.local._manifest import parse_manifest

GOOD = {
    "schema_version": 1,
    "program": {"id": "invoice-issuer", "version": "1.2.0"},
    "runtime": {"kind": "python", "python": "3.12", "protocol": 3},
    "handler": "program:handle",
    "platform": {"os": "linux", "arch": "x86_64"},
}
DELETE = object()


def changed(path, value):
    manifest = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    holder = manifest
    for name in parents:
        holder = holder[name]
    if value is DELETE:
        del holder[last]
    else:
        holder[last] = value
    return json.dumps(manifest).encode()


def refusal(data):
    with pytest.raises(TargetError) as caught:
        parse_manifest(data)
    return caught.value


def test_a_good_manifest_is_read():
    manifest = parse_manifest(json.dumps(GOOD).encode())
    assert (manifest.program_id, manifest.version) == ("invoice-issuer", "1.2.0")
    assert (manifest.python, manifest.protocol) == ("3.12", 3)
    assert manifest.handler == "program:handle"
    assert (manifest.os, manifest.arch) == ("linux", "x86_64")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("program.id", "a" * 128, id="longest-id"),
        pytest.param("program.id", "...", id="three-dots"),
        pytest.param("program.version", "0", id="short-version"),
        pytest.param("runtime.python", "3.11", id="oldest"),
        pytest.param("runtime.python", "3.100", id="far-future"),
        pytest.param("runtime.protocol", 1, id="protocol-1"),
        pytest.param("handler", "a.b_c.d1:_f", id="dotted"),
        pytest.param("platform.os", "macos", id="macos"),
        pytest.param("platform.arch", "aarch64", id="aarch64"),
    ],
)
def test_values_at_the_edge_are_taken(path, value):
    parse_manifest(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        pytest.param("schema_version", 2, "incompatible", id="schema-2"),
        pytest.param("schema_version", "1", "invalid_input", id="schema-text"),
        pytest.param("schema_version", True, "invalid_input", id="schema-true"),
        pytest.param("schema_version", 1.0, "invalid_input", id="schema-float"),
        pytest.param("runtime.kind", "node", "incompatible", id="other-kind"),
        pytest.param("runtime.kind", None, "invalid_input", id="null-kind"),
        pytest.param("runtime.protocol", 0, "incompatible", id="protocol-0"),
        pytest.param("runtime.protocol", 4, "incompatible", id="protocol-4"),
        pytest.param("runtime.protocol", "3", "invalid_input", id="protocol-text"),
        pytest.param("runtime.python", "3.10", "incompatible", id="python-3.10"),
        pytest.param("runtime.python", "3.012", "incompatible", id="python-3.012"),
        pytest.param("runtime.python", "3." + "9" * 5000, "incompatible", id="digits"),
        pytest.param("runtime.python", "3", "invalid_input", id="python-3"),
        pytest.param("runtime.python", "3.", "invalid_input", id="python-dot"),
        pytest.param("runtime.python", "3.x", "invalid_input", id="python-x"),
        pytest.param("runtime.python", "3.12.1", "invalid_input", id="python-patch"),
        pytest.param("runtime.python", "2.7", "invalid_input", id="python-2"),
        pytest.param("runtime.python", "3.1٣", "invalid_input", id="other-digits"),
        pytest.param("runtime.python", 3.12, "invalid_input", id="python-float"),
        pytest.param("handler", "a:b:c", "invalid_input", id="two-colons"),
        pytest.param("handler", "a", "invalid_input", id="no-colon"),
        pytest.param("handler", ":f", "invalid_input", id="no-module"),
        pytest.param("handler", "a:", "invalid_input", id="no-function"),
        pytest.param("handler", "a.:f", "invalid_input", id="empty-part"),
        pytest.param("handler", "a:b.c", "invalid_input", id="dotted-function"),
        pytest.param("handler", "é:f", "invalid_input", id="non-ascii"),
        pytest.param("handler", "1a:f", "invalid_input", id="digit-first"),
        pytest.param("handler", "a:f\n", "invalid_input", id="newline"),
        pytest.param("program.id", "", "invalid_input", id="empty-id"),
        pytest.param("program.id", "a" * 129, "invalid_input", id="long-id"),
        pytest.param("program.id", "..", "invalid_input", id="dots"),
        pytest.param("program.id", "A", "invalid_input", id="upper-case"),
        pytest.param("program.version", ".", "invalid_input", id="dot"),
        pytest.param("program.version", 1, "invalid_input", id="number"),
        pytest.param("platform.os", "windows", "invalid_input", id="windows"),
        pytest.param("platform.arch", "arm64", "invalid_input", id="arm64"),
        pytest.param("platform.arch", ["x86_64"], "invalid_input", id="arch-list"),
        pytest.param("handler", DELETE, "invalid_input", id="no-handler"),
        pytest.param("program.version", DELETE, "invalid_input", id="no-version"),
        pytest.param("more", 1, "invalid_input", id="extra-member"),
        pytest.param("runtime.more", 1, "invalid_input", id="extra-inside"),
        pytest.param("program", [], "invalid_input", id="program-list"),
    ],
)
def test_another_value_is_refused_with_its_kind_and_path(path, value, kind):
    error = refusal(changed(path, value))
    assert error.kind == kind
    # A missing or an extra member is reported at the object that holds it.
    assert f"$.{path}".startswith(error.details["path"])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="array"),
        pytest.param(b"{", id="half"),
        pytest.param(b"\xff", id="not-utf8"),
        pytest.param(b'{"handler":"a:b","handler":"a:b"}', id="duplicate"),
        pytest.param(b"\xef\xbb\xbf{}", id="bom"),
    ],
)
def test_what_is_no_object_is_invalid(data):
    assert refusal(data).kind == "invalid_input"


def test_a_manifest_has_at_most_64_kib():
    data = json.dumps(GOOD).encode()
    parse_manifest(data.ljust(MANIFEST_BYTES))
    assert refusal(data.ljust(MANIFEST_BYTES + 1)).kind == "invalid_input"


@given(st.text(max_size=12))
def test_any_handler_text_is_taken_or_refused_in_words(text):
    found, error = None, None
    try:
        found = parse_manifest(changed("handler", text))
    except TargetError as refused:
        error = refused
    if error is None:
        assert found.handler == text
        assert text.isascii()
    else:
        assert len(str(error)) < 500
