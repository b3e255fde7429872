"""Histories as files: read them by key, and replay them against other code.

From the ground up: errors, what a history is made of (``_shape``, ``_format``),
``History`` with its ``Operation`` records, the comparison (``_compare``), and
``replay``, which plays every recorded activation in a real runner.
"""

from ledgence.local._replay._errors import Difference, HistoryError, ReplayMismatch
from ledgence.local._replay._history import History
from ledgence.local._replay._operations import Operation
from ledgence.local._replay._replay import replay, replay_history
from ledgence.local._replay._report import ReplayReport, Skipped

__all__ = [
    "Difference",
    "History",
    "HistoryError",
    "Operation",
    "ReplayMismatch",
    "ReplayReport",
    "Skipped",
    "replay",
    "replay_history",
]
