"""The approval snapshot of a wake."""

import pytest

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow._snapshot import read_snapshot
from tests.support.ids import stable
from tests.support.workflow import ACTION, canonical, decided, nest, snapshot

MAX_TIME = 253_402_300_799_999
MAX_WAIT = 31_536_000_000


def read(value):
    return read_snapshot(value, "wf-1", "act-1", 1)


def fault(value):
    with pytest.raises(ActivationError) as caught:
        read(value)
    assert caught.value.code == "invalid_activation"
    return caught.value.path


def action(**changes):
    return {**ACTION, **changes}


def rejected(**changes):
    return snapshot(status="rejected", decision=decided(decision="reject"), **changes)


def expired(**changes):
    return snapshot(status="expired", decision=None, **changes)


@pytest.mark.parametrize(
    "value",
    [
        snapshot(),
        rejected(),
        expired(),
        snapshot(proposed_arguments={"amount": 100.5}),
        snapshot(key='r"\u00e9', decision=decided(reason='no\n"\\')),
        snapshot(scope={"tenant_id": "x" * 128, "namespace": "é"}),
    ],
    ids=["approved", "rejected", "expired", "proposal", "texts", "scope"],
)
def test_a_snapshot_is_kept_as_it_was_received(value):
    assert read(value).data == canonical(value)


def test_the_parts_can_be_read_without_decoding():
    found = read(snapshot(proposed_arguments={"b": 1, "a": 2}))
    assert found.action == canonical(ACTION)
    assert found.arguments == canonical(ACTION["arguments"])
    assert found.proposed == b'{"a":2,"b":1}'
    assert (found.name, found.version) == ("program:refund", "1")
    assert found.scope == ("tenant", "tests")
    assert found.decision == ("d-1", "approve", "alice", None, 11)


@pytest.mark.parametrize("name", sorted(snapshot()))
def test_every_member_is_required(name):
    assert fault(snapshot(**{name: ...})) == "$"


@pytest.mark.parametrize("value", [None, [], "x", snapshot(more=1)], ids=stable)
def test_nothing_but_its_members_is_allowed(value):
    assert fault(value) == "$"


@pytest.mark.parametrize(
    "name", ["workflow_id", "key", "activation_id", "resumed_activation_id"]
)
@pytest.mark.parametrize("value", ["", "x" * 129, "a\n", 1, True])
def test_ids_are_texts(name, value):
    assert fault(snapshot(**{name: value})) == f"$.{name}"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, "$.scope"),
        ({"tenant_id": "t"}, "$.scope"),
        ({"tenant_id": "t", "namespace": "n", "more": 1}, "$.scope"),
        ({"tenant_id": "", "namespace": "n"}, "$.scope.tenant_id"),
        ({"tenant_id": "t", "namespace": "x" * 129}, "$.scope.namespace"),
    ],
)
def test_the_scope_is_a_tenant_and_a_namespace(value, path):
    assert fault(snapshot(scope=value)) == path


@pytest.mark.parametrize("value", [-1, 2**64, 0.0, True, None, "0"])
def test_the_revision_is_of_64_bits(value):
    assert fault(snapshot(revision=value)) == "$.revision"


def test_the_revision_is_one_less_than_the_payloads():
    value = snapshot(revision=2**64 - 2)
    assert read_snapshot(value, "wf-1", "act-1", 2**64 - 1).revision == 2**64 - 2
    for revision in (1, 5):
        assert fault(snapshot(revision=revision)) == "$.revision"


def test_the_snapshot_belongs_to_the_activation():
    assert fault(snapshot(workflow_id="other")) == "$.workflow_id"
    assert fault(snapshot(resumed_activation_id="other")) == "$.resumed_activation_id"
    assert fault(snapshot(resumed_activation_id=None)) == "$.resumed_activation_id"


def test_an_activation_cannot_have_asked_itself():
    value = snapshot(activation_id="act-1")
    assert fault(value) == "$.resumed_activation_id"


@pytest.mark.parametrize("status", ["pending", "cancelled", "other", None, 1, []])
def test_other_statuses_wake_nobody(status):
    assert fault(snapshot(status=status)) == "$.status"


@pytest.mark.parametrize("name", ["created_at", "deadline"])
@pytest.mark.parametrize("value", [-1, MAX_TIME + 1, 1.0, True, None, "1"])
def test_times_are_milliseconds(name, value):
    assert fault(expired(**{name: value})) == f"$.{name}"


@pytest.mark.parametrize(
    ("created", "deadline", "valid"),
    [
        (10, 10, True),
        (10, 9, False),
        (0, MAX_WAIT, True),
        (0, MAX_WAIT + 1, False),
        (MAX_TIME, MAX_TIME, True),
    ],
)
def test_the_deadline_lies_within_a_year_of_the_creation(created, deadline, valid):
    value = expired(created_at=created, deadline=deadline)
    if valid:
        assert read(value).deadline == deadline
    else:
        assert fault(value) == "$.deadline"


@pytest.mark.parametrize(
    ("decided_at", "valid"), [(9, False), (10, True), (19, True), (20, False)]
)
def test_a_decision_is_made_before_the_deadline(decided_at, valid):
    value = snapshot(decision=decided(decided_at=decided_at))
    if valid:
        assert read(value).decision[4] == decided_at
    else:
        assert fault(value) == "$.decision.decided_at"


def test_the_decision_follows_the_status():
    assert fault(snapshot(decision=None)) == "$.decision"
    assert fault(snapshot(status="expired")) == "$.decision"
    assert fault(snapshot(status="rejected")) == "$.decision.decision"
    other = decided(decision="reject")
    assert fault(snapshot(decision=other)) == "$.decision.decision"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"more": 1}, "$.decision"),
        ({"reviewer": ...}, "$.decision"),
        ({"decision_id": ""}, "$.decision.decision_id"),
        ({"decision": "maybe"}, "$.decision.decision"),
        ({"decision": None}, "$.decision.decision"),
        ({"reviewer": "x" * 129}, "$.decision.reviewer"),
        ({"reason": "x" * 4097}, "$.decision.reason"),
        ({"reason": "é" * 2049}, "$.decision.reason"),
        ({"reason": 1}, "$.decision.reason"),
        ({"reason": "\ud800"}, "$.decision.reason"),
        ({"decided_at": True}, "$.decision.decided_at"),
        ({"decided_at": None}, "$.decision.decided_at"),
    ],
    ids=str,
)
def test_a_decision_has_its_members(changes, path):
    assert fault(snapshot(decision=decided(**changes))) == path


@pytest.mark.parametrize("reason", [None, "", "\n\x00", "x" * 4096, "é" * 2048])
def test_a_reason_is_any_text_of_4096_bytes(reason):
    assert read(snapshot(decision=decided(reason=reason))).decision[3] == reason


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, "$.action"),
        (action(more=1), "$.action"),
        ({"name": "a", "version": "1"}, "$.action"),
        (action(name=""), "$.action.name"),
        (action(name="x" * 513), "$.action.name"),
        (action(version="x" * 129), "$.action.version"),
        (action(arguments=[]), "$.action.arguments"),
        (action(arguments={"x": nest(64)}), "$.action.arguments.x" + "[0]" * 63),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_action_has_its_members(value, path):
    assert fault(snapshot(action=value)) == path


def test_an_action_has_at_most_32768_bytes():
    room = 32_768 - len(canonical(action(arguments={"x": ""})))
    assert read(snapshot(action=action(arguments={"x": "x" * room})))
    value = action(arguments={"x": "x" * (room + 1)})
    assert fault(snapshot(action=value)) == "$.action"
    value = action(arguments={"x": "x" * 32_768})
    assert fault(snapshot(action=value)).startswith("$.action.arguments")


def test_what_floats_are_longer_here_is_not_counted():
    floats = [1e-08] * 6_000
    assert len(canonical(floats)) > 32_768
    value = snapshot(action=action(arguments={"x": floats}))
    assert read(value).data == canonical(value)
    room = 32_768 - len(canonical(action(arguments={"x": [1e-08], "y": ""}))) + 2
    full = action(arguments={"x": [1e-08], "y": "x" * room})
    assert len(canonical(full)) > 32_768
    assert read(snapshot(action=full))


@pytest.mark.parametrize("value", [[], "x", 1, {"x": nest(64)}, {"x": "x" * 32_768}])
def test_a_proposal_is_an_object_within_its_limits(value):
    assert fault(snapshot(proposed_arguments=value)).startswith("$.proposed_arguments")


def test_a_proposal_may_be_as_large_as_its_limits():
    room = 32_768 - len(canonical({"x": ""}))
    for value in ({}, {"x": nest(63)}, {"x": "x" * room}):
        assert read(snapshot(proposed_arguments=value)).proposed == canonical(value)


def test_the_whole_is_within_its_limit_even_where_floats_are_long():
    # Three bytes a float are what is counted at least; the walk allows the rest.
    floats = [-2.2250738585072014e-308] * 8_000
    value = snapshot(
        action=action(arguments={"x": floats}), proposed_arguments={"x": floats}
    )
    assert len(canonical(value)) > 262_144
    assert read(value).data == canonical(value)
