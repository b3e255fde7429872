"""Gathering steps, forks and other awaitables."""

from __future__ import annotations

import asyncio
from inspect import isawaitable, iscoroutine

from ledgence.worker._exceptions import ArgumentError, LimitError
from ledgence.worker.workflow._fields import describe
from ledgence.worker.workflow._limits import MAX_STEPS
from ledgence.worker.workflow._owned import Owned

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from typing import Any

    from ledgence.worker.workflow._exchange import Exchange


async def gather(exchange: Exchange, awaitables: Sequence[Awaitable[Any]]) -> list[Any]:
    """Wait for all; return the results in order or raise the first failure.

    Owned work is awaited as it is; other awaitables run beside it as tasks.
    """
    try:
        exchange.check()
        _check_awaitables(awaitables)
    except BaseException:
        for entry in awaitables:
            if iscoroutine(entry):
                entry.close()  # nobody will ever await it
        raise
    # An awaitable that is given twice is one: a coroutine cannot be awaited twice.
    started = {
        id(entry): entry if isinstance(entry, Owned) else asyncio.ensure_future(entry)
        for entry in awaitables
    }
    others = [entry for entry in started.values() if not isinstance(entry, Owned)]
    waiting = asyncio.gather(*others, return_exceptions=True)
    try:
        for entry in started.values():
            if isinstance(entry, Owned):
                await entry.finished()
        await waiting
    except BaseException:
        waiting.cancel()
        raise
    ended = [started[id(entry)] for entry in awaitables]
    failures = [failure for failure in map(_failure, ended) if failure is not None]
    if failures:
        raise failures[0]
    return [e.value() if isinstance(e, Owned) else e.result() for e in ended]


def _check_awaitables(awaitables: Sequence[object]) -> None:
    if len(awaitables) > MAX_STEPS:
        size = len(awaitables)
        raise LimitError("too_many", "awaitables", size=size, limit=MAX_STEPS)
    for entry in awaitables:
        if not isawaitable(entry):
            detail = f"expected awaitables, got {describe(entry)}"
            raise ArgumentError("invalid_type", detail, argument="operations")


def _failure(ended: Owned | asyncio.Future[Any]) -> BaseException | None:
    """Return what something that has ended failed with; it is observed by that."""
    if isinstance(ended, Owned):
        ended.observed = True
        return ended.failure
    if ended.cancelled():
        return asyncio.CancelledError()
    return ended.exception()
