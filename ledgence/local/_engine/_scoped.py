"""Finding what a request names; a right id under a wrong scope is not found."""

from __future__ import annotations

from ledgence.local._engine._errors import NotFound
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import Task, Workflow
from ledgence.local._engine._work import Scope

__all__ = ["find_task", "find_workflow"]


def find_task(rows: Rows, scope: Scope, task_id: str) -> Task:
    """Return a task of a scope or refuse with ``NotFound``."""
    task = rows.get(Task, task_id)
    if task is None or Scope(task.tenant_id, task.namespace) != scope:
        raise _missing("task", task_id, scope)
    return task


def find_workflow(rows: Rows, scope: Scope, workflow_id: str) -> Workflow:
    """Return a workflow of a scope or refuse with ``NotFound``."""
    workflow = rows.get(Workflow, workflow_id)
    if workflow is None or Scope(workflow.tenant_id, workflow.namespace) != scope:
        raise _missing("workflow", workflow_id, scope)
    return workflow


def _missing(kind: str, subject: str, scope: Scope) -> NotFound:
    return NotFound(
        f"no {kind} {subject} in this scope",
        details={"tenant_id": scope.tenant_id, "namespace": scope.namespace},
        hint="identifiers belong to one tenant and namespace",
    )
