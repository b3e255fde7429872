"""Every code of the local command is documented, and every documented one exists."""

import ast
import re

from tests.support.places import PACKAGE, ROOT

# The command line, and what only it shows; the codes of hosts stand elsewhere.
ROOMS = (".", "_commands", "_operate", "_packages", "_store")
SOURCES = sorted(
    path for room in ROOMS for path in (PACKAGE / "local" / room).glob("*.py")
)
PAGE = ROOT / "docs" / "reference" / "cli.md"
CODE = re.compile(r"[a-z]+(_[a-z]+)+")
# Calls whose text arguments are codes.
MAKERS = {"FrameFault", "_refuse", "_require", "_members", "_identify", "_canonical"}
# Built from parts in one place.
BUILT = {
    *(f"data_{reason}" for reason in ("bytes", "depth", "surrogate", "int_range")),
    *(f"data_{reason}" for reason in ("non_finite", "utf8", "syntax", "constant")),
    "data_duplicate",
    "manifest_invalid",
    "manifest_incompatible",
    "invocation_bytes",
    "extension_bytes",
}


def codes_in(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        values = [one.value for one in node.keywords if one.arg == "code"]
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
        if name in MAKERS:
            values += node.args
        for value in values:
            for one in ast.walk(value):
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one.value


def used():
    found = {code for path in SOURCES for code in codes_in(path)}
    words = {"event_id", "attempt_id", "python_version", "runtime_request"}
    return {code for code in found if CODE.fullmatch(code)} - words | BUILT


def documented():
    text = PAGE.read_text(encoding="utf-8").partition("### Codes")[2]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {code for row in rows for code in re.findall(r"`([a-z0-9_]+)`", row)}


def test_the_page_lists_exactly_the_codes_that_exist():
    assert sorted(used() - documented()) == []
    assert sorted(documented() - used()) == []
