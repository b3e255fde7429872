"""The payload of an activation: every member, every limit, and what is kept."""

import pytest

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow import SCHEMA
from ledgence.worker.workflow._activation import (
    Activation,
    check_identity,
    open_extension,
)
from tests.support.ids import stable
from tests.support.workflow import (
    approval_payload,
    canonical,
    event_payload,
    failed_child,
    nest,
    payload,
    record,
    snapshot,
    task_child,
    workflow_child,
)

REQUIRED = sorted(payload())
MAX_TIME = 253_402_300_799_999


def fault(value):
    with pytest.raises(ActivationError) as caught:
        Activation(value)
    assert caught.value.code == "invalid_activation"
    return caught.value.path


def test_the_smallest_payload_is_read():
    found = Activation(payload())
    assert (found.workflow_id, found.activation_id) == ("wf-1", "act-1")
    assert (found.revision, found.continuation, found.state) == (0, "start", b"null")
    assert (found.inputs, found.records, found.wake) == ({}, {}, None)
    assert (found.parent_workflow_id, found.root_workflow_id) == (None, "wf-1")


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_a_payload_is_an_object(value):
    assert fault(value) == "$"


@pytest.mark.parametrize("name", REQUIRED)
def test_every_member_is_required(name):
    assert fault(payload(**{name: ...})) == "$"


def test_no_other_member_is_allowed():
    assert fault(payload(more=1)) == "$"


@pytest.mark.parametrize("value", [True, 1.0, 2, 0, "1", None])
def test_the_version_is_the_integer_1(value):
    assert fault(payload(v=value)) == "$.v"


@pytest.mark.parametrize("name", ["workflow_id", "activation_id", "continuation"])
@pytest.mark.parametrize("value", ["", "x" * 129, "a\n", "\ufdd0", 1, None, ["x"]])
def test_ids_and_continuation_are_texts(name, value):
    assert fault(payload(**{name: value})) == f"$.{name}"


@pytest.mark.parametrize("value", [0, 1, 2**64 - 1])
def test_a_revision_is_of_64_bits(value):
    assert Activation(payload(revision=value)).revision == value


@pytest.mark.parametrize("value", [-1, 2**64, 1.0, True, None, "1"])
def test_no_other_revision_is_taken(value):
    assert fault(payload(revision=value)) == "$.revision"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, (None, "wf-1")),
        ({"parent_workflow_id": None, "root_workflow_id": None}, (None, "wf-1")),
        ({"parent_workflow_id": "p", "root_workflow_id": "r"}, ("p", "r")),
        ({"parent_workflow_id": "p", "root_workflow_id": "p"}, ("p", "p")),
    ],
    ids=str,
)
def test_a_lineage_is_whole_or_absent(changes, wanted):
    found = Activation(payload(**changes))
    assert (found.parent_workflow_id, found.root_workflow_id) == wanted


@pytest.mark.parametrize(
    ("parent", "root", "path"),
    [
        ("p", ..., "$.root_workflow_id"),
        (..., "r", "$.parent_workflow_id"),
        (None, "r", "$.parent_workflow_id"),
        ("wf-1", "r", "$.parent_workflow_id"),
        ("p", "wf-1", "$.root_workflow_id"),
        ("", "r", "$.parent_workflow_id"),
        ("p", 1, "$.root_workflow_id"),
    ],
)
def test_other_lineages_are_refused(parent, root, path):
    value = payload(parent_workflow_id=parent, root_workflow_id=root)
    assert fault(value) == path


# State.


def test_a_state_has_65536_bytes_and_64_levels():
    assert Activation(payload(state="x" * 65_534)).state == canonical("x" * 65_534)
    assert fault(payload(state="x" * 65_535)) == "$.state"
    assert Activation(payload(state=nest(64)))
    assert fault(payload(state=nest(65))) == "$.state" + "[0]" * 64


def test_a_state_may_be_longer_here_than_the_host_counts():
    assert Activation(payload(state=[1e-08] * 14_000))
    assert fault(payload(state=[1e-08] * 17_000)) == "$.state"


@pytest.mark.parametrize("value", [2**64, float("inf"), "\ud800"], ids=ascii)
def test_a_state_is_a_json_value(value):
    assert fault(payload(state={"a": [value]})) == "$.state.a[0]"


# Inputs.


def test_inputs_are_kept_sorted_by_key():
    inputs = {"b": task_child(1), "a": workflow_child(2), "é": failed_child(lost())}
    inputs["é"]["outcome"]["quiescence"] = "unconfirmed"
    found = Activation(payload(inputs=inputs))
    assert list(found.inputs) == ["a", "b", "é"]
    assert [child.is_workflow for child in found.inputs.values()] == [
        True,
        False,
        False,
    ]
    assert found.inputs_size == len(canonical(inputs))


def lost():
    return {"kind": "attempt_lost"}


@pytest.mark.parametrize("value", [None, [], "x"])
def test_inputs_are_an_object(value):
    assert fault(payload(inputs=value)) == "$.inputs"


def test_inputs_have_at_most_64_entries():
    inputs = {str(i): task_child() for i in range(64)}
    assert len(Activation(payload(inputs=inputs)).inputs) == 64
    inputs["more"] = task_child()
    assert fault(payload(inputs=inputs)) == "$.inputs"


@pytest.mark.parametrize("key", ["", "x" * 129, "a\n", 5])
def test_keys_of_inputs_are_texts(key):
    assert fault(payload(inputs={key: task_child()})) == "$.inputs"


def test_a_fault_of_a_child_is_named_with_its_key():
    inputs = {"a b": task_child(state="other")}
    assert fault(payload(inputs=inputs)) == '$.inputs["a b"].state'


def room_for(value):
    """How many bytes are left for a text that is empty in the inputs."""
    return 262_144 - len(canonical(value))


def test_inputs_have_at_most_262144_bytes_together():
    inputs = {"a": task_child("x" * 100_000), "b": task_child("")}
    room = room_for(inputs)
    inputs["b"] = task_child("x" * room)
    assert Activation(payload(inputs=inputs)).inputs_size == 262_144
    inputs["b"] = task_child("x" * (room + 1))
    assert fault(payload(inputs=inputs)).startswith("$.inputs")


def test_inputs_and_wake_have_at_most_262144_bytes_together():
    wake = {"kind": "timer", "key": "k", "deadline": 1}
    inputs = {"a": task_child("")}
    room = room_for({"inputs": inputs, "wake": wake})
    inputs = {"a": task_child("x" * room)}
    assert Activation(payload(inputs=inputs, wake=wake)).inputs_size == 262_144
    inputs = {"a": task_child("x" * (room + 1))}
    assert fault(payload(inputs=inputs, wake=wake)).startswith("$.inputs")
    assert Activation(payload(inputs=inputs))


def test_inputs_of_floats_may_be_longer_here():
    inputs = {str(i): task_child([1e-08] * 20_000) for i in range(3)}
    assert len(canonical(inputs)) > 262_144
    assert Activation(payload(inputs=inputs))
    inputs["3"] = task_child([1e-08] * 20_000)
    assert fault(payload(inputs=inputs)).startswith("$.inputs")


# Journal.


def test_records_are_kept_by_key_in_their_order():
    records = [record("b", input_={"z": 1, "a": 2}, output=[1]), record("a")]
    found = Activation(payload(local_steps=records))
    assert list(found.records) == ["b", "a"]
    kept = found.records["b"]
    assert (kept.callable, kept.input, kept.output) == (
        "tests:f",
        b'{"a":2,"z":1}',
        b"[1]",
    )
    assert kept.size == len(canonical(records[0]))
    assert found.records_size == sum(len(canonical(entry)) for entry in records)


@pytest.mark.parametrize("value", [None, {}, (), "x"], ids=stable)
def test_the_journal_is_a_list(value):
    assert fault(payload(local_steps=value)) == "$.local_steps"


def test_the_journal_has_at_most_128_records():
    records = [record(str(i)) for i in range(128)]
    assert len(Activation(payload(local_steps=records)).records) == 128
    records.append(record("more"))
    assert fault(payload(local_steps=records)) == "$.local_steps"


def test_records_have_distinct_keys():
    value = payload(local_steps=[record("a"), record("b"), record("a")])
    assert fault(value) == "$.local_steps[2].key"


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        (None, "$.local_steps[0]"),
        ({**record(), "more": 1}, "$.local_steps[0]"),
        ({"key": "k"}, "$.local_steps[0]"),
        (record(key=""), "$.local_steps[0].key"),
        (record(key="x" * 129), "$.local_steps[0].key"),
        (record(callable_=""), "$.local_steps[0].callable"),
        (record(callable_="x" * 513), "$.local_steps[0].callable"),
        (record(input_=nest(65)), "$.local_steps[0].input" + "[0]" * 64),
        (record(output=nest(65)), "$.local_steps[0].output" + "[0]" * 64),
        (record(output="x" * 131_071), "$.local_steps[0].output"),
        (record(output={"a": 2**64}), "$.local_steps[0].output.a"),
    ],
    ids=lambda value: str(value)[:48],
)
def test_a_record_has_its_members(entry, path):
    assert fault(payload(local_steps=[entry])) == path


@pytest.mark.parametrize(
    "entry",
    [
        record(key="_approval:" + "0" * 64),
        record(callable_="x" * 512),
        record(input_=[1, "any"]),
        record(input_=nest(64), output=nest(64)),
        record(key='é"\\', callable_='m:f"\\'),
    ],
    ids=["reserved", "longest name", "any input", "deepest", "quotes"],
)
def test_any_text_and_json_is_taken_in_a_record(entry):
    found = Activation(payload(local_steps=[entry]))
    assert found.records[entry["key"]].size == len(canonical(entry))


def test_a_record_has_at_most_131072_bytes():
    room = 131_072 - len(canonical(record(output="")))
    assert Activation(payload(local_steps=[record(output="x" * room)]))
    value = payload(local_steps=[record(output="x" * (room + 1))])
    assert fault(value).startswith("$.local_steps[0]")


def test_the_journal_has_at_most_262144_bytes():
    records = [record("a", output="x" * 100_000), record("b", output="x" * 100_000)]
    records.append(record("c", output=""))
    room = room_for(records)
    records[2] = record("c", output="x" * room)
    assert Activation(payload(local_steps=records))
    records[2] = record("c", output="x" * (room + 1))
    assert fault(payload(local_steps=records)).startswith("$.local_steps")


def test_records_of_floats_may_be_longer_here():
    records = [record(str(i), output=[1e-08] * 30_000) for i in range(2)]
    assert len(canonical(records)) > 262_144
    assert Activation(payload(local_steps=records))


# Wakes.


@pytest.mark.parametrize(
    "wake",
    [
        {"kind": "timer", "key": "k", "deadline": 0},
        {"kind": "timeout", "key": 'k"é', "deadline": MAX_TIME},
        event_payload()["wake"],
        {**event_payload()["wake"], "accepted_at": MAX_TIME},
        approval_payload()["wake"],
    ],
    ids=lambda wake: wake["kind"],
)
def test_a_wake_is_kept_as_it_was_received(wake):
    found = Activation(payload(wake=wake, revision=1))
    assert found.wake.data == canonical(wake)
    assert (found.wake.approval is not None) == (wake["kind"] == "approval")


def test_no_wake_is_null_or_absent():
    assert Activation(payload(wake=None)).wake is None


@pytest.mark.parametrize(
    ("wake", "path"),
    [
        ({}, "$.wake"),
        ([], "$.wake"),
        ("timer", "$.wake"),
        ({"kind": "other", "key": "k", "deadline": 1}, "$.wake"),
        ({"kind": ["timer"], "key": "k", "deadline": 1}, "$.wake"),
        ({"kind": "timer", "key": "k"}, "$.wake"),
        ({"kind": "timer", "key": "k", "deadline": 1, "more": 1}, "$.wake"),
        ({"kind": "timer", "key": "", "deadline": 1}, "$.wake.key"),
        ({"kind": "timeout", "key": "k", "deadline": -1}, "$.wake.deadline"),
        ({"kind": "timer", "key": "k", "deadline": MAX_TIME + 1}, "$.wake.deadline"),
        ({"kind": "timer", "key": "k", "deadline": True}, "$.wake.deadline"),
        ({"kind": "event", "key": "k", "event": {}}, "$.wake"),
        ({"kind": "event", "key": "k", "event": {}, "accepted_at": 1.0}, None),
        (
            {"kind": "event", "key": "k", "event": {}, "accepted_at": 1},
            "$.wake.event.data",
        ),
        ({"kind": "approval"}, "$.wake"),
        ({"kind": "approval", "key": "k", "approval": snapshot()}, "$.wake"),
        ({"kind": "approval", "approval": snapshot(more=1)}, "$.wake.approval"),
    ],
    ids=lambda value: str(value)[:56],
)
def test_other_wakes_are_refused(wake, path):
    assert fault(payload(wake=wake, revision=1)) == (path or "$.wake.accepted_at")


# Extension and identity.


def test_an_extension_names_its_schema():
    value = {"schema": SCHEMA, "payload": payload()}
    assert open_extension(value).activation_id == "act-1"


@pytest.mark.parametrize(
    "value",
    [
        None,
        False,
        0,
        [],
        {},
        {"schema": SCHEMA},
        {"payload": payload()},
        {"schema": SCHEMA, "payload": payload(), "more": 1},
        {"schema": "other", "payload": payload()},
        {"schema": None, "payload": payload()},
        {"schema": SCHEMA, "payload": None},
    ],
    ids=lambda value: str(value)[:40],
)
def test_other_extensions_are_refused(value):
    with pytest.raises(ActivationError):
        open_extension(value)


IDENTITY = {
    "ldgtaskid": "act-1",
    "ldgactivationid": "act-1",
    "ldgworkflowid": "wf-1",
}
OWNED = {**IDENTITY, "ldgparentworkflowid": "p", "ldgrootworkflowid": "r"}


@pytest.mark.parametrize(
    "event",
    [
        IDENTITY,
        {**IDENTITY, "ldgrootworkflowid": "wf-1"},
        {**IDENTITY, "ldgparentworkflowid": None},
    ],
    ids=["plain", "own root", "null parent"],
)
def test_the_identity_of_a_root_matches_its_event(event):
    check_identity(Activation(payload()), event)


def test_the_identity_of_an_owned_workflow_matches_its_event():
    owned = Activation(payload(parent_workflow_id="p", root_workflow_id="r"))
    check_identity(owned, OWNED)
    for name in OWNED:
        for value in ("other", None, 1):
            with pytest.raises(ActivationError):
                check_identity(owned, {**OWNED, name: value})


@pytest.mark.parametrize("name", sorted(IDENTITY))
def test_a_missing_or_other_attribute_does_not_match(name):
    found = Activation(payload())
    for event in (
        {key: value for key, value in IDENTITY.items() if key != name},
        {**IDENTITY, name: "other"},
    ):
        with pytest.raises(ActivationError) as caught:
            check_identity(found, event)
        assert caught.value.code == "identity_mismatch"
        assert "does not match" in str(caught.value)
        assert name in str(caught.value)


@pytest.mark.parametrize("value", [None, "other", 5])
def test_a_root_attribute_that_is_there_counts_even_when_null(value):
    with pytest.raises(ActivationError):
        check_identity(Activation(payload()), {**IDENTITY, "ldgrootworkflowid": value})


def test_a_parent_attribute_without_a_parent_does_not_match():
    with pytest.raises(ActivationError):
        check_identity(Activation(payload()), {**IDENTITY, "ldgparentworkflowid": "p"})
