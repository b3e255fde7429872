"""What happened to a task, in order, from the times that its attempts keep."""

from __future__ import annotations

from ledgence.local._engine._rows import Attempt, Task
from ledgence.local._engine._status import TERMINAL
from ledgence.local._engine._values import JsonObject

__all__ = ["attempt_summary", "task_history"]

Line = tuple[int, str, str | None]


def task_history(task: Task, attempts: list[Attempt]) -> list[JsonObject]:
    """Return the history of a task (http-api.md, section 4.6), from sequence 1."""
    lines: list[Line] = [(task.submitted_at, "submitted", None)]
    for attempt in attempts:
        lines += _attempt_lines(attempt)
    if task.cancel_requested_at is not None:
        place = _place_of_request(task.cancel_requested_at, attempts, lines)
        lines.insert(place, (task.cancel_requested_at, "cancel_requested", None))
    if task.state in TERMINAL and task.terminal_at is not None:
        lines.append((task.terminal_at, task.state, task.latest_attempt_id))
    return [
        {
            "sequence": number,
            "event": {
                "task_id": task.task_id,
                "attempt_id": attempt_id,
                "at": at,
                "reason": reason,
            },
        }
        for number, (at, reason, attempt_id) in enumerate(lines, 1)
    ]


def _attempt_lines(attempt: Attempt) -> list[Line]:
    expired = attempt.quiescence != "confirmed"
    found: list[tuple[int | None, str]] = [
        (attempt.claimed_at, "claimed"),
        (attempt.dispatched_at, "dispatch_authorized"),
        (attempt.reported_at, "report_accepted"),
        (attempt.confirmed_at, "cleanup_confirmed"),
        (attempt.finished_at if expired else None, "lease_expired"),
        (None if attempt.retry_at is None else attempt.finished_at, "retry_scheduled"),
    ]
    return [(at, why, attempt.attempt_id) for at, why in found if at is not None]


def _place_of_request(at: int, attempts: list[Attempt], lines: list[Line]) -> int:
    """Return where the request to cancel stands.

    A task that waits for a retry, or for its first attempt, ends with the request.
    Else it came while the last attempt was open, so before what ended that.
    """
    if not attempts or attempts[-1].retry_at is not None:
        return len(lines)
    place = len(lines) - len(_attempt_lines(attempts[-1]))
    for when, reason, _ in lines[place:]:
        if when < at or reason in ("claimed", "dispatch_authorized"):
            place += 1
    return place


def attempt_summary(attempt: Attempt) -> JsonObject:
    """Return an attempt as the list of a task's attempts shows it."""
    return {
        "attempt_id": attempt.attempt_id,
        "task_id": attempt.task_id,
        "state": attempt.state,
        "generation": attempt.number,
        "claimed_at": attempt.claimed_at,
        "dispatch_authorized_at": attempt.dispatched_at,
        "finished_at": attempt.finished_at,
        "quiescence": attempt.quiescence,
        "deadline": attempt.deadline,
    }
