"""The event loop of an invocation in protocol 3 (runner-protocol.md, 7.3).

Each invocation has a fresh loop that lives as under ``asyncio.run``. Two thirds of what
``asyncio.run`` costs go into operating-system objects that most invocations never use,
so our loop makes them late: the pipe that wakes a blocked loop is made once per
process, a selector for the first descriptor that the program registers. A loop policy
that the program has set is used instead.

Where a loop waits with no descriptor of the program registered, it waits in ``poll``
on two descriptors at most: the one that wakes it, and the protocol's input.
"""

import asyncio
import contextlib
import os
import select
import selectors
import sys
from math import ceil
from weakref import WeakSet, WeakValueDictionary

from ledgence.worker._runner.moulds import MOULD, Late

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Mapping, Sized
    from concurrent.futures import ThreadPoolExecutor
    from typing import Any

    from ledgence.worker._runner.channel import Channel

# The versions whose event loops RunnerLoop is written for and tested with.
_KNOWN = sys.platform in ("linux", "darwin") and (3, 11) <= sys.version_info < (3, 14)
_MAX_WAIT_MS = 24 * 3600 * 1000


class Waker:
    """What wakes a blocked loop of this process: the self-pipe of all its loops.

    Attributes:
        source: The protocol's input, which a loop may watch without a selector.
        loop: The loop that runs now, if it is one of ours.
    """

    def __init__(self, channel: "Channel") -> None:
        self.source = channel.source
        self.loop: RunnerLoop | None = None
        self._pipe: tuple[int, int] | None = None
        self._polls: tuple[select.poll, select.poll] | None = None
        channel.when_forked.append(self._leave_child)

    def open(self) -> tuple[int, int]:
        """The end to read and the end to write, made when they are first needed."""
        pipe = self._pipe
        if pipe is None:
            pipe = os.pipe()
            for end in pipe:
                os.set_blocking(end, False)
            alone, both = select.poll(), select.poll()
            alone.register(pipe[0], select.POLLIN)
            both.register(pipe[0], select.POLLIN)
            if self.source >= 0:
                both.register(self.source, select.POLLIN)
            self._polls = alone, both
            self._pipe = pipe
        return pipe

    def wake(self) -> None:
        """End a wait that is going on; a loop that never waited needs no waking."""
        if self._pipe is not None:
            # It is full: then the loop has been woken already.
            with contextlib.suppress(BlockingIOError):
                os.write(self._pipe[1], b"\0")

    def drain(self) -> bytes:
        """What has come through the pipe: zeros, and the numbers of signals."""
        try:
            return os.read(self.open()[0], 4096)
        except BlockingIOError:
            return b""

    def wait(self, timeout: float | None, *, source: bool) -> list[int]:
        """Wait for a wake-up and, if asked, for the protocol's input.

        Args:
            timeout: Seconds, or None for as long as it takes.
            source: Whether to wait for the input, too.

        Returns:
            The descriptors that can be read; empty when the time is over.
        """
        if self._polls is None:
            self.open()
        assert self._polls is not None  # noqa: S101 - open has made them
        limit = None if timeout is None else min(ceil(timeout * 1000), _MAX_WAIT_MS)
        return [descriptor for descriptor, _ in self._polls[source].poll(limit)]

    def close(self) -> None:
        """Close the pipe; the next loop that blocks makes another one."""
        pipe, self._pipe, self._polls = self._pipe, None, None
        for end in pipe or ():
            os.close(end)

    def _leave_child(self) -> None:
        """A child must not take its parent's wake-ups: it gets a pipe of its own."""
        gone = {self.source, *(self._pipe or ())}
        self.source = -1
        self.close()
        if self.loop is not None:
            self.loop.leave_child(gone)


class LateSelector(selectors.BaseSelector):
    """A selector that becomes a real one with the first descriptor of the program."""

    def __init__(self, loop: "RunnerLoop", waker: Waker) -> None:
        self._loop = loop
        self._waker = waker
        self._real: selectors.BaseSelector | None = None
        # The protocol's input, while a reply is awaited in the loop.
        self._keys: dict[Any, selectors.SelectorKey] = {}
        # The loop's own, which it never replaces.
        self.ready: Sized = ()
        self.signal_handlers: Sized = ()

    @property
    def is_late(self) -> bool:
        """Whether the program has registered nothing so far."""
        return self._real is None

    def register(
        self, fileobj: "Any", events: int, data: "Any" = None
    ) -> selectors.SelectorKey:
        """Watch a descriptor."""
        if self._real is None:
            if fileobj == self._waker.source and events == selectors.EVENT_READ:
                key = selectors.SelectorKey(fileobj, fileobj, events, data)
                self._keys[fileobj] = key
                return key
            self._become_real()
        assert self._real is not None  # noqa: S101 - it has become real
        return self._real.register(fileobj, events, data)

    def _become_real(self) -> None:
        real = selectors.DefaultSelector()
        wake_up = self._waker.open()[0]
        real.register(wake_up, selectors.EVENT_READ, self._loop.wake_up_data())
        self._real = real
        keys, self._keys = self._keys, {}
        for key in keys.values():
            real.register(key.fileobj, key.events, key.data)

    def unregister(self, fileobj: "Any") -> selectors.SelectorKey:
        """Watch a descriptor no longer."""
        if self._real is None:
            return self._keys.pop(fileobj)
        return self._real.unregister(fileobj)

    def modify(
        self, fileobj: "Any", events: int, data: "Any" = None
    ) -> selectors.SelectorKey:
        """Change what is watched for."""
        if self._real is None:
            self.unregister(fileobj)
            return self.register(fileobj, events, data)
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> "Mapping[Any, selectors.SelectorKey]":
        """What is registered."""
        return self._keys if self._real is None else self._real.get_map()

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for a descriptor, a wake-up, or the time."""
        if self._real is not None:
            return self._real.select(timeout)
        if timeout == 0 and self.is_quiet():
            return []
        self._waker.open()
        if self.ready:
            timeout = 0  # a thread added it before there was anything to wake us with
        found = self._waker.wait(timeout, source=bool(self._keys))
        return [(self._key(descriptor), selectors.EVENT_READ) for descriptor in found]

    def _key(self, descriptor: int) -> selectors.SelectorKey:
        key = self._keys.get(descriptor)
        if key is not None:
            return key
        return selectors.SelectorKey(
            descriptor, descriptor, selectors.EVENT_READ, self._loop.wake_up_data()
        )

    def is_quiet(self) -> bool:
        """Whether a look at the descriptors would find nothing.

        Threads put their callbacks into the loop before they wake it, and only signals
        come through the pipe itself.
        """
        return self._real is None and not self._keys and not self.signal_handlers

    def leave_child(self, gone: set[int]) -> None:
        """In a forked child: the parent shares the selector, so make another one.

        Args:
            gone: The descriptors that the child has no more.
        """
        self._keys.clear()
        shared, self._real = self._real, None
        if shared is None:
            return
        keys = [key for key in shared.get_map().values() if key.fd not in gone]
        shared.close()
        self._become_real()
        for key in keys:
            # The program may have closed one without a word.
            with contextlib.suppress(OSError, ValueError):
                self.register(key.fileobj, key.events, key.data)

    def close(self) -> None:
        """Forget all descriptors, and the loop: a circle would be the collector's."""
        del self._loop
        self._keys.clear()
        if self._real is not None:
            self._real.close()


class _Descriptor(int):
    """All that the base class asks of the writing end, for signals: its number."""

    def fileno(self) -> int:
        return self


class RunnerLoop(asyncio.SelectorEventLoop):
    """The standard loop of POSIX with late operating-system objects.

    It can also tell whether anything but the protocol's input can wake it, and then
    wait for that without leaving the task that needs it.
    """

    if TYPE_CHECKING:
        _ready: deque[asyncio.Handle]
        _scheduled: list[asyncio.TimerHandle]
        _signal_handlers: dict[int, asyncio.Handle]
        _closed: bool
        _debug: bool
        _stopping: bool
        _default_executor: ThreadPoolExecutor | None
        _internal_fds: int

        def _process_self_data(self, data: bytes) -> None: ...

    # Weak collections are costly, and most loops never use them.
    _asyncgens = Late(WeakSet)
    _transports = Late(WeakValueDictionary)

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._late = self._selector = late = LateSelector(self, waker)
        if MOULD.is_made:
            MOULD.fill(self.__dict__)
            waker.loop = self
        else:
            super().__init__(late)
            MOULD.make(self, ("_waker", "_late", "_selector"))
        self._main: asyncio.Task[Any] | None = None
        late.ready = self._ready
        late.signal_handlers = self._signal_handlers

    if not TYPE_CHECKING:  # the signatures are those of the base class
        # The turns, without what can only find nothing to do.

        def call_soon(
            self, callback: "Any", *args: "Any", context: "Any" = None
        ) -> asyncio.Handle:
            """As in the base class."""
            if self._closed or self._debug:
                return super().call_soon(callback, *args, context=context)
            handle = asyncio.Handle(callback, args, self, context)
            self._ready.append(handle)
            return handle

        def _run_once(self) -> None:
            ready = self._ready
            if not ready or self._scheduled or self._debug or not self._late.is_quiet():
                super()._run_once()
            else:
                for _ in range(len(ready)):
                    handle = ready.popleft()
                    if not handle._cancelled:  # noqa: SLF001 - as the base class does
                        handle._run()  # noqa: SLF001 - likewise
            if self._main is not None and self._main.done():
                self._stopping = True
                if ready or self._scheduled or not self._late.is_quiet():
                    # Here the base class takes a turn for the callback that stops it.
                    super()._run_once()

        def run_until_complete(self, future: "Any") -> "Any":
            """As in the base class, with a turn less for a task."""
            if type(future) is not asyncio.Task or self._main is not None:
                return super().run_until_complete(future)
            self._main = future
            try:
                self.run_forever()
            except BaseException:
                if future.done() and not future.cancelled():
                    future.exception()  # it is seen: it goes on from here
                raise
            finally:
                self._main = None
            if not future.done():
                raise RuntimeError("Event loop stopped before Future completed.")
            return future.result()

        def close(self) -> None:
            """As in the base class; quick where nothing is left to be ended."""
            idle = self._thread_id is None and not self._signal_handlers
            if not idle or self._closed or self._debug or not self.is_spent():
                super().close()
                return
            self._closed = self._executor_shutdown_called = True
            self._close_self_pipe()
            self._late.close()
            self._selector = None

    # The self-pipe belongs to the waker: what the base class does with its own.

    def _make_self_pipe(self) -> None:
        self._internal_fds += 1
        self._waker.loop = self

    def _close_self_pipe(self) -> None:
        self._internal_fds -= 1
        self._waker.loop = None

    def _write_to_self(self) -> None:
        self._waker.wake()

    def _read_from_self(self) -> None:
        while data := self._waker.drain():
            self._process_self_data(data)

    @property
    def _csock(self) -> "_Descriptor":
        return _Descriptor(self._waker.open()[1])

    def wake_up_data(self) -> "tuple[asyncio.Handle, None]":
        """What a selector's key carries: what to do when the loop is woken."""
        return asyncio.Handle(self._read_from_self, (), self), None

    def is_spent(self) -> bool:
        """Whether the teardown of ``asyncio.run`` would find nothing to do."""
        return not (
            self._ready
            or self._scheduled
            or self._default_executor
            or self.__dict__.get("_asyncgens")
            or not self._late.is_late
        )

    def wait_for_source(self) -> bool:
        """Block until the protocol's input can be read, if nothing else can happen.

        Returns:
            False, at once or when something else happened first: then the input must
            be awaited in the loop.
        """
        if not self._late.is_late or self._signal_handlers:
            return False
        self._waker.open()  # from here on a thread's call wakes us
        if self._ready:
            return False
        timeout = None
        if self._scheduled:
            timeout = max(0.0, self._scheduled[0].when() - self.time())
        return self._waker.wait(timeout, source=True) == [self._waker.source]

    def leave_child(self, gone: set[int]) -> None:
        """In a forked child: share nothing with the parent's loop."""
        self._late.leave_child(gone)
        executor = self._default_executor
        if executor is not None:
            # Its other threads are the parent's. If it was one of them that forked,
            # this makes it end, and with it the child, once it has come back.
            executor._shutdown = True  # noqa: SLF001 # as its shutdown() would
            executor._work_queue.put(None)  # type: ignore[arg-type] # noqa: SLF001 - as its own shutdown does


def new_loop(waker: Waker) -> asyncio.AbstractEventLoop:
    """A fresh loop: ours where the default policy would make the standard one."""
    policy = asyncio.get_event_loop_policy()  # pyright: ignore[reportDeprecated] - for 3.14 see _KNOWN
    if _KNOWN and type(policy) is asyncio.DefaultEventLoopPolicy:
        return RunnerLoop(waker)
    return asyncio.new_event_loop()
