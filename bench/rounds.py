"""Interleaved measuring: everyone takes a short turn in every round.

On a busy machine the speed of everything changes from second to second. So all calls
of a case take turns in slices of some milliseconds, a ratio is computed inside each
round, and the median of the rounds is what counts. Time is the processor time of this
thread: what other processes take is not in it.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time

Thunk = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """What one call took.

    Attributes:
        seconds: Per call, one figure for each round.
    """

    seconds: list[float]

    @property
    def median(self) -> float:
        """Seconds per call in the middle round."""
        return statistics.median(self.seconds)

    def ratio(self, other: Timing) -> float:
        """How often this call fits into the other one: above 1 this one is faster."""
        pairs = zip(other.seconds, self.seconds, strict=True)
        return statistics.median(theirs / ours for theirs, ours in pairs)


def loops(thunk: Thunk, slice_seconds: float) -> int:
    """How many calls fill a slice."""
    count = 1
    while True:
        taken = turn(thunk, count)
        if taken >= slice_seconds / 4:
            return max(1, round(count * slice_seconds / taken))
        count *= 4


def turn(thunk: Thunk, count: int) -> float:
    """Time so many calls."""
    started = thread_time()
    for _ in range(count):
        thunk()
    return thread_time() - started


def measure(
    thunks: dict[str, Thunk], rounds: int, slice_seconds: float
) -> dict[str, Timing]:
    """Let all calls take turns; return the time of each per call and round."""
    for thunk in thunks.values():
        thunk()
    counts = {name: loops(thunk, slice_seconds) for name, thunk in thunks.items()}
    found: dict[str, list[float]] = {name: [] for name in thunks}
    names = list(thunks)
    for number in range(rounds):
        gc.collect()
        # Nobody always runs after the same neighbour.
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            found[name].append(turn(thunks[name], counts[name]) / counts[name])
    return {name: Timing(seconds) for name, seconds in found.items()}
