"""One request at a time to the host, in one queue for commits and forks.

This room also holds what decides whether a control call may be made at all: the
activation's event loop, whether its context is closed, and whether an exchange failed.
"""

from __future__ import annotations

import asyncio
from asyncio.events import (
    _get_running_loop,  # pyright: ignore[reportPrivateUsage] # exported by asyncio; None without a loop
)
from collections import deque

from ledgence.worker._exceptions import AcknowledgementError, PlacementError
from ledgence.worker.workflow._fields import describe
from ledgence.worker.workflow._state import boundary

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any


class Exchange:
    """The activation's line to its host.

    Args:
        rpc: ``async (operation, payload) -> result``. When it has a method
            ``send_encoded(operation, payload_bytes)``, the payload goes out as the
            bytes that are there already.

    Attributes:
        loop: The event loop of the activation.
        closed: True from the end of the activation on.
        failed: True once an exchange has failed; the activation can only fail then.
        holder: Who has a request under way, else None.
    """

    __slots__ = (
        "_busy",
        "_encoded",
        "_rpc",
        "_turns",
        "closed",
        "failed",
        "holder",
        "loop",
    )

    def __init__(self, rpc: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> None:
        self.loop = asyncio.get_running_loop()
        self.closed = False
        self.failed = False
        self.holder: object | None = None
        self._rpc = rpc
        self._encoded = getattr(rpc, "send_encoded", None)
        self._busy = False
        self._turns: deque[asyncio.Future[None]] = deque()

    def check(self) -> None:
        """Refuse a control call that may not be made here (workflow-api.md, 2.1)."""
        name = boundary.get()
        if name is not None:
            raise PlacementError("inside_callable", f"inside {name}")
        running = _get_running_loop()
        if running is not self.loop:
            found = "no event loop is" if running is None else "another event loop is"
            raise PlacementError("wrong_loop", f"{found} running here")
        if self.closed:
            raise PlacementError("context_closed")
        if self.failed:
            raise AcknowledgementError("activation_spoiled")

    def take(self) -> bool:
        """Take the line when it is free; who got it must call ``release``."""
        if self._busy or self.failed:
            return False
        self._busy = True
        return True

    async def turn(self) -> None:
        """Wait for the line; who returns from here must call ``release``.

        Turns are taken in the order of the calls.

        Raises:
            AcknowledgementError: An exchange has failed; nothing more is sent.
        """
        if self._busy:
            turn = self.loop.create_future()
            self._turns.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                # Cancelled after the turn was given: it goes to the next in line.
                if turn.done() and not turn.cancelled():
                    self.release()
                raise
        self._busy = True
        if self.failed:
            self.release()
            raise AcknowledgementError("activation_spoiled")

    def release(self) -> None:
        """Give the line to the next one who waits."""
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False

    async def send(
        self,
        holder: object,
        operation: str,
        data: bytes,
        payload: Callable[[], dict[str, Any]],
    ) -> Any:
        """Send a request and return the result of its reply, unchecked.

        Whatever keeps the reply from arriving spoils the activation: the host may or
        may not have stored the request.

        Args:
            holder: Who sends.
            operation: ``local_step.commit`` or ``workflow.fork``.
            data: The payload in the bytes of the wire.
            payload: Makes the payload as a dict, for an rpc that takes no bytes.
        """
        self.holder = holder
        try:
            if self._encoded is not None:
                return await self._encoded(operation, data)
            return await self._rpc(operation, payload())
        except BaseException as error:
            self.failed = True
            if isinstance(error, Exception):
                detail = f"{type(error).__name__}: {error}"[:200]
                raise AcknowledgementError("exchange_failed", detail) from error
            raise
        finally:
            self.holder = None

    def refused(self, reply: object, expected: str) -> AcknowledgementError:
        """Spoil the activation for a reply that is not the expected one."""
        self.failed = True
        detail = f"expected {expected}, got {describe(reply)}"
        return AcknowledgementError("not_acknowledged", detail)
