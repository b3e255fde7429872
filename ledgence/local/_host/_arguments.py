"""What a caller passes to a host, checked before anything is done with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from ledgence.local._engine import InvalidInput, Scope
from ledgence.local._engine._check import integer, text
from ledgence.local._host._time import TimeMode
from ledgence.worker.workflow._fields import describe

if TYPE_CHECKING:
    from ledgence.local._host._crashes import Crash
    from ledgence.local._host._lifecycle import Options

__all__ = ["check_crash", "check_host", "scope_of", "seconds"]

_MOST_SLOTS = 1024
_MODES = get_args(TimeMode)
# Longer waits overflow the clocks of some systems, and nobody tells them from for ever.
_LONG_SECONDS = 1e8


def check_host(options: Options) -> Options:
    """Return the options of a host when they mean something.

    Raises:
        InvalidInput: One of them does not; ``path`` names it.
    """
    integer(options.slots, 1, _MOST_SLOTS, path="$.slots")
    if options.time not in _MODES:
        expected = " or ".join(map(repr, _MODES))
        raise InvalidInput.at("$.time", expected, describe(options.time))
    seconds(options.wait_seconds, path="$.wait_seconds")
    _check_queues(options.queues)
    check_crash(options.crash)
    return options


def _check_queues(queues: Sequence[str] | None) -> None:
    if queues is None:
        return
    if isinstance(queues, str):
        raise InvalidInput.at("$.queues", "a list of texts", describe(queues))
    for number, queue in enumerate(queues):
        text(queue, path=f"$.queues[{number}]")


def check_crash(crash: Crash | None) -> None:
    """Refuse what is neither a number of frames nor a question."""
    if crash is None or callable(crash):
        return
    integer(crash, 1, 2**63 - 1, path="$.crash")


def scope_of(given: Sequence[str]) -> Scope:
    """Return the scope with this tenant and namespace."""
    if isinstance(given, str) or len(given) != 2:
        raise InvalidInput.at("$.scope", "(tenant_id, namespace)", describe(given))
    tenant, namespace = given
    return Scope(text(tenant, path="$.scope[0]"), text(namespace, path="$.scope[1]"))


def seconds(given: object, *, path: str = "$.timeout") -> float:
    """Return how long to wait; an infinity is as long as anybody waits."""
    number = given if isinstance(given, (int, float)) else -1
    if number >= 0 and given is not True and given is not False:
        return min(number, _LONG_SECONDS)
    raise InvalidInput.at(path, "seconds, 0 or more", describe(given))
