"""One turn of the machine: what a transition may see, and what it leaves to do."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ledgence.local._engine._ports import NewId, Rows
from ledgence.local._engine._work import Descriptor, Program

__all__ = ["Effects", "Turn"]


@dataclass(slots=True)
class Effects:
    """What became possible, or needless, through a transaction.

    Attributes:
        runnable: A task was queued; it may be claimable now or later.
        due: Background work is due at once: call ``pump``.
        finished: Tasks and workflows that became terminal.
        stop: Attempts whose program must be stopped; the host goes on to report.
    """

    runnable: bool = False
    due: bool = False
    finished: list[str] = field(default_factory=list[str])
    stop: list[str] = field(default_factory=list[str])

    def __bool__(self) -> bool:
        return self.runnable or self.due or bool(self.finished or self.stop)


@dataclass(slots=True)
class Turn:
    """What a transition works with.

    Attributes:
        rows: The transaction.
        now: The host's time, taken after the transaction began.
        new_id: Makes identifiers.
        programs: The programs that were looked up before the transaction; None for
            one that does not exist. A program that is not here is unknown still.
    """

    rows: Rows
    now: int
    new_id: NewId
    effects: Effects = field(default_factory=Effects)
    programs: Mapping[Program, Descriptor | None] = field(
        default_factory=dict[Program, Descriptor | None]
    )

    @contextmanager
    def all_or_nothing(self) -> Generator[None]:
        """Undo what the block has written and announced when it raises."""
        before = self.effects
        self.effects = Effects(
            before.runnable, before.due, [*before.finished], [*before.stop]
        )
        try:
            with self.rows.savepoint():
                yield
        except BaseException:
            self.effects = before
            raise
