"""Canonical bytes and the service's sizes."""

import json
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.local._engine import InvalidInput, parse
from ledgence.local._engine._values import (
    array_size,
    pack,
    service_float,
    service_size,
    unpack,
)
from tests.support.ids import stable

VECTORS = Path(__file__).parents[1] / "conformance" / "profile" / "rust_floats.jsonl"

floats = st.floats(allow_nan=False, allow_infinity=False)


def _is_text(value):
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | floats | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
).filter(_is_text)


def service_json(value):
    """Encode as the service does, the slow way."""
    if isinstance(value, float):
        return service_float(value)
    if isinstance(value, list):
        return "[" + ",".join(map(service_json, value)) + "]"
    if isinstance(value, dict):
        members = (
            f"{json.dumps(name, ensure_ascii=False)}:{service_json(item)}"
            for name, item in value.items()
        )
        return "{" + ",".join(members) + "}"
    return json.dumps(value, ensure_ascii=False)


def test_floats_are_spelled_as_the_golden_cases_say():
    rows = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    assert len(rows) > 2000
    for row in rows:
        (number,) = struct.unpack(">d", bytes.fromhex(row["bits"]))
        assert service_float(number) == row["rust"], row["id"]
        assert service_size(number, row["repr"].encode()) == len(row["rust"])


@given(values)
def test_the_size_is_that_of_the_services_encoding(value):
    packed = pack(value, 1 << 20)
    assert packed.size == len(service_json(value).encode())
    assert unpack(packed.data) == value


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1e-05, 7),  # 0.00001, longer than here
        (-1.5e-05, 9),
        (1e-07, 4),  # 1e-7, shorter than here
        (1.25e-09, 7),
        (1e-10, 5),
        (1e16, 5),
        ("e-05", 6),
        ({"e-05": [1e-05, 1e-06]}, 23),
    ],
    ids=stable,
)
def test_a_limit_is_met_by_the_services_size(value, size):
    assert pack(value, size).size == size
    assert pack(value, size + 1).size == size
    with pytest.raises(InvalidInput):
        pack(value, size - 1)


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", {1: 2}, {1, 2}, 2**64])
def test_what_is_no_value_is_refused_at_its_path(value):
    with pytest.raises(InvalidInput) as caught:
        pack({"a": [value]}, 100, path="$.input.data")
    assert caught.value.details["path"] == "$.input.data.a[0]"


@pytest.mark.parametrize(("depth", "fits"), [(63, True), (64, True), (65, False)])
def test_a_value_may_nest_64_deep(depth, fits):
    value = None
    for _ in range(depth):
        value = [value]
    if fits:
        pack(value, 1000)
    else:
        with pytest.raises(InvalidInput):
            pack(value, 1000)


@given(st.lists(st.text(st.characters(categories=("L",)))))
def test_an_array_has_the_size_of_its_parts(items):
    sizes = [pack(item, 1 << 16).size for item in items]
    assert array_size(sizes) == pack(items, 1 << 20).size


def test_text_is_read_as_the_service_reads_it():
    found = parse(b'{"a": -0, "b": [0, 1.0, 18446744073709551615]}')
    assert math.copysign(1, found["a"]) == -1
    assert type(found["a"]) is float
    assert [type(item) for item in found["b"]] == [int, float, int]


@pytest.mark.parametrize(
    "text",
    [b'{"a":1,"a":2}', b"NaN", b"[1,]", b"", b"\xff", b"[" * 100_000, b"1 2"],
    ids=lambda text: repr(text[:12]),
)
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(InvalidInput):
        parse(text)
