"""A progress bar for many events, only where a person watches a terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

__all__ = ["Progress"]

Guard = Callable[[], AbstractContextManager[None]]

# Shorter work needs no bar, and then the display library is never imported.
_SILENT_SECONDS = 0.4


class Progress:
    """Counts runs on stderr and keeps the bar below all other lines.

    Args:
        size: The bytes of the source when known; else the bar only pulses.
        guard: Entered around each write to the terminal, which may block.
        clock: Seconds; a bar appears only after a while.
    """

    def __init__(
        self,
        size: int | None,
        guard: Guard,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._guard = guard
        self._clock = clock
        self._began = clock()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._shared = os.isatty(1)

    def update(self, *, runs: int, failed: int, position: int) -> None:
        """Show how far the work is."""
        if self._bar is None:
            if self._clock() - self._began < _SILENT_SECONDS:
                return
            self._open()
        fields: dict[str, Any] = {"runs": runs, "failed": failed}
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=position, **fields)

    def result(self, data: bytes) -> bool:
        """Print a result above the bar when both share the terminal."""
        return self._shared and self.line(data)

    def line(self, data: bytes) -> bool:
        """Print a line above the bar; False when there is no bar yet."""
        if self._bar is None:
            return False
        from rich.text import Text  # noqa: PLC0415 - see _open

        text = Text(data.decode(errors="replace").removesuffix("\n"))
        with self._guard():
            self._bar.console.print(text, soft_wrap=True, highlight=False)
        return True

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _open(self) -> None:
        # Imported here: most runs never show a bar, and it takes a while.
        from rich.console import Console  # noqa: PLC0415 # slow to load
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 # slow to load
        from rich.progress import Progress as RichProgress  # noqa: PLC0415 # slow to load

        self._bar = RichProgress(
            TextColumn("{task.fields[runs]} runs, {task.fields[failed]} failed"),
            BarColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            redirect_stderr=False,
            redirect_stdout=False,
            transient=True,
        )
        self._task = self._bar.add_task("", total=self._size, runs=0, failed=0)
        self._bar.start()
