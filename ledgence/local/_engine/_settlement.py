"""Reports and finalisation of attempts (orchestrator.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ledgence.local._engine._authority import Owner, has_lease
from ledgence.local._engine._check import choice, member, record, text
from ledgence.local._engine._endings import end_task
from ledgence.local._engine._errors import (
    Conflict,
    InvalidInput,
    NotFound,
    OwnershipLost,
)
from ledgence.local._engine._limits import (
    PHASES,
    REPORT_BYTES,
    RETRYABLE,
    TERMINAL_KINDS,
)
from ledgence.local._engine._rows import Attempt, AttemptState, Quiescence, Report, Task
from ledgence.local._engine._status import descriptor_of
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, Packed, pack, unpack_object
from ledgence.local._engine._work import Descriptor, parse_trace
from ledgence.worker.workflow._fields import describe
from ledgence.worker.workflow._limits import ENVELOPE_DEPTH, VALUE_DEPTH

__all__ = ["Settlement", "confirm", "expire", "finalise", "settle"]

# The report and its result stand around the output that they carry.
_AROUND = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The one report of an attempt, checked.

    ``body`` is ``{"operation_id", "quiescence", "result"}`` and, when given,
    ``processing_trace`` and ``observations``. ``result`` is one of

    - ``{"kind": "succeeded", "output": ...}``
    - ``{"kind": "failed", "failure": {"kind": "application", "error": E}}``
    - ``{"kind": "failed", "failure": {"kind": "execution", "error": E,
      "phase": ..., "cleanup_error": E or null}}``

    with E ``{"kind", "message"}``.
    """

    owner: Owner
    descriptor: Descriptor
    quiescence: Quiescence
    result: JsonObject
    body: Packed

    @classmethod
    def parse(
        cls,
        owner: Owner,
        descriptor: Descriptor,
        value: object,
        *,
        activation: bool = False,
    ) -> Settlement:
        """Read the body of a report; a controller's output may be 96 deep, not 64.

        Raises:
            InvalidInput: The shape is another, or it is larger than 8 MiB.
        """
        found = record(
            value,
            ("operation_id", "quiescence", "result"),
            ("processing_trace", "observations"),
        )
        text(found["operation_id"], path="$.operation_id")
        quiescence = choice(
            found["quiescence"], ("confirmed", "unconfirmed"), path="$.quiescence"
        )
        parse_trace(found.get("processing_trace"), path="$.processing_trace")
        depth = ENVELOPE_DEPTH if activation else VALUE_DEPTH
        return cls(
            owner=owner,
            descriptor=descriptor,
            quiescence=cast("Quiescence", quiescence),
            result=_parse_result(found["result"]),
            body=pack(found, REPORT_BYTES, depth=depth + _AROUND),
        )


def _parse_result(value: object) -> JsonObject:
    kind = member(value, "kind")
    if kind == "succeeded":
        return record(value, ("kind", "output"), path="$.result")
    if kind == "failed":
        found = record(value, ("kind", "failure"), path="$.result")
        _check_failure(found["failure"], "$.result.failure")
        return found
    raise InvalidInput.at("$.result.kind", "succeeded or failed", describe(kind))


def _check_failure(value: object, path: str) -> None:
    kind = member(value, "kind")
    if kind == "application":
        found = record(value, ("kind", "error"), path=path)
        _check_error(found["error"], f"{path}.error")
    elif kind == "execution":
        members = ("kind", "error", "phase", "cleanup_error")
        found = record(value, members, path=path)
        _check_execution_error(found["error"], f"{path}.error")
        choice(found["phase"], PHASES, path=f"{path}.phase")
        if found["cleanup_error"] is not None:
            _check_execution_error(found["cleanup_error"], f"{path}.cleanup_error")
    else:
        expected = "application or execution"
        raise InvalidInput.at(f"{path}.kind", expected, describe(kind))


def _check_error(value: object, path: str) -> JsonObject:
    found = record(value, ("kind", "message"), path=path)
    for name in ("kind", "message"):
        if type(found[name]) is not str:
            raise InvalidInput.at(f"{path}.{name}", "text", describe(found[name]))
    return found


def _check_execution_error(value: object, path: str) -> None:
    found = _check_error(value, path)
    choice(found["kind"], RETRYABLE | TERMINAL_KINDS, path=f"{path}.kind")


def settle(turn: Turn, settlement: Settlement) -> JsonObject:
    """Take the report of an attempt and finalise it if its cleanup is over.

    Returns:
        ``{"task_id", "attempt_id", "already_accepted"}``.

    Raises:
        NotFound: No such attempt.
        Conflict: It has another identity or program, or another report.
        OwnershipLost: There is no report and no live lease.
    """
    rows, owner = turn.rows, settlement.owner
    task, attempt = _identify(turn, settlement)
    known = rows.get(Report, owner.attempt_id)
    if known is not None:
        if known.body != settlement.body.data:
            raise Conflict("the attempt has another report already")
        return _receipt(owner, already_accepted=True)
    if not has_lease(turn, attempt):
        raise OwnershipLost("the lease has ended; the report comes too late")
    if attempt.dispatched_at is None and _ran(settlement.result):
        raise Conflict("the attempt was never authorised to run program code")
    rows.add(Report(attempt.attempt_id, settlement.body.data))
    attempt = rows.change(
        attempt, reported_at=turn.now, quiescence=settlement.quiescence
    )
    if settlement.quiescence == "confirmed":
        finalise(turn, task, attempt, settlement.result)
    return _receipt(owner, already_accepted=False)


def _receipt(owner: Owner, *, already_accepted: bool) -> JsonObject:
    return {
        "task_id": owner.task_id,
        "attempt_id": owner.attempt_id,
        "already_accepted": already_accepted,
    }


def _identify(turn: Turn, settlement: Settlement) -> tuple[Task, Attempt]:
    owner = settlement.owner
    attempt = turn.rows.get(Attempt, owner.attempt_id)
    task = turn.rows.get(Task, owner.task_id)
    if attempt is None or task is None:
        raise NotFound("no such attempt", details={"attempt": owner.attempt_id})
    if (
        attempt.task_id != task.task_id
        or attempt.lease_id != owner.lease_id
        or descriptor_of(task) != settlement.descriptor
    ):
        raise Conflict("the report does not belong to this attempt")
    return task, attempt


def _ran(result: JsonObject) -> bool:
    if result["kind"] == "succeeded":
        return True
    kind: str = result["failure"]["kind"]
    return kind == "application"


def confirm(turn: Turn, owner: Owner) -> None:
    """Note that the cleanup of a reported attempt is over and finalise it.

    Raises:
        NotFound: No such attempt, or no report of it.
        OwnershipLost: Its lease has ended.
    """
    attempt = turn.rows.get(Attempt, owner.attempt_id)
    task = turn.rows.get(Task, owner.task_id)
    report = turn.rows.get(Report, owner.attempt_id)
    if attempt is None or task is None or report is None:
        raise NotFound("no report of such an attempt")
    if attempt.lease_id != owner.lease_id or attempt.task_id != owner.task_id:
        raise OwnershipLost("these identifiers belong to no attempt")
    if attempt.quiescence == "confirmed":
        return
    if not has_lease(turn, attempt):
        raise OwnershipLost("the lease has ended; the attempt is final")
    attempt = turn.rows.change(attempt, quiescence="confirmed", confirmed_at=turn.now)
    finalise(turn, task, attempt, unpack_object(report.body)["result"])


def expire(turn: Turn, attempt: Attempt) -> None:
    """Finalise an attempt whose lease, or whose host, has ended."""
    task = turn.rows.need(Task, attempt.task_id)
    report = turn.rows.get(Report, attempt.attempt_id)
    result = None if report is None else unpack_object(report.body)["result"]
    finalise(turn, task, attempt, result)


def finalise(
    turn: Turn, task: Task, attempt: Attempt, result: JsonObject | None
) -> None:
    """End an attempt, and its task unless it is tried again."""
    if task.cancel_requested_at is not None:
        confirmed = attempt.quiescence == "confirmed"
        _close(turn, attempt, "cancelled" if confirmed else "lost")
        end_task(turn, task, "cancelled")
    elif result is None:
        _try_again(turn, task, _close(turn, attempt, "lost"))
    elif result["kind"] == "succeeded":
        _close(turn, attempt, "succeeded")
        end_task(turn, task, "succeeded")
    elif _is_retryable(result["failure"]):
        _try_again(turn, task, _close(turn, attempt, "failed"))
    else:
        _close(turn, attempt, "failed")
        end_task(turn, task, "failed")


def _close(turn: Turn, attempt: Attempt, state: AttemptState) -> Attempt:
    quiescence = attempt.quiescence or "unconfirmed"
    return turn.rows.change(
        attempt, state=state, quiescence=quiescence, finished_at=turn.now
    )


def _is_retryable(failure: JsonObject) -> bool:
    return failure["kind"] == "execution" and failure["error"]["kind"] in RETRYABLE


def _try_again(turn: Turn, task: Task, attempt: Attempt) -> None:
    if task.attempt_count >= task.max_attempts:
        end_task(turn, task, "failed")
        return
    retry_at = turn.now + task.retry_delay_ms
    turn.rows.change(attempt, retry_at=retry_at)
    turn.rows.change(
        task, state="queued", current_attempt_id=None, available_at=retry_at
    )
    turn.effects.runnable = True
