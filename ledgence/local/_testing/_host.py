"""The host of one test."""

from __future__ import annotations

from collections import deque
from typing import Final

from ledgence.local._host import LocalHost, PrintingListener
from ledgence.local._testing._repeat import NotRepeatable, repeat
from ledgence.local._testing._settings import Settings
from ledgence.local._testing._tree import open_runs

__all__ = ["TestHost"]

_KEPT_LINES: Final = 1_000


class _Kept(PrintingListener):
    """Keeps what would be printed: the last 1,000 lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def _print(self, text: str) -> None:
        self.lines.append(text)


class TestHost:
    """A host with what the report of its test needs."""

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    def __init__(self, settings: Settings) -> None:
        self._replay = settings.replay
        self._kept = _Kept()
        options = dict(settings.options)
        if not settings.printing:
            options.setdefault("listener", self._kept)
        self.host = LocalHost(**options)

    def sections(self) -> list[tuple[str, str]]:
        """Return what a report of a failure shows beside the traceback."""
        found = [
            ("ledgence: what is awaited", open_runs(self.host)),
            ("ledgence: output of the programs", "\n".join(self._kept.lines)),
        ]
        return [(title, text) for title, text in found if text]

    def trouble_with_replays(self) -> str | None:
        """Play what was recorded once more, unless switched off; say what differs."""
        report = repeat(self.host) if self._replay else None
        return None if report is None else str(NotRepeatable(report))
