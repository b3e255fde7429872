"""Leaves the runner's own frames out of a printed traceback."""

from __future__ import annotations

__all__ = ["TracebackTrimmer"]

_HEADER = "Traceback (most recent call last):"
_FROZEN = '  File "<frozen importlib'


class TracebackTrimmer:
    """Filters the lines of a program's stderr one by one.

    Only lines inside a traceback are ever left out, and of these only the frames of
    files below ``directory`` (the runner's) and of the import machinery: the author
    reads their own frames.
    """

    def __init__(self, directory: str) -> None:
        self._own = f'  File "{directory}/'
        self._inside = False
        self._skipping = False

    def keep(self, line: str) -> bool:
        """Tell whether the line is to be shown; to be asked for every line."""
        if line == _HEADER:
            self._inside, self._skipping = True, False
        elif self._inside and not line.startswith("  "):
            self._inside = self._skipping = False
        elif self._inside and line.startswith('  File "'):
            self._skipping = line.startswith((self._own, _FROZEN))
        return not self._skipping
