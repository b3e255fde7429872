"""Requests of an activation and their replies (runner-protocol.md, 11).

One exchange at a time over the protocol's own descriptors. A failed exchange is final:
it cannot be told any more what the parent knows.
"""

import asyncio

from ledgence.worker._profile import ProfileError
from ledgence.worker._runner.channel import ProtocolFault
from ledgence.worker._runner.frames import ExchangeError, Requests
from ledgence.worker._runner.loops import RunnerLoop

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from typing import Any

    from ledgence.worker._runner.channel import Channel, LineReader
    from ledgence.worker._runner.writer import PlainWriter, SharedWriter


class Exchange:
    """What the workflow package calls to talk to the parent.

    Attributes:
        failure: Why the activation cannot succeed any more, if so.
    """

    def __init__(
        self,
        requests: Requests,
        channel: "Channel",
        writer: "PlainWriter | SharedWriter",
        lines: "LineReader",
    ) -> None:
        self.failure: Exception | None = None
        self._requests = requests
        self._channel = channel
        self._writer = writer
        self._lines = lines
        self._outstanding = False
        self._waiter: asyncio.Future[None] | None = None

    async def __call__(self, operation: str, payload: "dict[str, Any]") -> object:
        """Send a request and await its reply.

        Args:
            operation: Its name on the wire.
            payload: JSON values, in the order of the wire.

        Returns:
            The reply's ``result``, itself unchecked.

        Raises:
            ExchangeError: It failed, or an earlier one did.
        """
        self._check()
        try:
            frame = self._requests.encode(operation, payload)
        except ProfileError as error:
            raise self._fail(
                f"the request {operation} cannot be sent: {error}"
            ) from None
        return await self._exchange(frame)

    async def send_encoded(self, operation: str, payload: bytes) -> object:
        """As a call, with the exact JSON of the payload."""
        self._check()
        try:
            frame = self._requests.splice(operation, payload)
        except ExchangeError as error:
            self.failure = error
            raise
        return await self._exchange(frame)

    def _check(self) -> None:
        if self.failure is not None:
            raise ExchangeError(
                f"an earlier request of this activation is not answered: {self.failure}"
            )

    def _fail(self, text: str) -> ExchangeError:
        self.failure = ExchangeError(text)
        return self.failure

    async def _exchange(self, frame: bytes) -> object:
        # Until the reply is accepted, whatever happens makes this final: also a
        # cancellation, which leaves behind a request that nobody waits for.
        self.failure = ExchangeError("nobody waits for its reply any more")
        self._writer.control(frame)
        self._outstanding = True
        line = await self._reply()
        try:
            result = self._requests.check_reply(line)
        except ExchangeError as error:
            self.failure = error
            raise
        self.failure = None
        return result

    async def _reply(self) -> bytes:
        lines = self._lines
        try:
            while (line := lines.take()) is None:
                self._channel.stop_child()
                if not self._wait():
                    await self._readable()
                lines.fill()
        except ProtocolFault as error:
            self._outstanding = False
            raise self._fail(f"no reply can be read: {error}") from None
        self._outstanding = False
        if not line:
            raise self._fail("the input ended instead of a reply")
        return line

    def _wait(self) -> bool:
        """Wait for input right here, if there is nothing else for the loop to do."""
        loop = asyncio.get_running_loop()
        return isinstance(loop, RunnerLoop) and loop.wait_for_source()

    async def _readable(self) -> None:
        """Wait for input; the loop goes on meanwhile."""
        loop = asyncio.get_running_loop()
        source = self._channel.source
        future = self._waiter = loop.create_future()
        try:
            loop.add_reader(source, _wake, future)
        except OSError:
            return  # a regular file, which no selector takes and which never blocks
        try:
            await future
        finally:
            self._waiter = None
            loop.remove_reader(source)

    def leave_child(self) -> None:
        """In a forked child: the reply is its parent's, so nobody waits for it here."""
        self._outstanding = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(self._fail("this is a forked child"))

    async def drain(self) -> None:
        """Read the reply that is still outstanding, so that the pipe stays in step."""
        if self._outstanding:
            try:
                await self._reply()
            except ExchangeError:
                return  # the activation has failed already


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
