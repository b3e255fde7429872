"""Work that belongs to an activation: it runs whether or not somebody awaits it."""

from __future__ import annotations

import asyncio
from itertools import chain

from ledgence.worker._exceptions import StepCancelledError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any, TypeAlias

    from ledgence.worker.workflow._exchange import Exchange

    Groups: TypeAlias = "Callable[[], Sequence[Sequence[Owned]]]"


class Owned:
    """A started piece of work: a local step or the registration of a fork.

    It can be awaited any number of times, by any number of waiters. It is neither a
    coroutine nor a future: cancelling a waiter does not touch the work. Subclasses say
    in ``work`` what is done and in ``value`` what an await yields.

    Attributes:
        key: The key of the step or the fork.
        task: The task that does the work; None when nothing had to be done.
        done: Whether the work has ended.
        failure: What it failed with, a ``CancelledError`` included; else None.
        observed: Whether an await has raised the failure to its waiter.
    """

    __slots__ = (
        "_waiters",
        "done",
        "exchange",
        "failure",
        "key",
        "observed",
        "task",
    )

    def __init__(self, exchange: Exchange, key: str) -> None:
        self.exchange = exchange
        self.key = key
        self.task: asyncio.Task[None] | None = None
        self.done = False
        self.failure: BaseException | None = None
        self.observed = False
        self._waiters: list[asyncio.Future[None]] = []

    if TYPE_CHECKING:

        async def work(self) -> None:
            """Do the work; a return is success, an exception failure."""

        def value(self) -> Any:
            """Make what an await yields after success."""

    def start(self) -> None:
        """Begin the work on a later turn of the loop.

        The task is made directly: a task factory of the program could begin it at
        once. It runs in a copy of the caller's context.
        """
        run = self._run()
        run.send(None)  # to the place before the work
        self.task = asyncio.Task(run, loop=self.exchange.loop)

    async def _run(self) -> None:
        try:
            await _PLACE  # work that is cancelled before it begins is so from here
            await self.work()
        except BaseException as error:
            self._settle(error)
            assert self.task is not None  # noqa: S101 - start has made it
            self.task.add_done_callback(_seen)
            raise
        self._settle(None)

    def _settle(self, failure: BaseException | None) -> None:
        self.failure = failure
        self.done = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done:
            yield from self._waiter()
        return self.outcome()

    async def finished(self) -> None:
        """Wait for the end of the work without asking how it ended."""
        if not self.done:
            await self._waiter()

    def cancel(self) -> bool:
        """Cancel the work; work that has not begun never runs."""
        task = self.task
        return task is not None and task.cancel()

    def outcome(self) -> Any:
        """Return the value, or raise the failure to somebody who waits for it."""
        if self.failure is not None:
            self.observed = True
            raise self.failure
        return self.value()

    def _waiter(self) -> asyncio.Future[None]:
        waiter = self.exchange.loop.create_future()
        self._waiters.append(waiter)
        return waiter


class _Place:
    """A place in a coroutine where it rests once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


_PLACE = _Place()


def _seen(task: asyncio.Task[None]) -> None:
    """Look at a failure, which ``failure`` tells to those whom it concerns."""
    if not task.cancelled():
        task.exception()


async def drain(groups: Groups) -> None:
    """Wait for all work, what is started meanwhile included.

    Args:
        groups: Returns all work, by sort and in the order of its start.

    Raises:
        BaseException: The first failure that nobody observed, in that order; for work
            that ended cancelled, a ``StepCancelledError``.
    """
    await _all_finished(groups)
    for owned in _each(groups):
        if isinstance(owned.failure, asyncio.CancelledError):
            raise StepCancelledError("step_cancelled", key=owned.key)
        if owned.failure is not None and not owned.observed:
            raise owned.failure


async def finish(exchange: Exchange, groups: Groups, *, cancel: bool) -> None:
    """Await, or cancel and await, all work."""
    for owned in _each(groups):
        # A request that is under way gets its reply first.
        if cancel and not owned.done and owned is not exchange.holder:
            owned.cancel()
    await _all_finished(groups)


async def _all_finished(groups: Groups) -> None:
    while unfinished := [owned for owned in _each(groups) if not owned.done]:
        for owned in unfinished:
            await owned.finished()


def _each(groups: Groups) -> Iterator[Owned]:
    return chain.from_iterable(groups())
