"""What all questions about a store have in common: scope, subject, pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ledgence.local._engine._check import integer, record, text
from ledgence.local._engine._pages import page_of
from ledgence.local._engine._ports import Rows, Store
from ledgence.local._engine._rows import Task, Workflow
from ledgence.local._engine._scoped import find_task, find_workflow
from ledgence.local._engine._values import JsonObject
from ledgence.local._engine._work import parse_scope
from ledgence.worker.workflow._limits import MAX_REVISION

__all__ = ["Look", "after_number", "one_text"]

A = TypeVar("A")
T = TypeVar("T")


class Look:
    """Questions about a store; each is answered from one moment."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _task(self, request: object, question: Callable[[Rows, Task], A]) -> A:
        found = record(request, ("scope", "task_id"))
        scope = parse_scope(found["scope"])
        task_id = text(found["task_id"], path="$.task_id")
        with self._store.reading() as rows:
            return question(rows, find_task(rows, scope, task_id))

    def _workflow(self, request: object, question: Callable[[Rows, Workflow], A]) -> A:
        found = record(request, ("scope", "workflow_id"))
        scope = parse_scope(found["scope"])
        workflow_id = text(found["workflow_id"], path="$.workflow_id")
        with self._store.reading() as rows:
            return question(rows, find_workflow(rows, scope, workflow_id))

    def _page(
        self,
        request: object,
        most: int,
        fetch: Callable[[Rows, str, str | None, int], list[T]],
        show: Callable[[Rows, Workflow, T], JsonObject],
        key: str,
    ) -> JsonObject:
        """Return a page of what a workflow has under keys, in byte order."""
        members = ("after_key", "limit")
        found = dict(record(request, ("scope", "workflow_id"), members))
        limit = integer(found.pop("limit", most), 1, most, path="$.limit")
        after = found.pop("after_key", None)
        if after is not None:
            after = text(after, path="$.after_key")

        def answer(rows: Rows, workflow: Workflow) -> JsonObject:
            items = fetch(rows, workflow.workflow_id, after, limit + 1)
            page, last = page_of(items, limit)
            shown = [show(rows, workflow, item) for item in page]
            cursor = None if last is None else shown[-1][key]
            return {"items": shown, "next_cursor": cursor}

        return self._workflow(found, answer)


def after_number(found: JsonObject, name: str, default: int = 0) -> int:
    """Take an optional number after which to begin out of a request."""
    value = found.pop(name, None)
    if value is None:
        return default
    return integer(value, 0, MAX_REVISION, path=f"$.{name}")


def one_text(request: object, subject: str, name: str) -> tuple[JsonObject, str]:
    """Split a request about something of a task or workflow.

    Returns:
        The request for the task or workflow itself, and the text named ``name``.
    """
    found = dict(record(request, ("scope", subject, name)))
    return found, text(found.pop(name), path=f"$.{name}")
