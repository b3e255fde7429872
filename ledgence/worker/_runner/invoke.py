"""One invocation: its context, the call, and what becomes of the outcome.

Protocols 1 and 2 call the handler where they stand. Protocol 3, in ``looped``, gives
it an event loop; the way to a frame is the same.
"""

from _collections_abc import Awaitable, Coroutine
from _contextvars import Context

from ledgence.worker import _invocation, _process
from ledgence.worker._runner import frames, tracebacks

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ledgence.worker._observations import Observation
    from ledgence.worker._runner.channel import Channel

UNDESCRIBED = "the error could not be described: its own text failed"
_PLAIN: frozenset[type] = frozenset(
    (dict, list, str, int, float, bool, tuple, type(None))
)
_CO_ITERABLE_COROUTINE = 0x100  # of a generator's code: made by types.coroutine


class Invoker:
    """Runs a handler for one call after the other."""

    def __init__(
        self, handler: "Callable[[Any], Any]", channel: "Channel", limit: int
    ) -> None:
        self.handler = handler
        self.channel = channel
        self.limit = limit  # bytes of a frame, its newline included

    def run(self, call: frames.Call) -> bytes:
        """The result frame of a call.

        Raises:
            ProtocolFault: The identities leave no room for a failure.
            BaseException: What is no ``Exception`` and escaped from the handler.
        """
        frames.check_room(call, self.limit)
        return Context().run(self._in_context, call)

    def _in_context(self, call: frames.Call) -> bytes:
        _invocation.enter(
            _invocation.Invocation(
                call.event_id, call.attempt_id, call.event, call.carrier
            )
        )
        observation = _observe() if call.observe else None
        bridge = _process.bridge
        if bridge is None:
            frame = self.answer(call, observation)
        else:
            token = bridge.attach(call.carrier)
            try:
                frame = self.answer(call, observation)
            finally:
                bridge.detach(token)
        if observation is None:
            return frame
        return frames.with_observations(frame, observation.encode(), self.limit)

    def answer(self, call: frames.Call, observation: "Observation | None") -> bytes:  # noqa: ARG002 - for activations
        """Call the handler and turn what comes of it into a frame."""
        try:
            output = self.handler(call.event)
        except Exception as error:  # noqa: BLE001 - it becomes a result
            return self.business_error(call, error)
        self.channel.stop_child()
        return self.returned(call, output)

    def returned(self, call: frames.Call, output: "Any") -> bytes:
        """The frame of a value that the handler returned."""
        if needs_await(output):
            error = TypeError(f"the output is an awaitable, {type(output).__name__}")
            if isinstance(output, Coroutine):
                output.close()  # or Python would warn that it was never awaited
            return self.invalid_output(call, error)
        try:
            return frames.success(call, output, self.limit)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            return self.invalid_output(call, error)
        except Exception as error:  # noqa: BLE001 - of the program's own subclasses
            return self.business_error(call, error)

    def invalid_output(self, call: frames.Call, error: Exception) -> bytes:
        """The frame of a value that no frame can carry."""
        return frames.failure(call, "invalid_output", describe(error), self.limit)

    def business_error(self, call: frames.Call, error: Exception) -> bytes:
        """The frame of an exception of the handler; its traceback is shown."""
        self.channel.stop_child()
        tracebacks.report(error)
        return frames.failure(call, "business_error", describe(error), self.limit)


def _observe() -> "Observation":
    from ledgence.worker._observations import Observation  # noqa: PLC0415 - if asked

    return Observation()


def needs_await(value: object) -> bool:
    """What ``inspect.isawaitable`` says, quickly for plain values."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, Awaitable):
        return True
    code = getattr(value, "gi_code", None)
    return code is not None and bool(code.co_flags & _CO_ITERABLE_COROUTINE)


def describe(error: BaseException) -> str:
    """``str(error)`` as an exact text, or a fixed one where that fails."""
    try:
        return str.__str__(str(error))
    except Exception:  # noqa: BLE001 - the program's own __str__
        return UNDESCRIBED
