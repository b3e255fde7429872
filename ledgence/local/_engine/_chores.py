"""Background passes: what is due on the host's own account."""

from __future__ import annotations

from ledgence.local._engine._cancellation import drain_due
from ledgence.local._engine._decision import programs_of
from ledgence.local._engine._endings import reported
from ledgence.local._engine._limits import PASS
from ledgence.local._engine._ports import Due
from ledgence.local._engine._rows import Application, Task
from ledgence.local._engine._settlement import expire
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._waits import fire_due
from ledgence.local._engine._work import Program

__all__ = ["abandon", "chores", "is_due", "pending_programs"]


def is_due(due: Due, now: int) -> bool:
    """Tell whether there is background work at this time."""
    times = (due.background, due.lease, due.running_lease)
    return any(at is not None and at <= now for at in times)


def chores(turn: Turn) -> int:
    """Make one pass of bounded size; return how many things were done.

    Leases that ended are finalised, waits that ended fire, failing and cancelling
    runs are drained.
    """
    attempts = turn.rows.expired_attempts(turn.now, PASS)
    for attempt in attempts:
        expire(turn, attempt)
    return len(attempts) + fire_due(turn, PASS) + drain_due(turn, PASS)


def abandon(turn: Turn, host_id: str) -> int:
    """Declare attempts of other hosts lost, as if their leases had ended."""
    attempts = turn.rows.foreign_attempts(host_id, PASS)
    for attempt in attempts:
        expire(turn, attempt)
    return len(attempts)


def pending_programs(turn: Turn) -> list[tuple[Application, set[Program]]]:
    """Return the decisions that are to be applied now and the programs they name."""
    found: list[tuple[Application, set[Program]]] = []
    for application in turn.rows.due_applications(turn.now, PASS):
        task = turn.rows.need(Task, application.activation_id)
        output = reported(turn, task)["result"]["output"]
        found.append((application, programs_of(output)))
    return found
