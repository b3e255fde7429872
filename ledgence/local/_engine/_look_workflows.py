"""Questions about workflows and their parts."""

from __future__ import annotations

from ledgence.local._engine._activations import build_context
from ledgence.local._engine._approvals import approval_snapshot
from ledgence.local._engine._check import integer, record
from ledgence.local._engine._errors import NotFound
from ledgence.local._engine._invocation import build_event
from ledgence.local._engine._limits import (
    APPROVALS_PAGE,
    HISTORY_PAGE,
    PAGE,
    PAGE_MOST,
)
from ledgence.local._engine._look import Look, after_number, one_text
from ledgence.local._engine._pages import ListRequest, page_of
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import (
    Activation,
    Approval,
    Attempt,
    Child,
    InboxEvent,
    Report,
    Task,
    Wait,
    Workflow,
)
from ledgence.local._engine._status import TERMINAL, workflow_result, workflow_status
from ledgence.local._engine._summary import (
    activation_view,
    child_view,
    event_view,
    listed_view,
    summary,
    wait_view,
)
from ledgence.local._engine._values import JsonObject, unpack, unpack_object

__all__ = ["WorkflowLook"]

_STATES = TERMINAL | {"running", "waiting", "failing", "cancelling"}


class WorkflowLook(Look):
    """Questions about workflows."""

    def workflow_status(self, request: object) -> JsonObject:
        """Return the status of a workflow; http-api.md, section 5.2."""
        return self._workflow(request, lambda _, run: workflow_status(run))

    def workflow_result(self, request: object) -> JsonObject:
        """Return status and outcome of a workflow; http-api.md, section 5.3."""
        return self._workflow(request, workflow_result)

    def list_workflows(self, request: object) -> JsonObject:
        """Return a page of workflows, newest first."""
        asked = ListRequest.parse(request, _STATES)
        with self._store.reading() as rows:
            page, last = page_of(rows.list_workflows(asked.wanted), asked.limit)
        items = [listed_view(run) for run in page]
        if last is None:
            return {"items": items, "next_cursor": None}
        cursor = asked.cursor(last.submitted_at, last.workflow_id)
        return {"items": items, "next_cursor": cursor}

    def workflow(self, request: object) -> JsonObject:
        """Return what a workflow does and what it waits for now."""
        return self._workflow(request, summary)

    def children(self, request: object) -> JsonObject:
        """Return a page of a workflow's children by key."""

        def fetch(rows: Rows, run: str, after: str | None, limit: int) -> list[Child]:
            return rows.list_children(run, after, limit)

        def show(rows: Rows, _: Workflow, child: Child) -> JsonObject:
            return child_view(rows, child)

        return self._page(request, PAGE_MOST, fetch, show, "command_key")

    def waits(self, request: object) -> JsonObject:
        """Return a page of a workflow's external waits by key."""

        def fetch(rows: Rows, run: str, after: str | None, limit: int) -> list[Wait]:
            return rows.list_waits(run, after, limit)

        def show(_: Rows, run: Workflow, wait: Wait) -> JsonObject:
            return wait_view(run, wait)

        return self._page(request, PAGE_MOST, fetch, show, "key")

    def inbox(self, request: object) -> JsonObject:
        """Return a page of the events that a workflow has accepted, by key."""

        def fetch(
            rows: Rows, run: str, after: str | None, limit: int
        ) -> list[InboxEvent]:
            return rows.list_inbox(run, after, limit)

        def show(_: Rows, run: Workflow, event: InboxEvent) -> JsonObject:
            return event_view(run, event)

        return self._page(request, PAGE_MOST, fetch, show, "key")

    def approval(self, request: object) -> JsonObject:
        """Return a request for approval; http-api.md, section 7."""
        found, key = one_text(request, "workflow_id", "key")

        def answer(rows: Rows, run: Workflow) -> JsonObject:
            approval = rows.get(Approval, run.workflow_id, key)
            if approval is None:
                raise NotFound(f"this workflow has no approval request {key!r}")
            return approval_snapshot(run, approval)

        return self._workflow(found, answer)

    def list_approvals(self, request: object) -> JsonObject:
        """Return a page of requests for approval by key; http-api.md, section 7."""

        def fetch(
            rows: Rows, run: str, after: str | None, limit: int
        ) -> list[Approval]:
            return rows.list_approvals(run, after, limit)

        def show(_: Rows, run: Workflow, approval: Approval) -> JsonObject:
            return approval_snapshot(run, approval)

        return self._page(request, APPROVALS_PAGE, fetch, show, "key")

    def activations(self, request: object) -> JsonObject:
        """Return a page of a workflow's activations by revision.

        ``next_cursor`` is the last revision of the page, for ``after_revision``.
        """
        members = ("after_revision", "limit")
        found = dict(record(request, ("scope", "workflow_id"), members))
        after = after_number(found, "after_revision", default=-1)
        limit = integer(found.pop("limit", PAGE), 1, PAGE_MOST, path="$.limit")

        def answer(rows: Rows, run: Workflow) -> JsonObject:
            ids = rows.list_activations(run.workflow_id, after, limit + 1)
            page, last = page_of(ids, limit)
            items = [activation_view(rows, one) for one in page]
            cursor = None if last is None else items[-1]["revision"]
            return {"items": items, "next_cursor": cursor}

        return self._workflow(found, answer)

    def activation(self, request: object) -> JsonObject:
        """Return one activation with all that it saw and said.

        ``event`` and ``result`` are those of the last attempt, ``context`` is the
        payload with the whole journal. With this it can be replayed against other
        code.
        """
        found, activation_id = one_text(request, "workflow_id", "activation_id")
        return self._workflow(
            found, lambda rows, run: _replayable(rows, run, activation_id)
        )

    def local_steps(self, request: object) -> list[JsonObject]:
        """Return the records of an activation's journal by key."""
        found, activation_id = one_text(request, "workflow_id", "activation_id")

        def answer(rows: Rows, run: Workflow) -> list[JsonObject]:
            _find(rows, run, activation_id)
            return [
                {
                    "workflow_id": run.workflow_id,
                    "activation_id": activation_id,
                    "step_key": step.key,
                    "callable": step.callable,
                    "attempt_id": step.attempt_id,
                    "accepted_at": step.accepted_at,
                    "bytes": step.size,
                    "record": unpack(step.record),
                }
                for step in rows.journal(activation_id)
            ]

        return self._workflow(found, answer)

    def history(self, request: object) -> list[JsonObject]:
        """Return at most 100 lines of a workflow's history after ``after_sequence``."""
        members = ("after_sequence",)
        found = dict(record(request, ("scope", "workflow_id"), members))
        after = after_number(found, "after_sequence")
        return self._workflow(
            found,
            lambda rows, run: [
                {
                    "workflow_id": line.workflow_id,
                    "activation_id": line.activation_id,
                    "at": line.at,
                    "reason": line.reason,
                    "subject": line.subject,
                    "sequence": line.sequence,
                }
                for line in rows.list_log(run.workflow_id, after, HISTORY_PAGE)
            ],
        )


def _find(rows: Rows, run: Workflow, activation_id: str) -> Activation:
    activation = rows.get(Activation, activation_id)
    if activation is None or activation.workflow_id != run.workflow_id:
        raise NotFound(f"this workflow has no activation {activation_id}")
    return activation


def _replayable(rows: Rows, run: Workflow, activation_id: str) -> JsonObject:
    activation = _find(rows, run, activation_id)
    task = rows.need(Task, activation_id)
    attempt = rows.get(Attempt, task.latest_attempt_id or "")
    report = rows.get(Report, task.latest_attempt_id or "")
    return {
        "activation": activation_view(rows, activation_id),
        "event": None if attempt is None else build_event(rows, task, attempt),
        "context": build_context(rows, run, activation),
        "result": None if report is None else unpack_object(report.body)["result"],
    }
