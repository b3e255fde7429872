"""The OpenTelemetry bridge (runner-protocol.md, 14): one function, off by default.

It uses the API that the program ships; it installs no provider and makes no span.
"""

from ledgence.worker import _process

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from typing import Any

__all__ = ["enable_context"]


def enable_context() -> None:
    """Run each invocation in the trace context that its worker passed on.

    From then on each invocation begins with a new OpenTelemetry context: with the
    remote span of its processing context as current span, or with none. Log records
    carry the ids of the current span, inside and outside of invocations. Enabling it
    again changes nothing.

    Raises:
        ImportError: The program ships no ``opentelemetry-api``; the bridge stays off.
    """
    if _process.bridge is None:
        _process.bridge = Bridge()


class Bridge:
    """The API of OpenTelemetry as far as the runner needs it."""

    def __init__(self) -> None:
        from opentelemetry import context, trace  # noqa: PLC0415 - the program's
        from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415 # optional

        self._context = context
        self._trace = trace
        self._propagator = tracecontext.TraceContextTextMapPropagator()

    def attach(self, carrier: "dict[str, Any] | None") -> object:
        """Make a carrier's context, or an empty one, the current one."""
        context = self._context.Context()
        if carrier is not None:
            fields = {name: text for name, text in carrier.items() if text is not None}
            context = self._propagator.extract(fields, context=context)
        return self._context.attach(context)

    def detach(self, token: "Any") -> None:
        """Undo an ``attach``."""
        self._context.detach(token)

    def span_ids(self) -> tuple[str, str] | None:
        """Trace id and span id of the current span, if it is a valid one."""
        span = self._trace.get_current_span().get_span_context()
        if not span.is_valid:
            return None
        return f"{span.trace_id:032x}", f"{span.span_id:016x}"
