"""Wire values and frames: section 7."""

import contextlib
import sys
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from types import MappingProxyType

import pytest

from ledgence.worker._exceptions import ProfileError
from tests.support.documents import (
    Bits,
    Count,
    Equal,
    Hook,
    Items,
    Mask,
    Members,
    Pair,
    Plain,
    Raising,
    RaisingLater,
    Real,
    Row,
    Text,
    Whole,
    Word,
)
from tests.support.refusals import nested, reason, refusal

BIG = 1 << 20
NAN = float("nan")
LONE = "\ud800"


def moved(pairs):
    members = OrderedDict(pairs)
    members.move_to_end(next(iter(members)))
    return members


# What an object of a frame is spelled as.
SPELLED = {
    "null": (None, "null"),
    "order-as-built": ({"b": 1, "a": (1, 2)}, '{"b":1,"a":[1,2]}'),
    "string-enum": (Word.EURO, '"€"'),
    "integer-enum": (Count.TWO, "2"),
    "integer-flag": (Bits.A | Bits.B, "3"),
    "lying-str": (Text('a"é'), '"a\\"é"'),
    "lying-int": (Whole(-5), "-5"),
    "lying-float": (Real(2.5), "2.5"),
    "lying-negative-zero": (Real(-0.0), "-0.0"),
    "named-tuple": (Pair(1, [2]), "[1,[2]]"),
    "ordered-dict": (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
    "moved-to-end": (moved([("b", 1), ("a", 2)]), '{"a":2,"b":1}'),
    "default-dict": (defaultdict(int, b=1), '{"b":1}'),
    "counter": (Counter("aab"), '{"a":2,"b":1}'),
    "list-by-its-iterator": (Items([1], [2, [3]]), "[2,[3]]"),
    "tuple-by-its-iterator": (Row((1,)), '["row",1]'),
    "dict-by-its-items": (Members({"x": 1}, [("a", 1), ("b", {})]), '{"a":1,"b":{}}'),
    "empty-by-its-items": (Members({"x": 1}, []), "{}"),
    "full-by-its-items": (Members({}, [("a", 1)]), '{"a":1}'),
    "repeated-by-its-items": (Members({}, [("a", 1), ("a", 2)]), '{"a":1,"a":2}'),
    "lying-names": ({Text("b"): 1, Word.ONE: 2}, '{"b":1,"one":2}'),
}


@pytest.mark.parametrize(("value", "text"), SPELLED.values(), ids=SPELLED)
def test_a_value_is_spelled_by_what_it_holds(profile, value, text):
    assert profile.check_wire(value) is None
    frame = profile.encode_frame({"v": 1, "output": value}, BIG)
    assert frame == f'{{"v":1,"output":{text}}}\n'.encode()
    assert type(frame) is bytes


@pytest.mark.parametrize(("value", "text"), SPELLED.values(), ids=SPELLED)
def test_the_newline_counts(profile, value, text):
    size = len(text.encode()) + len('{"v":1,"output":}\n')
    frame = {"v": 1, "output": value}
    assert len(profile.encode_frame(frame, size)) == size
    assert refusal(profile.encode_frame, frame, size - 1) == (
        *("bytes", "$", size - 1, size),
    )


def test_the_frame_of_the_contract(profile):
    frame = {"v": 3, "type": "result", "event_id": "evt-1", "attempt_id": "attempt-1"}
    frame |= {"status": "success", "output": {"b": 1, "a": (1, 2)}}
    assert profile.encode_frame(frame, 2097152) == (
        b'{"v":3,"type":"result","event_id":"evt-1","attempt_id":"attempt-1",'
        b'"status":"success","output":{"b":1,"a":[1,2]}}\n'
    )


REFUSED = {
    "plain-enum": (Plain.X, "type"),
    "bytes": (b"x", "type"),
    "set": ({1}, "type"),
    "mapping-proxy": (MappingProxyType({}), "type"),
    "user-dict": (UserDict(), "type"),
    "user-list": (UserList(), "type"),
    "deque": (deque(), "type"),
    "claims-to-be-str": (Mask(str), "type"),
    "claims-to-be-list": (Mask(list), "type"),
    "equal-to-all-types": (Equal(), "type"),
    "lying-int-out-of-range": (Whole(2**64), "int_range"),
    "enum-out-of-range": (Count.HUGE, "int_range"),
    "lying-int-below-range": (Whole(-(2**63) - 1), "int_range"),
    "huge-int": (10**5000, "int_range"),
    "nan": (NAN, "non_finite"),
    "lying-infinity": (Real("inf"), "non_finite"),
    "lying-nan": (Real("nan"), "non_finite"),
    "surrogate": ("a" + LONE, "surrogate"),
    "lying-surrogate": (Text(LONE), "surrogate"),
}


@pytest.mark.parametrize(("value", "why"), REFUSED.values(), ids=REFUSED)
def test_what_no_frame_can_carry_is_refused_at_its_place(profile, value, why):
    for outer, path in (
        ({"output": [value]}, "$.output[0]"),
        ({"output": Items([], [1, value])}, "$.output[1]"),
        ({"output": Members({}, [("é", value)])}, '$.output["\\u00e9"]'),
    ):
        assert refusal(profile.check_wire, outer) == (why, path, None, None)
        assert refusal(profile.encode_frame, outer, BIG) == (why, path, None, None)


NAMES = {
    "int": 1,
    "none": None,
    "bool": False,
    "float": 1.5,
    "tuple": ("a",),
    "bytes": b"a",
    "integer-enum": Count.TWO,
    "plain-enum": Plain.X,
    "class-equal-to-all": Equal,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_must_be_a_str(profile, name):
    for members in ({"a": 1, name: 2}, OrderedDict([("a", 1), (name, 2)])):
        value = {"output": members}
        want = ("key_type", "$.output", None, None)
        assert refusal(profile.check_wire, value) == want
        assert refusal(profile.encode_frame, value, BIG) == want


def test_a_name_with_a_surrogate_is_refused_at_its_object(profile):
    for name in (LONE, Text(LONE)):
        value = {"output": {name: 1}}
        assert refusal(profile.check_wire, value)[:2] == ("surrogate", "$.output")
        assert refusal(profile.encode_frame, value, BIG)[:2] == (
            "surrogate",
            "$.output",
        )


@pytest.mark.parametrize(
    "wrap",
    [
        lambda v: [v],
        lambda v: (v,),
        lambda v: {"k": v},
        lambda v: OrderedDict(k=v),
        lambda v: Items([], [v]),
        lambda v: Pair(v, 0),
    ],
    ids=["list", "tuple", "dict", "ordered-dict", "list-subclass", "named-tuple"],
)
@pytest.mark.parametrize("limit", [1, 2, 64, 65, 97, 126])
def test_depth_is_the_same_for_subclasses(profile, wrap, limit):
    value = {}
    for _ in range(limit - 1):
        value = wrap(value)
    profile.check_wire(value, max_depth=limit)
    why, _, got, _ = refusal(profile.check_wire, wrap(value), max_depth=limit)
    assert (why, got) == ("depth", limit)
    frame = {"k": value}
    profile.encode_frame(frame, BIG, max_depth=limit + 1)
    assert reason(profile.encode_frame, frame, BIG, max_depth=limit) == "depth"


def test_a_frame_counts_its_own_object(profile):
    profile.encode_frame({"output": nested("list", 64)}, BIG)
    assert reason(profile.encode_frame, {"output": nested("list", 65)}, BIG) == "depth"


@pytest.mark.parametrize(
    "make", [list, lambda v: Items([], v)], ids=["exact", "subclass"]
)
def test_a_cycle_through_any_container_is_refused(profile, make):
    items = []
    loop = make(items)
    items.append({"a": loop})
    if loop is not items and type(loop) is list:
        loop[:] = items
        items[0]["a"] = loop
    assert refusal(profile.check_wire, loop) == ("cycle", "$[0].a", None, None)
    assert refusal(profile.encode_frame, {"o": loop}, BIG)[:2] == ("cycle", "$.o[0].a")


BUDGETS = {
    "exact": (["ab", {"k": object()}], 10, "bytes", "$.o[1].k"),
    "exact-fits": (["ab", {"k": object()}], 11, "type", "$.o[1].k"),
    "subclass": ([Text("ab"), {"k": object()}], 10, "bytes", "$.o[1].k"),
    "subclass-fits": ([Text("ab"), {"k": object()}], 11, "type", "$.o[1].k"),
    "name": ({"abcd": 1}, 6, "bytes", "$.o"),
    "name-of-subclass": ({Text("abcd"): 1}, 6, "bytes", "$.o"),
    "items": (Members({}, [("abcd", 1)]), 6, "bytes", "$.o"),
    "iterator": (Items([], [1, 2, 3]), 6, "bytes", "$.o[2]"),
    "count-before-scan": ([Text("€" + LONE)], 6, "bytes", "$.o[0]"),
    "scan-before-charge": ([Text("€" + LONE)], 7, "surrogate", "$.o[0]"),
}


@pytest.mark.parametrize(
    ("value", "limit", "why", "path"), BUDGETS.values(), ids=BUDGETS
)
def test_a_frame_has_the_budget_of_the_walk(profile, value, limit, why, path):
    assert refusal(profile.encode_frame, {"o": value}, limit)[:2] == (why, path)


def test_check_wire_has_no_budget(profile):
    assert profile.check_wire(["x" * 100_000] * 100) is None
    assert profile.check_wire(Items([], ["é" * 100_000] * 10)) is None


@pytest.mark.parametrize(
    "value", [Raising(a=1), RaisingLater([])], ids=["items", "iter"]
)
def test_an_exception_of_user_code_passes_unchanged(profile, value):
    for outer in (value, [1, {"a": value}]):
        with pytest.raises(Hook):
            profile.check_wire(outer)
        with pytest.raises(Hook):
            profile.encode_frame({"o": outer}, BIG)


def test_items_and_iterators_are_asked_once_per_occurrence(profile):
    calls = []

    class Seen(dict):
        def items(self):
            calls.append("items")
            return super().items()

    class Walked(list):
        def __iter__(self):
            calls.append("iter")
            return super().__iter__()

    value = {"o": [Seen(a="x" * 50), Walked([1, "y" * 50])]}
    profile.encode_frame(value, BIG)
    assert calls == ["items", "iter"]
    calls.clear()
    shared = value["o"]
    profile.encode_frame({"o": [shared, shared]}, BIG)
    assert calls == ["items", "iter"] * 2


def test_shared_parts_are_written_at_each_place(profile):
    part = {"a": ["x" * 40, Word.ONE]}
    row = Items([], [part, part])
    text = '{"a":["' + "x" * 40 + '","one"]}'
    want = f'{{"o":[{text},{text},[{text},{text}]]}}\n'.encode()
    assert profile.encode_frame({"o": [part, part, row]}, len(want)) == want


def test_wire_values_and_their_reference_counts_stay_as_they_were(profile):
    value = {"o": [Word.ONE, Items([1], [2]), OrderedDict(a=[LONE])]}
    parts = [value, *value["o"]]
    before = repr(value), [sys.getrefcount(part) for part in parts]
    for _ in range(3):
        with contextlib.suppress(ProfileError):
            profile.encode_frame(value, BIG)
        with contextlib.suppress(ProfileError):
            profile.check_wire(value)
    assert (repr(value), [sys.getrefcount(part) for part in parts]) == before
