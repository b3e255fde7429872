"""One invocation in protocol 3: in an event loop, maybe as a workflow activation."""

from ledgence.worker._runner import frames, lifecycle, tracebacks
from ledgence.worker._runner.exchange import Exchange
from ledgence.worker._runner.invoke import Invoker, describe, needs_await
from ledgence.worker._runner.loops import Waker

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ledgence.worker._observations import Observation
    from ledgence.worker._runner.channel import Channel, LineReader
    from ledgence.worker._runner.writer import PlainWriter, SharedWriter


class LoopInvoker(Invoker):
    """Runs a handler in a fresh event loop for each call."""

    def __init__(
        self,
        handler: "Callable[[Any], Any]",
        channel: "Channel",
        limit: int,
        writer: "PlainWriter | SharedWriter",
        lines: "LineReader",
    ) -> None:
        super().__init__(handler, channel, limit)
        self._writer = writer
        self._lines = lines
        self._waker = Waker(channel)
        self._exchange: Exchange | None = None  # of the activation that runs
        channel.when_forked.append(self._leave_child)

    def _leave_child(self) -> None:
        if self._exchange is not None:
            self._exchange.leave_child()

    def answer(self, call: frames.Call, observation: "Observation | None") -> bytes:
        """Run the loop, then turn what came of it into a frame."""
        if call.extension is not None:
            return self._activate(call, observation)
        main = self._handle(call)
        output, error = lifecycle.run(main, self.channel, self._waker)
        if error is not None:
            return self.business_error(call, error)
        return self.returned(call, output)

    async def _handle(self, call: frames.Call) -> "tuple[object, Exception | None]":
        """An ordinary task: the value that came of it, or the exception."""
        try:
            output = self.handler(call.event)
            if needs_await(output):
                output = await output
        except Exception as error:  # noqa: BLE001 - it becomes a result
            self.channel.stop_child()
            return None, error
        self.channel.stop_child()
        return output, None

    def _activate(self, call: frames.Call, observation: "Observation | None") -> bytes:
        exchange = self._exchange = Exchange(
            frames.Requests(call, self.limit), self.channel, self._writer, self._lines
        )
        main = self._decide(call, exchange, observation)
        decision, error = lifecycle.run(main, self.channel, self._waker)
        self._exchange = None
        if error is None:
            try:
                return frames.decided(call, decision, self.limit)
            except frames.ExchangeError as too_large:
                error = too_large
        tracebacks.report(error)
        return frames.failure(call, "workflow_error", describe(error), self.limit)

    async def _decide(
        self, call: frames.Call, exchange: Exchange, observation: "Observation | None"
    ) -> "tuple[bytes, Exception | None]":
        """A workflow activation: the bytes of its decision, or the exception."""
        decision, failure = b"", None
        try:
            from ledgence.worker.workflow._run import (  # noqa: PLC0415 - when needed
                run_activation,
            )

            decision = await run_activation(
                self.handler,
                call.event,
                call.extension,
                exchange,
                None if observation is None else observation.steps,
            )
        except Exception as error:  # noqa: BLE001 - it becomes a result
            failure = error
        self.channel.stop_child()
        await exchange.drain()
        return decision, failure or exchange.failure
