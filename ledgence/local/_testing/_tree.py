"""What all runs of a host wait for, as text."""

# pyright: reportPrivateUsage=false
# The host is a room of the same house.

from __future__ import annotations

from collections.abc import Iterator

from ledgence.local._engine import Inspection
from ledgence.local._errors import LocalError
from ledgence.local._host import LocalHost, Run
from ledgence.local._host._core import Core

__all__ = ["open_runs"]

_SHOWN = 20
_OPEN = {
    "workflow": ("running", "waiting", "failing", "cancelling"),
    "task": ("queued", "active"),
}


def open_runs(host: LocalHost) -> str:
    """Return a line for each run that is not over, and below it what it waits for."""
    try:
        return _open_runs(host._core)  # noqa: SLF001 # a room of the same house
    except LocalError as error:
        # A report must not fail because of what it reports.
        return "" if error.code == "host_closed" else str(error)


def _open_runs(core: Core) -> str:
    lines: list[str] = []
    for run, state in _runs(core.opened.look, core.scope.to_json()):
        if len(lines) >= _SHOWN:
            return "\n".join([*lines, "..."])
        lines += _tree(core, run, state)
    return "\n".join(lines)


def _runs(look: Inspection, scope: dict[str, str]) -> Iterator[tuple[Run, str]]:
    for state in _OPEN["workflow"]:
        request = {"scope": scope, "state": state, "root_only": True, "limit": _SHOWN}
        for item in look.list_workflows(request)["items"]:
            program = item["controller"]["program"]["id"]
            yield Run(item["workflow"]["workflow_id"], "workflow", program), state
    for state in _OPEN["task"]:
        request = {"scope": scope, "state": state, "limit": _SHOWN}
        for item in look.list_tasks(request)["items"]:
            if "workflow_id" not in item:
                yield Run(item["task_id"], "task"), state


def _tree(core: Core, run: Run, state: str) -> list[str]:
    lines = [f"{run}: {state}"]
    lines += [f"  {one}" for one in core.awaited(run)]
    return lines
