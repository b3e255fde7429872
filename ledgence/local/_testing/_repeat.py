"""Whether a program would do the same in another attempt.

An attempt that is made again gets the journal of those before it. If the program then
asks for other steps or forks, it would be refused, or would do something twice. To
find this out, every recorded activation is played once more. What it decides may
differ: only one decision is ever applied.
"""

# pyright: reportPrivateUsage=false
# The host is a room of the same house.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ledgence.local._engine import Descriptor, Program
from ledgence.local._errors import LocalError
from ledgence.local._host import LocalHost
from ledgence.local._host._core import Core
from ledgence.local._launch import Launch
from ledgence.local._replay import History, ReplayMismatch, ReplayReport
from ledgence.local._replay._replay import Replay

__all__ = ["NotRepeatable", "repeat"]

_PAGE = 100
_TIMEOUT_SECONDS = 20.0
_COUNTED = {"step", "fork", "result"}


class NotRepeatable(ReplayMismatch):
    """A program would do something else when an activation is tried again."""

    def __init__(self, report: ReplayReport) -> None:
        super().__init__(report)
        self.code = "not_repeatable"
        self.summary = "an activation would go another way when it is tried again"
        self.hint = (
            "take what varies from a local step, from ctx.state or from the event;"
            " @pytest.mark.ledgence(replay=False) leaves this check out"
        )


def repeat(host: LocalHost) -> ReplayReport | None:
    """Play all activations of a host's workflows once more.

    Returns:
        What differs: steps, forks, and programs that fail now; None when nothing does.
    """
    core = host._core  # noqa: SLF001 # a room of the same house
    work = Replay(timeout=_TIMEOUT_SECONDS)
    for history in _workflows(core):
        work.run(history.to_json(), lambda run: _launch(core, run))
    report = work.report()
    found = [one for one in report.differences if one.what in _COUNTED]
    return replace(report, differences=tuple(found)) if found else None


def _workflows(core: Core) -> Iterator[History]:
    look, scope = core.opened.look, core.scope.to_json()
    request: dict[str, Any] = {"scope": scope, "root_only": True, "limit": _PAGE}
    while True:
        page = look.list_workflows(request)
        for item in page["items"]:
            found = {"scope": scope, "workflow_id": item["workflow"]["workflow_id"]}
            yield History.of_workflow(look, found)
        if page["next_cursor"] is None:
            return
        request["cursor"] = page["next_cursor"]


def _launch(core: Core, run: dict[str, Any]) -> Launch | None:
    """Return how the program of a run is started.

    None for a stub, and for a program that the test has changed or removed meanwhile.
    """
    shown = run["descriptor"]
    program = Program(shown["program"]["id"], shown["program"]["version"])
    descriptor = Descriptor(program, shown["digest"], shown["size"])
    if core.catalogue.stub_of(descriptor) is not None:
        return None
    try:
        digest, launch = core.catalogue.launch(descriptor)
    except (LocalError, OSError):
        return None
    return launch if digest == descriptor.digest else None
