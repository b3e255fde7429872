"""Outcomes of children: the exact shapes of every state."""

import pytest

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow._outcomes import read_child
from tests.support.workflow import (
    canonical,
    failed_child,
    nest,
    task_child,
    workflow_child,
)

CANCELLED = {"kind": "cancelled"}
APPLICATION = {"kind": "application", "error": {"kind": "K", "message": "m"}}
LOST = {"kind": "attempt_lost"}
WORKER_ERRORS = [
    "invalid_input",
    "not_found",
    "integrity",
    "incompatible",
    "unavailable",
    "cancelled",
    "timed_out",
    "runtime",
    "protocol",
    "io",
    "capacity",
]
PHASES = ["admission", "preparation", "startup", "execution", "cleanup"]


def execution(**changes):
    error = {"kind": "timed_out", "message": ""}
    base = {
        "kind": "execution",
        "error": error,
        "phase": "execution",
        "cleanup_error": None,
    }
    return {**base, **changes}


def workflow_failure(**error):
    found = {"kind": "K", "message": "m", **error}
    outcome = {"kind": "failed", "error": found}
    return {
        "kind": "workflow",
        "workflow_id": "w",
        "state": "failed",
        "outcome": outcome,
    }


def cancelled(name="task_id", **changes):
    base = {name: "x", "state": "cancelled", "outcome": CANCELLED}
    return {**base, **changes}


GOOD = {
    "task": task_child({"any": [1]}),
    "null output": task_child(None),
    "workflow": workflow_child([1]),
    "cancelled task": cancelled(),
    "cancelled workflow": cancelled("workflow_id", kind="workflow"),
    "application": failed_child(APPLICATION),
    "empty application": failed_child(
        {"kind": "application", "error": {"kind": "", "message": "\x00\n"}}
    ),
    "execution": failed_child(execution(), execution_may_have_started=False),
    "cleanup": failed_child(
        execution(cleanup_error={"kind": "io", "message": "x" * 5000}),
        quiescence="unconfirmed",
    ),
    "lost": failed_child(LOST, quiescence="unconfirmed"),
    "workflow failure": workflow_failure(),
    "longest workflow failure": workflow_failure(kind="x" * 128, message="é" * 2048),
}


@pytest.mark.parametrize("entry", GOOD.values(), ids=GOOD)
def test_every_outcome_is_kept_as_it_was_received(entry):
    child = read_child(entry)
    assert child.data == canonical(entry)
    assert child.state == entry["state"]
    assert child.is_workflow == ("kind" in entry)


def changed(entry, path, value):
    """A copy of an entry with a member set, or removed by ``...``."""
    import copy

    result = copy.deepcopy(entry)
    *parents, last = path
    owner = result
    for name in parents:
        owner = owner[name]
    if value is ...:
        del owner[last]
    else:
        owner[last] = value
    return result


TASK = GOOD["task"]
FAILED = GOOD["application"]
EXECUTION = GOOD["cleanup"]
WORKFLOW = GOOD["workflow"]
BAD = [
    (TASK, ["kind"], "task", "$"),
    (TASK, ["kind"], None, "$"),
    (TASK, ["more"], 1, "$"),
    (TASK, ["task_id"], ..., "$"),
    (TASK, ["task_id"], "", "$.task_id"),
    (TASK, ["task_id"], "x" * 129, "$.task_id"),
    (TASK, ["state"], "other", "$.state"),
    (TASK, ["state"], None, "$.state"),
    (TASK, ["state"], [], "$.state"),
    (TASK, ["state"], "failed", "$.outcome.kind"),
    (TASK, ["outcome"], None, "$.outcome.kind"),
    (TASK, ["outcome", "kind"], "failed", "$.outcome.kind"),
    (TASK, ["outcome", "more"], 1, "$.outcome"),
    (TASK, ["outcome", "output"], ..., "$.outcome"),
    (TASK, ["outcome", "attempt_id"], 1, "$.outcome.attempt_id"),
    (TASK, ["outcome", "quiescence"], "maybe", "$.outcome.quiescence"),
    (TASK, ["outcome", "execution_may_have_started"], False, None),
    (TASK, ["outcome", "execution_may_have_started"], 1, None),
    (FAILED, ["outcome", "failure"], None, "$.outcome.failure"),
    (FAILED, ["outcome", "failure", "kind"], "other", "$.outcome.failure"),
    (FAILED, ["outcome", "failure", "kind"], [], "$.outcome.failure"),
    (FAILED, ["outcome", "failure", "more"], 1, "$.outcome.failure"),
    (FAILED, ["outcome", "failure", "error"], None, "$.outcome.failure.error"),
    (
        FAILED,
        ["outcome", "failure", "error", "kind"],
        1,
        "$.outcome.failure.error.kind",
    ),
    (FAILED, ["outcome", "execution_may_have_started"], False, None),
    (FAILED, ["outcome", "output"], 1, "$.outcome"),
    (EXECUTION, ["outcome", "failure", "phase"], "x", "$.outcome.failure.phase"),
    (EXECUTION, ["outcome", "failure", "error", "kind"], "x", None),
    (EXECUTION, ["outcome", "failure", "error", "message"], 1, None),
    (EXECUTION, ["outcome", "failure", "cleanup_error"], "x", None),
    (EXECUTION, ["outcome", "failure", "cleanup_error", "kind"], None, None),
    (EXECUTION, ["outcome", "failure", "cleanup_error"], ..., "$.outcome.failure"),
    (GOOD["lost"], ["outcome", "quiescence"], "confirmed", "$.outcome.quiescence"),
    (GOOD["lost"], ["outcome", "failure", "error"], None, "$.outcome.failure"),
    (WORKFLOW, ["kind"], "task", "$.kind"),
    (WORKFLOW, ["kind"], None, "$.kind"),
    (WORKFLOW, ["workflow_id"], "", "$.workflow_id"),
    (WORKFLOW, ["task_id"], "t", "$"),
    (WORKFLOW, ["outcome", "attempt_id"], "a", "$.outcome"),
    (GOOD["workflow failure"], ["outcome", "error"], "x", "$.outcome.error"),
    (
        GOOD["workflow failure"],
        ["outcome", "error", "kind"],
        "",
        "$.outcome.error.kind",
    ),
    (GOOD["workflow failure"], ["outcome", "error", "message"], "x" * 4097, None),
    (GOOD["workflow failure"], ["outcome", "error", "message"], "é" * 2049, None),
    (GOOD["workflow failure"], ["outcome", "error", "message"], None, None),
    (GOOD["cancelled task"], ["outcome", "output"], 1, "$.outcome"),
]


@pytest.mark.parametrize(
    ("entry", "path", "value", "wanted"),
    BAD,
    ids=[f"{'.'.join(path)}={str(value)[:12]}" for _, path, value, _ in BAD],
)
def test_anything_else_is_refused_with_its_place(entry, path, value, wanted):
    with pytest.raises(ActivationError) as caught:
        read_child(changed(entry, path, value))
    expected = wanted or "$." + ".".join(path)
    assert caught.value.path == expected
    assert caught.value.code == "invalid_activation"


@pytest.mark.parametrize("entry", [None, [], "x", 1, {}])
def test_an_entry_is_an_object(entry):
    with pytest.raises(ActivationError):
        read_child(entry)


@pytest.mark.parametrize("kind", WORKER_ERRORS)
@pytest.mark.parametrize("phase", PHASES)
def test_every_worker_error_and_phase_is_known(kind, phase):
    failure = execution(phase=phase, error={"kind": kind, "message": "m"})
    assert read_child(failed_child(failure)).state == "failed"


@pytest.mark.parametrize("make", [task_child, workflow_child])
def test_an_output_may_nest_64_deep(make):
    assert read_child(make(nest(64)))
    with pytest.raises(ActivationError) as caught:
        read_child(make(nest(65)))
    assert caught.value.path.startswith("$.outcome.output")
    assert caught.value.limit is not None


@pytest.mark.parametrize("value", [2**64, float("inf"), "\ud800"], ids=ascii)
def test_an_output_is_a_json_value(value):
    with pytest.raises(ActivationError) as caught:
        read_child(task_child({"a": [value]}))
    assert caught.value.path == "$.outcome.output.a[0]"
