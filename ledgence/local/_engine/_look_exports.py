"""Whole histories, to be kept as files and replayed."""

from __future__ import annotations

from ledgence.local._engine._export import task_export, workflow_export
from ledgence.local._engine._look import Look
from ledgence.local._engine._values import JsonObject

__all__ = ["ExportLook"]


class ExportLook(Look):
    """Questions about everything at once."""

    def export_workflow(self, request: object) -> JsonObject:
        """Return the whole history of a workflow and of what it owns.

        The shape is described in ``ledgence.local._engine._export``. All of it is of
        one moment; a workflow that still runs can be exported, too.
        """
        return self._workflow(request, workflow_export)

    def export_task(self, request: object) -> JsonObject:
        """Return the whole history of a task."""
        return self._task(request, task_export)
