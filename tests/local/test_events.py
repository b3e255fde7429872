import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.local._activation import first_extension
from ledgence.local._events import Attempt, build_event, format_time, new_attempt

ATTEMPT = Attempt(
    event_id="evt_1",
    attempt_id="att_1",
    task_id="task_1",
    run_id="run_1",
    claimed_at_ms=1_789_221_600_250,
)


def test_a_plain_task_has_exactly_these_members():
    assert build_event(ATTEMPT, {"invoice_id": "INV-1"}) == {
        "specversion": "1.0",
        "id": "evt_1",
        "source": "urn:ledgence:orchestrator",
        "type": "com.ledgence.task.invocation.requested.v1",
        "subject": "tasks/task_1",
        "time": "2026-09-12T14:00:00.25Z",
        "datacontenttype": "application/json",
        "ldgtenantid": "local",
        "ldgnamespace": "default",
        "ldgrunid": "run_1",
        "ldgtaskid": "task_1",
        "ldgattemptid": "att_1",
        "ldgattemptno": 1,
        "data": {"invoice_id": "INV-1"},
    }


def test_a_root_activation_adds_its_workflow_and_nothing_of_a_parent():
    attempt = new_attempt(workflow=True)
    event = build_event(attempt, None)
    assert event["ldgworkflowid"] == attempt.workflow_id
    assert event["ldgactivationid"] == event["ldgtaskid"]
    assert "ldgparentworkflowid" not in event
    assert "ldgrootworkflowid" not in event


def test_an_owned_workflow_names_its_parent_and_root():
    attempt = Attempt(
        event_id="e",
        attempt_id="a",
        task_id="t",
        run_id="r",
        claimed_at_ms=0,
        workflow_id="wf",
        lineage=("parent", "root"),
    )
    event = build_event(attempt, None)
    assert event["ldgparentworkflowid"] == "parent"
    assert event["ldgrootworkflowid"] == "root"


def test_new_ids_have_their_prefixes_and_a_random_uuid():
    attempt = new_attempt(workflow=True)
    for prefix, text in {
        "evt": attempt.event_id,
        "att": attempt.attempt_id,
        "task": attempt.task_id,
        "run": attempt.run_id,
        "wf": attempt.workflow_id,
    }.items():
        name, _, rest = text.partition("_")
        assert name == prefix
        assert (str(uuid.UUID(rest)), uuid.UUID(rest).version) == (rest, 4)
    assert new_attempt().workflow_id is None


def test_ids_and_clock_can_be_given():
    attempt = new_attempt(new_id=lambda prefix: prefix + "!", clock_ms=lambda: 5)
    assert (attempt.event_id, attempt.claimed_at_ms) == ("evt!", 5)


def test_the_first_context_is_revision_0_at_start():
    attempt = new_attempt(workflow=True)
    assert first_extension(attempt) == {
        "schema": "ledgence.workflow.activation.v1",
        "payload": {
            "v": 1,
            "workflow_id": attempt.workflow_id,
            "activation_id": attempt.task_id,
            "revision": 0,
            "continuation": "start",
            "state": None,
            "inputs": {},
            "local_steps": [],
        },
    }


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        pytest.param(0, "1970-01-01T00:00:00Z", id="epoch"),
        pytest.param(1, "1970-01-01T00:00:00.001Z", id="one"),
        pytest.param(10, "1970-01-01T00:00:00.01Z", id="trailing-zero"),
        pytest.param(100, "1970-01-01T00:00:00.1Z", id="two-trailing-zeros"),
        pytest.param(1000, "1970-01-01T00:00:01Z", id="whole"),
        pytest.param(253_402_300_799_999, "9999-12-31T23:59:59.999Z", id="last"),
    ],
)
def test_times_have_no_trailing_zeros(ms, text):
    assert format_time(ms) == text


@given(st.integers(0, 253_402_300_799_999))
def test_times_read_back_as_they_were(ms):
    read = datetime.fromisoformat(format_time(ms))
    assert (read - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() == pytest.approx(
        ms / 1000, abs=1e-4
    )
