"""Questions about tasks."""

from __future__ import annotations

from ledgence.local._engine._check import record
from ledgence.local._engine._errors import NotFound
from ledgence.local._engine._history import attempt_summary, task_history
from ledgence.local._engine._invocation import build_event
from ledgence.local._engine._limits import HISTORY_PAGE
from ledgence.local._engine._look import Look, after_number, one_text
from ledgence.local._engine._pages import ListRequest, page_of
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import Attempt, Report, Task
from ledgence.local._engine._status import (
    TERMINAL,
    descriptor_of,
    task_result,
    task_snapshot,
    task_status,
)
from ledgence.local._engine._values import JsonObject, unpack, unpack_object

__all__ = ["TaskLook"]

_STATES = TERMINAL | {"queued", "active"}


class TaskLook(Look):
    """Questions about tasks."""

    def task_status(self, request: object) -> JsonObject:
        """Return the status of a task; http-api.md, section 4.2."""
        return self._task(request, lambda _, task: task_status(task))

    def task_result(self, request: object) -> JsonObject:
        """Return status and outcome of a task; http-api.md, section 4.3."""
        return self._task(request, task_result)

    def task_snapshot(self, request: object) -> JsonObject:
        """Return the snapshot of a task; http-api.md, section 4.6."""
        return self._task(request, task_snapshot)

    def list_tasks(self, request: object) -> JsonObject:
        """Return a page of tasks, newest first; http-api.md, section 4.5."""
        asked = ListRequest.parse(request, _STATES)
        with self._store.reading() as rows:
            page, last = page_of(rows.list_tasks(asked.wanted), asked.limit)
        cursor = None if last is None else asked.cursor(last.submitted_at, last.task_id)
        return {"items": [task_status(task) for task in page], "next_cursor": cursor}

    def task_history(self, request: object) -> list[JsonObject]:
        """Return at most 100 lines of a task's history after ``after_sequence``."""
        found = dict(record(request, ("scope", "task_id"), ("after_sequence",)))
        after = after_number(found, "after_sequence")
        lines = self._task(
            found,
            lambda rows, task: task_history(task, rows.attempts_of(task.task_id)),
        )
        return lines[after : after + HISTORY_PAGE]

    def task_attempts(self, request: object) -> list[JsonObject]:
        """Return all attempts of a task by number."""
        return self._task(
            request,
            lambda rows, task: [
                attempt_summary(attempt) for attempt in rows.attempts_of(task.task_id)
            ],
        )

    def attempt(self, request: object) -> JsonObject:
        """Return one attempt with its event and report; http-api.md, section 4.6."""
        found, attempt_id = one_text(request, "task_id", "attempt_id")
        return self._task(found, lambda rows, task: _attempt(rows, task, attempt_id))

    def observations(self, request: object) -> JsonObject:
        """Return the measurements that came with an attempt's report, or null."""
        found, attempt_id = one_text(request, "task_id", "attempt_id")

        def answer(rows: Rows, task: Task) -> JsonObject:
            attempt = _find(rows, task, attempt_id)
            report = rows.get(Report, attempt.attempt_id)
            body = {} if report is None else unpack_object(report.body)
            return {
                "task_id": task.task_id,
                "attempt_id": attempt_id,
                "observations": body.get("observations"),
            }

        return self._task(found, answer)


def _find(rows: Rows, task: Task, attempt_id: str) -> Attempt:
    attempt = rows.get(Attempt, attempt_id)
    if attempt is None or attempt.task_id != task.task_id:
        raise NotFound(f"this task has no attempt {attempt_id}")
    return attempt


def _attempt(rows: Rows, task: Task, attempt_id: str) -> JsonObject:
    attempt = _find(rows, task, attempt_id)
    report = rows.get(Report, attempt_id)
    lease = {"lease_id": attempt.lease_id, "expires_at": attempt.lease_expires_at}
    return {
        "event": build_event(rows, task, attempt),
        "descriptor": descriptor_of(task).to_json(),
        "lease": lease,
        "deadline": attempt.deadline,
        "authority_deadline": attempt.authority_deadline,
        "state": attempt.state,
        "execution_may_have_started": attempt.dispatched_at is not None,
        "last_renewal": attempt.renewed_at,
        "quiescence": attempt.quiescence,
        "settlement": None if report is None else unpack(report.body),
        "finished_at": attempt.finished_at,
    }
