"""Outcomes of children: the values of ``inputs`` (workflow-wire.md, section 2)."""

from __future__ import annotations

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow._fields import is_message, is_text, quoted
from ledgence.worker.workflow._kinds import is_dict
from ledgence.worker.workflow._limits import (
    MAX_DECISION_BYTES,
    MESSAGE_BYTES,
    TEXT_BYTES,
    VALUE_DEPTH,
)
from ledgence.worker.workflow._payload import (
    choice,
    encode,
    invalid,
    member,
    members,
    text,
    within,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

_TASK = frozenset({"task_id", "state", "outcome"})
_WORKFLOW = frozenset({"kind", "workflow_id", "state", "outcome"})
_STATES = frozenset({"succeeded", "failed", "cancelled"})
_EVIDENCE = frozenset(
    {"kind", "attempt_id", "quiescence", "execution_may_have_started"}
)
_TASK_SUCCESS = _EVIDENCE | {"output"}
_TASK_FAILURE = _EVIDENCE | {"failure"}
_WORKFLOW_SUCCESS = frozenset({"kind", "output"})
_WORKFLOW_FAILURE = frozenset({"kind", "error"})
_CANCELLED = frozenset({"kind"})
_ERROR = frozenset({"kind", "message"})
_QUIESCENCE = frozenset({"confirmed", "unconfirmed"})
_FAILURES = frozenset({"application", "execution", "attempt_lost"})
_APPLICATION = frozenset({"kind", "error"})
_EXECUTION = frozenset({"kind", "error", "phase", "cleanup_error"})
_LOST = frozenset({"kind"})
_PHASES = frozenset({"admission", "preparation", "startup", "execution", "cleanup"})
_WORKER_ERRORS = frozenset(
    {
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
    }
)
# The entry and its outcome are containers around an output of at most 64 levels.
_ENTRY_DEPTH = VALUE_DEPTH + 2


class Child:
    """A child that has ended.

    Attributes:
        is_workflow: Whether it is a workflow; otherwise it is a task.
        state: ``succeeded``, ``failed`` or ``cancelled``.
        data: The canonical bytes of its whole entry.
    """

    __slots__ = ("data", "is_workflow", "state")

    def __init__(self, state: str, data: bytes, *, is_workflow: bool) -> None:
        self.state = state
        self.data = data
        self.is_workflow = is_workflow


def read_inputs(inputs: dict[Any, Any]) -> tuple[dict[str, Child], int]:
    """Check ``inputs``.

    Returns:
        The children, sorted by key, and the size of all inputs in bytes.

    Raises:
        ActivationError: With the path inside the payload.
    """
    children: dict[str, Child] = {}
    total = 2 * len(inputs) + 1  # the braces, the colons, the commas between
    for key in sorted(inputs, key=_sort_key):
        if not is_text(key):
            raise invalid("$.inputs", f"keys of 1 to {TEXT_BYTES} bytes", key)
        try:
            child = children[key] = read_child(inputs[key])
        except ActivationError as error:
            raise within(error, "inputs", key) from None
        total += len(quoted(key)) + len(child.data)
    return children, total


def _sort_key(key: object) -> str:
    # Only texts are keys of a decoded object; others are refused right after.
    return key if type(key) is str else ""


def read_child(entry: object) -> Child:
    """Check one value of ``inputs``.

    The shape is checked member by member; one walk over the whole then checks the
    JSON values, the depth of the output, and gives the bytes that are kept. That the
    entry is within the size of all inputs is seen when these are added up.

    Raises:
        ActivationError: With the path inside the entry.
    """
    is_workflow = is_dict(entry) and "kind" in entry
    found = members(entry, _WORKFLOW if is_workflow else _TASK)
    if is_workflow and found["kind"] != "workflow":
        raise invalid("$.kind", "workflow, or no kind for a task", found["kind"])
    text(found, "workflow_id" if is_workflow else "task_id")
    state = choice(found, "state", _STATES)
    try:
        _check_outcome(found["outcome"], state, is_workflow=is_workflow)
    except ActivationError as error:
        raise within(error, "outcome") from None
    data = encode("$", found, MAX_DECISION_BYTES, _ENTRY_DEPTH)
    return Child(state, data, is_workflow=is_workflow)


def _check_outcome(outcome: object, state: str, *, is_workflow: bool) -> None:
    if not is_dict(outcome) or outcome.get("kind") != state:
        raise invalid("$.kind", f"{state}, as the state", outcome)
    if state == "cancelled":
        members(outcome, _CANCELLED)
    elif is_workflow:
        if state == "succeeded":
            members(outcome, _WORKFLOW_SUCCESS)
        else:
            _check_workflow_error(members(outcome, _WORKFLOW_FAILURE))
    elif state == "succeeded":
        _check_evidence(members(outcome, _TASK_SUCCESS))
        if outcome["execution_may_have_started"] is not True:
            raise _wrong(outcome, "execution_may_have_started", "true")
    else:
        _check_evidence(members(outcome, _TASK_FAILURE))
        _check_failure(outcome)


def _check_workflow_error(outcome: dict[str, Any]) -> None:
    try:
        error = members(outcome["error"], _ERROR)
        text(error, "kind")
        if not is_message(error["message"]):
            expected = f"a text of at most {MESSAGE_BYTES} UTF-8 bytes"
            raise _wrong(error, "message", expected)
    except ActivationError as problem:
        raise within(problem, "error") from None


def _check_evidence(outcome: dict[str, Any]) -> None:
    text(outcome, "attempt_id")
    choice(outcome, "quiescence", _QUIESCENCE)
    if type(outcome["execution_may_have_started"]) is not bool:
        raise _wrong(outcome, "execution_may_have_started", "a boolean")


def _check_failure(outcome: dict[str, Any]) -> None:
    failure = outcome["failure"]
    kind = failure.get("kind") if is_dict(failure) else None
    if kind == "application":
        if outcome["execution_may_have_started"] is not True:
            raise _wrong(outcome, "execution_may_have_started", "true")
        check = _check_application
    elif kind == "execution":
        check = _check_execution
    elif kind == "attempt_lost":
        if outcome["quiescence"] != "unconfirmed":
            raise _wrong(outcome, "quiescence", "unconfirmed")
        check = _check_lost
    else:
        raise invalid("$.failure", "a known kind of failure", kind)
    try:
        check(failure)
    except ActivationError as error:
        raise within(error, "failure") from None


def _check_application(failure: dict[str, Any]) -> None:
    error = members(members(failure, _APPLICATION)["error"], _ERROR, "$.error")
    for name in ("kind", "message"):
        if type(error[name]) is not str:
            raise invalid(f"$.error.{name}", "a text", error[name])


def _check_execution(failure: dict[str, Any]) -> None:
    members(failure, _EXECUTION)
    _check_worker_error(failure["error"], "error")
    choice(failure, "phase", _PHASES)
    if failure["cleanup_error"] is not None:
        _check_worker_error(failure["cleanup_error"], "cleanup_error")


def _check_worker_error(error: object, name: str) -> None:
    try:
        found = members(error, _ERROR)
        choice(found, "kind", _WORKER_ERRORS)
        if type(found["message"]) is not str:
            raise _wrong(found, "message", "a text")
    except ActivationError as problem:
        raise within(problem, name) from None


def _check_lost(failure: dict[str, Any]) -> None:
    members(failure, _LOST)


def _wrong(owner: dict[str, Any], name: str, expected: str) -> ActivationError:
    return invalid(member(name), expected, owner[name])
