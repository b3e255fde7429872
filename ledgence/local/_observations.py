"""Which measurements of a result are kept (runner-protocol.md, sections 12 and 16).

Unusable ones are never an error: they are left out.
"""

from __future__ import annotations

from typing import Any

from ledgence.local._limits import (
    CALLABLE_BYTES,
    KEY_BYTES,
    OBSERVATION_BYTES,
    OBSERVED_STEPS,
    TIMESTAMP_MS,
)
from ledgence.local._shapes import as_list, as_object
from ledgence.local._text import is_text
from ledgence.worker._profile import ProfileError, check

__all__ = ["keep_observations"]

_MAX = 2**64 - 1
_NULLABLE = (
    "process_cpu_user_us",
    "process_cpu_system_us",
    "process_lifetime_peak_rss_bytes",
)
_MEMBERS = {
    "runtime_started_at_ms",
    "runtime_elapsed_us",
    *_NULLABLE,
    "local_steps",
    "local_steps_truncated",
}
_STEP = {"key", "callable", "started_at_ms", "elapsed_us", "state"}
_STATES = {"returned", "failed", "cancelled", "replayed"}


def keep_observations(value: object) -> dict[str, Any] | None:
    """Return the observations unchanged when all of them are usable, else None."""
    seen = as_object(value)
    if seen is None or set(seen) != _MEMBERS:
        return None
    usable = (
        _count(seen["runtime_started_at_ms"], TIMESTAMP_MS)
        and _count(seen["runtime_elapsed_us"])
        and all(seen[name] is None or _count(seen[name]) for name in _NULLABLE)
        and isinstance(seen["local_steps_truncated"], bool)
        and _steps(seen["local_steps"])
        and _fits(seen)
    )
    return seen if usable else None


def _count(value: object, limit: int = _MAX) -> bool:
    return type(value) is int and 0 <= value <= limit


def _steps(value: object) -> bool:
    steps = as_list(value)
    if steps is None or len(steps) > OBSERVED_STEPS:
        return False
    if not all(_step(step) for step in steps):
        return False
    return len({step["key"] for step in steps}) == len(steps)


def _step(value: object) -> bool:
    step = as_object(value)
    return (
        step is not None
        and set(step) == _STEP
        and is_text(step["key"], KEY_BYTES)
        and is_text(step["callable"], CALLABLE_BYTES)
        and _count(step["started_at_ms"], TIMESTAMP_MS)
        and _count(step["elapsed_us"])
        and isinstance(step["state"], str)
        and step["state"] in _STATES
    )


def _fits(value: dict[str, Any]) -> bool:
    try:
        check(value, OBSERVATION_BYTES)
    except ProfileError:
        return False
    return True
