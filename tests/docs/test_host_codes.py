"""Every code of the local host is documented, and every documented one exists."""

import re

from ledgence.local._engine import _errors
from ledgence.local._engine._limits import RETRYABLE, TERMINAL_KINDS
from tests.docs.test_local_codes import CODE, codes_in
from tests.docs.test_local_codes import documented as documented_of_the_command
from tests.support.local_cli import ROOT

PAGE = ROOT / "docs" / "reference" / "local.md"
ROOMS = ("_host", "_replay", "_store", "_testing")
SOURCES = sorted(
    path for room in ROOMS for path in (ROOT / "ledgence/local" / room).glob("*.py")
)
# Given to an attribute, not to a constructor.
SET = {"not_repeatable"}


def used():
    found = {code for path in SOURCES for code in codes_in(path)} | SET
    return {code for code in found if CODE.fullmatch(code)}


def documented():
    """Return the codes of the host's own table, and those of the service's names."""
    text = PAGE.read_text(encoding="utf-8").partition("### Codes")[2]
    tables = text.split("And what is of the local host alone")
    found = []
    for table in tables:
        rows = [line for line in table.splitlines() if line.startswith("| `")]
        cells = [row.split("|")[1] for row in rows]
        found.append({code for c in cells for code in re.findall(r"`([a-z_]+)`", c)})
    return found


def test_the_page_lists_exactly_the_codes_that_exist():
    _, own = documented()
    assert sorted(used() - own - documented_of_the_command()) == []
    assert sorted(own - used()) == []


def test_the_page_lists_exactly_the_names_of_the_service():
    names = {
        error.name
        for error in vars(_errors).values()
        if isinstance(error, type) and hasattr(error, "name")
    }
    assert documented()[0] == names


def test_the_kinds_that_are_retried_are_told_as_they_are():
    page = ROOT / "docs" / "topics" / "errors-and-retries.md"
    text = page.read_text(encoding="utf-8").partition("The full list of kinds")[2]
    retried, _, rest = text.partition("Never:")
    assert set(re.findall(r"`([a-z_]+)`", retried)) == RETRYABLE
    never = rest.partition("## ")[0]
    assert set(re.findall(r"`([a-z_]+)`", never)) == TERMINAL_KINDS
