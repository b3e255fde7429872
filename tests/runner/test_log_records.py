"""From a log record to its frame: bounds, fitting, spelling."""

import contextvars
import datetime as dt
import enum
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.worker import _invocation, _log_records, _process
from ledgence.worker._log_records import (
    TRUNCATED,
    UNSUPPORTED,
    bounded,
    build,
    is_small,
    select_identities,
    severity,
    timestamp,
)
from ledgence.worker._profile import ProfileError
from tests.support.runner import TRACEPARENT, event


def record(message="text", *args, level=logging.INFO, name="billing", **attributes):
    made = logging.LogRecord(name, level, "/p.py", 1, message, args, None)
    made.created = 1_764_000_067.409544
    made.__dict__.update(attributes)
    return made


def frame_of(made, protocol=2, limit=16384):
    text = build(made, protocol, limit)
    assert text.endswith(b"\n")
    assert len(text) <= limit
    return json.loads(text)


def in_invocation(function, *args, carrier=None, **attributes):
    """Call a function in a context of its own, with an invocation."""

    def inside():
        _invocation.enter(
            _invocation.Invocation("evt-1", "attempt-1", event(**attributes), carrier)
        )
        return function(*args)

    return contextvars.Context().run(inside)


def test_a_frame_outside_an_invocation_has_its_members_in_order():
    made = record("paid %d", 7, attributes={"a": 1})
    assert build(made, 2, 16384) == (
        b'{"v":2,"type":"log","time":"2025-11-24T16:01:07.409544+00:00",'
        b'"severity":"INFO","logger":"billing","message":"paid 7",'
        b'"attributes":{"a":1}}\n'
    )


def test_a_frame_inside_an_invocation_carries_its_identities():
    carrier = {"traceparent": TRACEPARENT}
    frame = in_invocation(frame_of, record(), carrier=carrier)
    assert list(frame) == [
        "v",
        "type",
        "time",
        "severity",
        "logger",
        "message",
        "attributes",
        "invocation",
        "trace_id",
        "span_id",
    ]
    assert list(frame["invocation"].items()) == [
        ("event_id", "evt-1"),
        ("attempt_id", "attempt-1"),
        ("source", "urn:example:tests"),
        ("tenant_id", "tenant-a"),
        ("namespace", "default"),
        ("run_id", "run-a"),
        ("task_id", "task-1"),
        ("attempt_no", 1),
    ]
    assert frame["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert frame["span_id"] == "00f067aa0ba902b7"


def test_identities_are_encoded_once_per_invocation():
    def twice():
        first = frame_of(record("one"))["invocation"]
        invocation = _invocation.current()
        known = invocation.log_member
        assert frame_of(record("two"))["invocation"] == first
        assert invocation.log_member is known

    in_invocation(twice)


def test_a_bridge_that_comes_meanwhile_gives_the_ids_of_its_spans(monkeypatch):
    class Bridge:
        ids = iter([("t1", "s1"), None, ("t2", "s2")])

        def span_ids(self):
            return next(self.ids)

    def ids_of(number):
        frame = frame_of(record(f"number {number}"))
        assert frame["invocation"]["event_id"] == "evt-1"
        return frame.get("trace_id"), frame.get("span_id")

    def all_of_them():
        first = [ids_of(0), ids_of(1)]
        monkeypatch.setattr(_process, "bridge", Bridge())
        return first, [ids_of(2), ids_of(3), ids_of(4)]

    first, later = in_invocation(all_of_them, carrier={"traceparent": TRACEPARENT})
    assert first == [tuple(TRACEPARENT.split("-")[1:3])] * 2
    assert later == [("t1", "s1"), (None, None), ("t2", "s2")]


WORKFLOW = ("wf", "act", "parent", "root")


@pytest.mark.parametrize(
    ("protocol", "workflow", "names"),
    [
        (2, WORKFLOW, []),
        (3, (None, None, None, None), []),
        (3, ("wf", "act", None, "wf"), ["workflow_id", "activation_id"]),
        (3, ("wf", None, None, "wf"), ["workflow_id"]),
        (
            3,
            WORKFLOW,
            ["workflow_id", "activation_id", "parent_workflow_id", "root_workflow_id"],
        ),
        (
            3,
            ("wf", "act", "p", None),
            ["workflow_id", "activation_id", "parent_workflow_id"],
        ),
    ],
)
def test_workflow_identities_are_of_protocol_3_only(protocol, workflow, names):
    values = ("e", "a", None, None, None, None, None, 0, *workflow)
    chosen = select_identities(values, protocol)
    assert list(chosen) == ["event_id", "attempt_id", "attempt_no", *names]


@pytest.mark.parametrize(
    ("level", "name"),
    [
        ("INFO", "INFO"),
        ("", "NOTSET"),
        ("x" * 33, "x" * 32),
        ("é" * 20, "é" * 16),
        ("xé" + "😀" * 20, "xé" + "😀" * 7),
        ("a" * 31 + "é", "a" * 31),
    ],
)
def test_a_severity_has_32_characters_and_32_bytes(level, name):
    assert severity(level) == name
    made = record()
    made.levelname = level
    assert frame_of(made)["severity"] == name


def test_an_unnamed_level_has_its_number():
    assert frame_of(record(level=27))["severity"] == "Level 27"


def test_a_logger_name_is_cut_to_256_characters():
    assert frame_of(record(name="é" * 257))["logger"] == "é" * 256


def test_a_message_is_cut_to_4096_characters():
    assert frame_of(record("x" * 4097))["message"] == "x" * 4096


def test_exceptions_and_stacks_are_no_part_of_a_message():
    made = record("failed")
    made.exc_info = (ValueError, ValueError("secret"), None)
    made.stack_info = "secret"
    assert frame_of(made)["message"] == "failed"


class Word(str):
    __slots__ = ()

    def __getitem__(self, index):
        return "overridden"


def test_texts_of_subclasses_are_spelled_by_what_they_hold():
    made = record(Word("held"), attributes={Word("key"): Word("value")})
    made.name = Word("name")
    frame = frame_of(made)
    assert (frame["message"], frame["logger"]) == ("held", "name")
    assert frame["attributes"] == {"key": "value"}


@pytest.mark.parametrize("absent", [None, [("a", 1)], "text", 7, object()])
def test_attributes_that_are_no_dict_are_empty(absent):
    assert frame_of(record(attributes=absent))["attributes"] == {}
    assert frame_of(record())["attributes"] == {}


def nested(depth, leaf):
    for _ in range(depth):
        leaf = {"k": leaf}
    return leaf


class Number(enum.IntEnum):
    ONE = 1


BOUNDS = {
    "scalars": ({"a": None, "b": True, "c": 1.5, "d": -1, "e": "é"},) * 2,
    "smallest integer": ({"a": -(2**63)},) * 2,
    "largest integer": ({"a": 2**64 - 1},) * 2,
    "integers beyond": (
        {"a": -(2**63) - 1, "b": 2**64},
        {"a": UNSUPPORTED, "b": UNSUPPORTED},
    ),
    "an enum member": ({"a": Number.ONE}, {"a": 1}),
    "foreign objects": (
        {"a": b"x", "b": {1}, "c": object, "d": range(2)},
        {"a": UNSUPPORTED, "b": UNSUPPORTED, "c": UNSUPPORTED, "d": UNSUPPORTED},
    ),
    "four levels": (nested(4, 1),) * 2,
    "five levels": (nested(5, 1), nested(4, TRUNCATED)),
    "a list at the fifth level": (nested(4, [1]), nested(4, TRUNCATED)),
    "a tuple": ({"a": (1, (2,))}, {"a": [1, [2]]}),
    "keys that are no text": ({1: "a", None: "b", "c": 2}, {"c": 2}),
    "32 members": ({f"k{n}": n for n in range(32)},) * 2,
    "33 members": ({f"k{n}": n for n in range(33)}, {f"k{n}": n for n in range(32)}),
    "skipped members count": (
        {**dict.fromkeys(range(32)), "late": 1},
        {},
    ),
    "33 items": ({"a": list(range(33))}, {"a": list(range(32))}),
    "a long key": ({"k" * 257: 1}, {"k" * 256: 1}),
    "equal cut keys": ({"k" * 256 + "a": 1, "k" * 256 + "b": 2}, {"k" * 256: 2}),
    "4096 characters": ({"a": "x" * 4095},) * 2,
    "4097 characters": ({"a": "x" * 4096}, {"a": "x" * 4095}),
    "a text without room": ({"a": "x" * 4095, "b": "y"}, {"a": "x" * 4095, "": ""}),
    "a key takes room first": ({"ab": "x" * 4094, "cd": 1}, {"ab": "x" * 4094, "": 1}),
    "a second text": (
        {"a": "x" * 4000, "b": "y" * 200},
        {"a": "x" * 4000, "b": "y" * 94},
    ),
    "forty pairs": (
        {"a": [[n, n] for n in range(40)]},
        {"a": [[n, n] for n in range(20)] + [[20]]},
    ),
}


@pytest.mark.parametrize(("given_", "kept"), BOUNDS.values(), ids=BOUNDS)
def test_an_attribute_tree_is_bounded(given_, kept):
    assert bounded(given_) == kept
    assert frame_of(record(attributes=given_), limit=65536)["attributes"] == kept


def test_a_tree_has_64_nodes_its_root_included():
    assert bounded({"a": [0] * 31, "b": [0] * 31}) == {"a": [0] * 31, "b": [0] * 30}
    assert bounded({"a": [0] * 31, "b": [0] * 30, "c": 1}) == {
        "a": [0] * 31,
        "b": [0] * 30,
    }


def test_a_container_may_be_the_last_node_and_is_then_empty():
    tree = {"a": [0] * 31, "b": [0] * 29, "c": {"d": 1}}
    assert bounded(tree) == {"a": [0] * 31, "b": [0] * 29, "c": {}}


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.text(max_size=4)
    | st.binary(max_size=2),
    lambda children: (
        st.lists(children, max_size=5)
        | st.dictionaries(st.text(max_size=3) | st.integers(), children, max_size=5)
    ),
    max_leaves=60,
)


@given(st.dictionaries(st.text(max_size=3) | st.integers(), json_like, max_size=40))
def test_what_passes_for_small_is_its_own_bounded_copy(tree):
    copy = bounded(tree)
    if is_small(tree):
        assert copy == tree
    nodes, text, depth = measure(copy)
    assert nodes <= 64
    assert text <= 4096 + nodes * len(UNSUPPORTED)
    assert depth <= 4


def measure(value):
    if isinstance(value, dict):
        parts = [measure(v) for v in value.values()]
        own = sum(map(len, value))
    elif isinstance(value, list):
        parts, own = [measure(v) for v in value], 0
    else:
        return 1, len(value) if isinstance(value, str) else 0, 0
    nodes, texts, depths = zip(*parts, strict=True) if parts else ((), (), ())
    return 1 + sum(nodes), own + sum(texts), 1 + max(depths, default=0)


def test_a_copy_shares_nothing_with_the_attributes():
    inner = [1]
    copy = bounded({"a": inner})
    inner.append(2)
    assert copy == {"a": [1]}


def test_a_frame_that_is_too_long_loses_its_attributes_and_half_its_message():
    made = record("m" * 100, attributes={"a": "x" * 100})
    size = len(build(made, 2, 16384))
    assert frame_of(made, limit=size)["attributes"] == {"a": "x" * 100}
    shorter = frame_of(made, limit=size - 1)
    assert (shorter["attributes"], shorter["message"]) == ({}, "m" * 50)


def test_a_message_is_halved_until_it_fits():
    bare = len(build(record(""), 2, 16384))
    assert frame_of(record("m" * 9), limit=bare + 9)["message"] == "m" * 9
    assert frame_of(record("m" * 9), limit=bare + 8)["message"] == "m" * 4
    assert frame_of(record("m" * 9), limit=bare + 1)["message"] == "m"
    assert frame_of(record("m" * 9), limit=bare)["message"] == ""
    assert build(record("m" * 9), 2, bare - 1) is None
    assert build(record(""), 2, bare - 1) is None


def test_attributes_alone_make_an_empty_message_too_long():
    bare = len(build(record(""), 2, 16384))
    made = record("", attributes={"a": 1})
    assert frame_of(made, limit=bare)["attributes"] == {}
    assert build(made, 2, bare - 1) is None


@pytest.mark.parametrize(
    "made",
    [
        record("%d", "no number"),
        record("%s %s", 1),
        record("\ud800"),
        record("x" * 4000 + "\ud800", attributes={"a": "y" * 4000}),
        record(name="\ud800"),
        record(attributes={"a": float("nan")}),
        record(attributes={"a": [float("inf")]}),
        record(attributes={"\udfff": 1}),
        record(created=float("nan")),
        record(created="yesterday"),
        record(created=1e18),
        record(levelname=None),
        record(levelname="\ud800"),
    ],
    ids=lambda made: repr(made.msg)[:20] + repr(made.__dict__.get("attributes"))[:20],
)
def test_a_record_that_cannot_be_written_raises(made):
    with pytest.raises((TypeError, ValueError, OSError, OverflowError)):
        build(made, 2, 16384)


def test_a_surrogate_drops_the_record_even_where_it_would_be_cut_off():
    with pytest.raises(ProfileError) as caught:
        build(record("m" * 4095 + "\ud800"), 2, 300)
    assert caught.value.reason == "surrogate"


@pytest.mark.parametrize(
    "value", [2**64, float("inf"), "\ud800"], ids=["integer", "infinity", "surrogate"]
)
def test_identities_that_cannot_be_written_drop_the_record(value):
    with pytest.raises(ProfileError):
        in_invocation(frame_of, record(), ldgattemptno=value)


@given(st.floats(0, 253_402_300_799, allow_nan=False) | st.integers(0, 2**31))
def test_the_time_is_that_of_isoformat(moment):
    wanted = dt.datetime.fromtimestamp(moment, dt.UTC).isoformat()
    assert timestamp(moment).decode() == wanted


@pytest.mark.parametrize(
    "moment", [0, 1.0, 1.0000004, 1.0000006, 1.9999996, 1.9999994, -1.5, 1764000067.25]
)
def test_the_time_is_rounded_as_isoformat_rounds_it(moment):
    wanted = dt.datetime.fromtimestamp(moment, dt.UTC).isoformat()
    assert timestamp(moment).decode() == wanted
    assert timestamp(moment).decode() == wanted  # once more, from the cache


def test_names_of_many_loggers_do_not_pile_up():
    for number in range(600):
        build(record(name=f"logger-{number}"), 2, 16384)
    assert len(_log_records._sources) <= 256


class Bridge:
    ids = ("0" * 31 + "a", "0" * 15 + "b")

    def span_ids(self):
        return self.ids


def test_with_the_bridge_the_current_span_counts_and_not_the_carrier(monkeypatch):
    monkeypatch.setattr(_process, "bridge", Bridge())
    carrier = {"traceparent": TRACEPARENT}
    frame = in_invocation(frame_of, record(), carrier=carrier)
    assert (frame["trace_id"], frame["span_id"]) == Bridge.ids
    assert frame_of(record())["trace_id"] == Bridge.ids[0]
    monkeypatch.setattr(Bridge, "ids", None)
    assert "trace_id" not in in_invocation(frame_of, record(), carrier=carrier)
