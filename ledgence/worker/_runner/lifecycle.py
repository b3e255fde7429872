"""The life of one event loop: what ``asyncio.run`` does, step by step.

Written out because steps that would find nothing to do are left out, and because a
forked child must not touch what it shares with its parent.
"""

import asyncio
from asyncio import constants, tasks

from ledgence.worker._runner.loops import RunnerLoop, new_loop

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Coroutine, Sized
    from types import FrameType
    from typing import Any, TypeVar

    from ledgence.worker._runner.channel import Channel
    from ledgence.worker._runner.loops import Waker

    T = TypeVar("T")
else:
    import _signal  # without the enumerations of signal, which cost 10 us a call

_SIGINT = _signal.SIGINT
_DEFAULT = _signal.default_int_handler

# From 3.12 on asyncio.run bounds the wait for the default executor's threads.
_JOIN_SECONDS: "list[float]" = [
    value for name, value in vars(constants).items() if name == "THREAD_JOIN_TIMEOUT"
]

# Where asyncio keeps all tasks; without a name of these every teardown looks at them.
_TASKS: "list[Sized]" = [
    value
    for name, value in vars(tasks).items()
    if name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks")
]


def run(main: "Coroutine[Any, Any, T]", channel: "Channel", waker: "Waker") -> "T":
    """Run a coroutine in a fresh event loop, in the current context.

    Raises:
        KeyboardInterrupt: SIGINT cancelled the main task, and it did not object.
        BaseException: Whatever came out of the coroutine, or of any task if it is
            ``SystemExit`` or ``KeyboardInterrupt``.
    """
    loop = new_loop(waker)
    asyncio.set_event_loop(loop)
    try:
        return _run_task(loop, _new_task(loop, main))  # and keep no reference to it
    finally:
        if not channel.forked:
            _tear_down(loop)


def _new_task(
    loop: asyncio.AbstractEventLoop, main: "Coroutine[Any, Any, T]"
) -> "asyncio.Task[T]":
    if isinstance(loop, RunnerLoop):
        return asyncio.Task(main, loop=loop)  # it is new: no task factory to ask
    return loop.create_task(main)


def _run_task(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[T]") -> "T":
    if _signal.getsignal(_SIGINT) is not _DEFAULT:
        return loop.run_until_complete(task)
    interrupt = _Interrupt(loop, task)
    handler = interrupt.handle
    _signal.signal(_SIGINT, handler)
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError:
        if interrupt.count and task.uncancel() == 0:
            raise KeyboardInterrupt from None
        raise
    finally:
        if _signal.getsignal(_SIGINT) is handler:
            _signal.signal(_SIGINT, _DEFAULT)


class _Interrupt:
    """SIGINT while the loop runs: the first one cancels the main task."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]"
    ) -> None:
        self.count = 0
        self._loop = loop
        self._task = task

    def handle(self, _number: int, _frame: "FrameType | None") -> None:
        self.count += 1
        if self.count > 1 or self._task.done():
            raise KeyboardInterrupt
        self._task.cancel()
        self._loop.call_soon_threadsafe(_nothing)  # ends a wait in the selector


def _nothing() -> None:
    return None


def _tear_down(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel and await what is left, close generators, join threads, close."""
    try:
        if _any_tasks() and (left := asyncio.all_tasks(loop)):
            _cancel(loop, left)
        if not isinstance(loop, RunnerLoop) or not loop.is_spent():
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor(*_JOIN_SECONDS))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _any_tasks() -> bool:
    """Whether there are tasks in this process; to look through them takes longer."""
    return any(map(len, _TASKS)) or not _TASKS


def _cancel(loop: asyncio.AbstractEventLoop, left: "set[asyncio.Task[Any]]") -> None:
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    for task in left:
        if not task.cancelled() and (error := task.exception()) is not None:
            loop.call_exception_handler(
                {
                    "message": "unhandled exception while the invocation's loop ends",
                    "exception": error,
                    "task": task,
                }
            )
