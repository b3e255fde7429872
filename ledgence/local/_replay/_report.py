"""What a replay has found."""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._replay._errors import Difference, ReplayMismatch

__all__ = ["ReplayReport", "Skipped"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be compared.

    Attributes:
        workflow_id: The run.
        revision: The activation, or None for a whole run.
        reason: Why, in words.
    """

    workflow_id: str
    revision: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The outcome of a replay.

    Attributes:
        compared: How many activations were played and compared.
        differences: What the code does in another way; empty when all is well.
        skipped: What was not compared.
        output: What the program wrote and logged: the last 2,000 lines, at most
            64 KiB of each activation.
    """

    compared: int
    differences: tuple[Difference, ...]
    skipped: tuple[Skipped, ...]
    output: tuple[str, ...]

    def check(self) -> None:
        """Raise ``ReplayMismatch`` unless everything is as the history says."""
        __tracebackhide__ = True  # a test shows the line of its author
        if self.differences:
            raise ReplayMismatch(self)
