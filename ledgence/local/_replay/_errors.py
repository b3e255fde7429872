"""What can be wrong with a history, and how code can differ from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ledgence.local._errors import LocalError

if TYPE_CHECKING:
    from ledgence.local._replay._report import ReplayReport

__all__ = ["Difference", "HistoryError", "ReplayMismatch", "What"]

What = Literal["step", "fork", "command", "decision", "result"]
_SHOWN = 12
_OUTPUT_LINES = 20


class HistoryError(LocalError):
    """A history cannot be used as it was asked for; ``code`` says why.

    ``history_unreadable``: no such file, not JSON, or more than 256 MiB.
    ``history_format``: JSON of another kind, or damaged; ``details`` has path, expected
    and got. ``history_newer``: written by a newer release. ``history_kind``: a
    task's history where a workflow's is needed. ``operation_not_found`` and
    ``operation_ambiguous``: a key stands for nothing, or for several things.
    ``replay_empty``: no activation with an accepted decision could be compared.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that the code does in another way than the history says.

    Attributes:
        workflow_id: The run; branches and children have their own.
        revision: The number of the activation, from 0.
        continuation: Where that activation entered the program.
        what: ``step``, ``fork``, ``command``, ``decision``, or ``result`` when the
            activation ended without a decision.
        key: The key of the step, fork, child or wait, or None.
        path: Where inside it, such as ``$.data.amount``; ``$`` for all of it.
        expected: What the history says, spelled as JSON and shortened.
        got: What the code did.
        causes: What such a difference usually comes from, the likeliest first.
    """

    workflow_id: str
    revision: int
    continuation: str
    what: What
    key: str | None
    path: str
    expected: str
    got: str
    causes: tuple[str, ...] = ()

    def __str__(self) -> str:
        subject = self.what if self.key is None else f"{self.what} {self.key!r}"
        return (
            f"activation {self.revision} ({self.continuation}), {subject}:"
            f" {self.path}: expected {self.expected}, got {self.got}"
        )


class ReplayMismatch(LocalError):
    """The code does not do what the history says.

    Attributes:
        differences: Every difference, in the order of the activations.
        report: The whole report, with the output of the program.
    """

    def __init__(self, report: ReplayReport) -> None:
        self.report = report
        self.differences = report.differences
        activations = {(one.workflow_id, one.revision) for one in self.differences}
        super().__init__(
            f"the code differs from the history in {len(activations)} of"
            f" {report.compared} activations",
            code="replay_mismatch",
            kind="conflict",
            hint="workflows under way would go another way, and where steps or forks"
            " differ an attempt that is repeated fails; record anew what is meant",
        )

    def __str__(self) -> str:
        lines = [f"{self.summary} [{self.code}]"]
        for difference in self.differences[:_SHOWN]:
            lines.append(f"  {difference}")
            lines += [f"    often: {cause}" for cause in difference.causes]
        if (more := len(self.differences) - _SHOWN) > 0:
            lines.append(f"  ... {more} more differences")
        if self.report.output:
            lines.append("  output of the program:")
            lines += [f"    {line}" for line in self.report.output[-_OUTPUT_LINES:]]
        lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)
