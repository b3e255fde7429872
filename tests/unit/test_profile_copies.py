"""Copies and identity: sections 5 and 6."""

import hashlib

import pytest

from tests.support.documents import describe
from tests.support.ids import stable
from tests.support.refusals import reason

BIG = 1 << 20


def containers(value):
    """The identity of every container in a tree."""
    found, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, (dict, list, tuple)):
            found.append(id(item))
            pending.extend(item.values() if isinstance(item, dict) else item)
    return found


SCALARS = [None, True, False, 0, -1, 2**64 - 1, -(2**63), 0.5, -0.0, 1e16, "", "é😀\n"]


@pytest.mark.parametrize("value", SCALARS, ids=stable)
def test_a_scalar_keeps_its_type_and_exact_value(profile, value):
    assert describe(profile.freeze(value, BIG)) == describe(value)
    assert describe(profile.freeze([value], BIG)) == describe([value])


def test_tuples_become_lists_and_members_come_sorted(profile):
    value = {"b": ((), (1, [2])), "a": {"z": 1, "y": {}}, "": None}
    copy = profile.freeze(value, BIG)
    assert describe(copy) == describe(
        {"": None, "a": {"y": {}, "z": 1}, "b": [[], [1, [2]]]}
    )


def test_a_copy_shares_no_container_with_its_input_or_itself(profile):
    part = {"a": [1, {"x": []}]}
    value = {"p": part, "q": [part, part["a"]], "r": ((), ())}
    copy = profile.freeze(value, BIG)
    found = containers(copy)
    assert len(found) == len(set(found))
    assert not set(found) & set(containers(value))
    copy["p"]["a"].append(2)
    assert part == {"a": [1, {"x": []}]}
    assert copy["q"][0] == part


def test_a_copy_is_what_thaw_makes_of_the_bytes(profile):
    value = {"b": [1.5, -0.0, "é"], "a": ({}, None)}
    data = profile.encode(value, BIG)
    assert describe(profile.thaw(data)) == describe(profile.freeze(value, BIG))
    assert profile.encode(profile.thaw(data), BIG) == data


def test_a_copy_of_a_copy_is_equal(profile):
    once = profile.freeze({"b": (1, {"d": 0, "c": 1}), "a": [True]}, BIG)
    assert describe(profile.freeze(once, BIG)) == describe(once)


@pytest.mark.parametrize("function", ["freeze", "check", "fingerprint"])
@pytest.mark.parametrize(
    ("value", "limit", "why"),
    [
        ([1, 2], 4, "bytes"),
        ([1, 2], 1, "bytes"),
        ([object()], 99, "type"),
        ({1: 1}, 99, "key_type"),
        ([2**64], 99, "int_range"),
        ([float("inf")], 99, "non_finite"),
        (["\ud800"], 99, "surrogate"),
    ],
)
def test_every_encoder_refuses_the_same(profile, function, value, limit, why):
    assert reason(getattr(profile, function), value, limit) == why


def test_the_deepest_values_are_copied(profile):
    value = 1
    for index in range(127):
        value = {"k": value} if index % 2 else [value]
    assert profile.freeze(value, BIG, max_depth=127) == value
    data = profile.encode(value, BIG, max_depth=127)
    assert profile.thaw(data) == value


def test_a_received_value_is_copied_with_its_allowance(profile):
    value = [1e-8, 1e-8]
    assert profile.freeze(value, 9, received=True) == value
    assert reason(profile.freeze, value, 8, received=True) == "bytes"
    assert profile.fingerprint(value, 9, received=True) == profile.fingerprint(
        value, 13
    )


FINGERPRINTS = {
    "c1f6f9fd5811ff503c037d2bcf83c4705ec26f738d1013f936750677f813fefb": {
        "key": "charge:1",
        "callable": "billing:charge",
        "input": {"currency": "EUR", "amount": 12.5},
    },
    "1a5b4ea2ccdf28c20f4e8167c7b7c6df1773109ccff75e246b8d6f5bd00e5e90": {
        "key": "turn:0:tool:0",
        "callable": "tool:billing:charge",
        "input": {
            "v": 1,
            "kind": "tool",
            "version": "1",
            "arguments": {"amount": 12.5, "currency": "EUR"},
        },
    },
}


@pytest.mark.parametrize(
    ("digest", "value"), FINGERPRINTS.items(), ids=["step", "tool"]
)
def test_the_fingerprints_of_the_contract(profile, digest, value):
    assert profile.fingerprint(value, 131072) == digest


def test_a_fingerprint_is_the_hash_of_the_bytes(profile):
    value = {"é": [1, 1.0, None]}
    want = hashlib.sha256(profile.encode(value, BIG)).hexdigest()
    assert profile.fingerprint(value, BIG) == want


DIFFERENT = [
    (1, 1.0),
    (1, True),
    (1, "1"),
    (0.0, -0.0),
    (10**16, 1e16),
    ("é", "e\u0301"),
]
DIFFERENT += [([1, 2], [2, 1]), (None, False), ({}, [])]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=stable)
def test_number_class_text_and_order_of_items_tell_values_apart(profile, one, other):
    assert profile.encode(one, BIG) != profile.encode(other, BIG)
    assert profile.fingerprint(one, BIG) != profile.fingerprint(other, BIG)


SAME = [({"a": 1, "b": 2}, {"b": 2, "a": 1}), ((1, 2), [1, 2]), (1e-7, 0.0000001)]


@pytest.mark.parametrize(("one", "other"), SAME, ids=stable)
def test_order_of_members_and_tuples_do_not(profile, one, other):
    assert profile.encode(one, BIG) == profile.encode(other, BIG)
    assert profile.fingerprint(one, BIG) == profile.fingerprint(other, BIG)
