"""The errors for authors: codes, attributes, texts, copies, and their page."""

import copy
import inspect
import pickle
import re
import traceback

import pytest

import ledgence.worker.workflow
from ledgence.worker import _exceptions
from ledgence.worker._exceptions import CODES, BindingError, LimitError, WorkflowError
from tests.support.places import PACKAGE, ROOT

PAGE = ROOT / "docs" / "reference" / "error-codes.md"
CLASSES = [
    found
    for found in vars(_exceptions).values()
    if inspect.isclass(found)
    and issubclass(found, WorkflowError)
    and not found.__qualname__.startswith("_")
]
CONCRETE = [
    found
    for found in CLASSES
    if found.__qualname__ not in ("WorkflowError", "ProgramError", "HostError")
]
ATTRIBUTES = ("key", "argument", "path", "limit", "size", "diff", "largest")


def test_a_program_may_raise_the_root_with_any_arguments():
    error = WorkflowError("declined", 5)
    assert error.args == ("declined", 5)
    assert error.code == "workflow_error"
    assert [getattr(error, name) for name in ATTRIBUTES] == [None] * len(ATTRIBUTES)
    assert str(WorkflowError("x")) == "x"
    assert WorkflowError.__bases__ == (Exception,)


@pytest.mark.parametrize("found", CONCRETE, ids=lambda found: found.__qualname__)
def test_programs_in_the_field_see_one_class_name(found):
    assert type(found("not_json")).__name__ == "WorkflowError"
    lines = traceback.format_exception_only(found("not_json"))
    assert found.__qualname__ in lines[0]


@pytest.mark.parametrize("code", CODES)
def test_every_text_begins_with_its_code_and_is_short(code):
    error = BindingError(code, "detail", key="k" * 300, argument="data", path="$.a")
    text = str(error)
    assert text.startswith(f"{code}: ")
    assert len(text) <= 512
    assert CODES[code][0] in text[:200]
    if CODES[code][1] is not None:
        assert f"next: {CODES[code][1]}" in text


def test_attributes_that_do_not_apply_are_none():
    error = LimitError("too_many", "keys", limit=3)
    assert (error.code, error.limit) == ("too_many", 3)
    assert [getattr(error, n) for n in ATTRIBUTES if n != "limit"] == [None] * 6


def test_the_text_is_made_from_the_attributes():
    error = LimitError(
        "too_large",
        "the record",
        key="é\n",
        argument="data",
        path="$.orders[3]",
        size=101,
        limit=100,
        largest=(
            {"path": "$.orders[3].note", "size": 90, "exact": True},
            {"path": "$.b", "size": 5, "exact": False},
        ),
    )
    place = "(key '\\xe9\\n', argument data, at $.orders[3])"
    assert str(error).splitlines() == [
        f"too_large: {CODES['too_large'][0]} {place}: 101, limit 100: the record",
        "  largest: $.orders[3].note 90 bytes, $.b at least 5 bytes",
        f"  next: {CODES['too_large'][1]}",
    ]


def test_a_text_changes_with_its_attributes():
    error = BindingError("binding_changed")
    assert "key" not in str(error).splitlines()[0].partition("binding")[2][:3]
    error.key = "charge"
    error.diff = tuple(
        {"path": f"$.a[{i}]", "expected": "1", "got": "2"} for i in range(5)
    )
    lines = str(error).splitlines()
    assert "'charge'" in lines[0]
    assert lines[1:4] == [f"  $.a[{i}]: expected 1, got 2" for i in range(3)]
    assert len(lines) == 5


@pytest.mark.parametrize("found", CONCRETE, ids=lambda found: found.__qualname__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_can_be_pickled(found, protocol):
    error = found("too_large", "d", key="k", size=2, limit=1, diff=({"path": "$"},))
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is found
    assert again.__dict__ == error.__dict__


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_errors_can_be_copied(copied):
    error = LimitError("too_large", "d", key="k", size=2, limit=1)
    again = copied(error)
    assert str(again) == str(error)
    assert again.args == error.args


def test_the_classes_can_be_imported_from_the_package():
    for found in CLASSES:
        assert getattr(ledgence.worker.workflow, found.__qualname__) is found


def documented():
    """The codes of the page, with the class that heads each of them."""
    found, heading = {}, None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:].strip().strip("`")
        elif heading and (match := re.match(r"\| `(\w+)` \|", line)):
            assert match[1] not in found
            found[match[1]] = heading
    return found


def test_the_page_of_codes_lists_exactly_the_codes():
    assert sorted(documented()) == sorted(CODES)


def raised_in_the_sources():
    pairs = set()
    for path in (PACKAGE / "worker/workflow").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        pairs |= set(re.findall(r"\b(\w+Error)\(\s*\"(\w+)\"", text))
    return pairs


def test_every_code_is_raised_by_one_class_and_the_page_says_which():
    pairs = raised_in_the_sources()
    classes = {code: name for name, code in pairs if code in CODES}
    assert {code for _, code in pairs if code not in CODES} == set()
    assert len(classes) == len({(n, c) for n, c in pairs})
    assert classes == documented()
