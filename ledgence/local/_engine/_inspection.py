"""Looking at a store from outside."""

from __future__ import annotations

from ledgence.local._engine._look_exports import ExportLook
from ledgence.local._engine._look_tasks import TaskLook
from ledgence.local._engine._look_workflows import WorkflowLook

__all__ = ["Inspection"]


class Inspection(TaskLook, WorkflowLook, ExportLook):
    """What can be seen of a store; reads never change anything.

    Args:
        store: The store; any process may look, also beside a running host.

    A request is an object with ``scope`` and, where it is about one entity, its id
    (``task_id`` or ``workflow_id``) and further members as the methods say. Answers
    have the shapes of http-api.md, sections 4, 5, 7 and 10; those of the Console come
    without ``observed_at``, with plain integers, and with more members than there.

    Every question raises ``InvalidInput`` for a request of another shape and
    ``NotFound`` for an entity that is not in the scope.
    """
