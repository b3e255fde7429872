"""What differs between two bindings."""

import pytest
from hypothesis import given

from ledgence.worker.workflow._differences import differences
from tests.support.ids import stable
from tests.support.workflow import canonical
from tests.workflow.test_sizes import JSON


def diff(expected, got):
    return [
        (entry["path"], entry["expected"], entry["got"])
        for entry in differences(canonical(expected), canonical(got))
    ]


@pytest.mark.parametrize(
    ("expected", "got", "wanted"),
    [
        (1, 2, [("$", "1", "2")]),
        (1, 1.0, [("$", "1", "1.0")]),
        (1, True, [("$", "1", "true")]),
        (0.0, -0.0, [("$", "0.0", "-0.0")]),
        (None, False, [("$", "null", "false")]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ((1, 2), [1, 2], []),
        ({"a": 1}, {"b": 1}, [("$.a", "1", "(absent)"), ("$.b", "(absent)", "1")]),
        ([1, 2], [1], [("$[1]", "2", "(absent)")]),
        ([1], [1, [2]], [("$[1]", "(absent)", "a list of 1")]),
        (
            {"a": [{"b c": "x"}]},
            {"a": [{"b c": "y"}]},
            [('$.a[0]["b c"]', '"x"', '"y"')],
        ),
        ({}, [], [("$", "an object of 0", "a list of 0")]),
        ("a\n", "a", [("$", '"a\ufffd"', '"a"')]),
    ],
    ids=stable,
)
def test_every_field_that_differs_is_listed(expected, got, wanted):
    assert diff(expected, got) == wanted


def test_at_most_eight_differences_are_kept():
    assert len(diff(list(range(20)), list(range(1, 21)))) == 8


def test_long_texts_are_cut():
    ((_, expected, got),) = diff("x" * 81, "x" * 80)
    assert expected == '"' + "x" * 80 + '"...'
    assert got == '"' + "x" * 80 + '"'


@given(left=JSON, right=JSON)
def test_there_is_a_difference_exactly_when_the_bytes_differ(left, right):
    assert bool(diff(left, right)) == (canonical(left) != canonical(right))


@given(value=JSON)
def test_a_value_does_not_differ_from_itself(value):
    assert diff(value, value) == []
