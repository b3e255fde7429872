"""The runtime of durable Ledgence programs: what a program may import.

Works in a runner of any protocol, and outside of one, where nothing is active.
"""

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger
    from typing import TypeVar

    from ledgence.worker._invocation import InvocationContext, TraceContext

    _Callback = TypeVar("_Callback", bound=Callable[[], object])

__all__ = [
    "InvocationContext",
    "TraceContext",
    "current_invocation",
    "get_logger",
    "register_shutdown",
]


def current_invocation() -> "InvocationContext":
    """The invocation that the calling code belongs to (runner-protocol.md, 7.2).

    It is that of the current ``contextvars`` context: a thread that runs in a copied
    context sees the copied one, a plain thread none.

    Raises:
        RuntimeError: No invocation is active, as while the program is imported, in
            shutdown callbacks and in new threads.
    """
    from ledgence.worker._invocation import current  # noqa: PLC0415 - start-up budget

    return current().context


def get_logger(name: str) -> "Logger":
    """A standard logger whose records reach the worker (runner-protocol.md, 13).

    Returns ``logging.getLogger(name)`` with one Ledgence handler, however often this
    is called. An unset level becomes INFO; explicit levels, propagation and other
    handlers stay as they are. Put attributes of a record into
    ``extra={"attributes": {...}}``: JSON values, of which 64 nodes, 4 levels, 32 items
    per container and 4096 characters are kept; a message has at most 4096.

    Records are sent in protocols 2 and 3; in protocol 1 and outside a runner they go
    nowhere. Logging never blocks and never fails: records that the worker does not
    take in time are dropped.

    Args:
        name: As for ``logging.getLogger``; empty for the root logger, whose level
            stays WARNING.
    """
    from ledgence.worker import _silent  # noqa: PLC0415 - start-up budget

    if _silent.is_needed():
        return _silent.SilentLogger(name)  # type: ignore[return-value] # as good as one
    from ledgence.worker import _logs  # noqa: PLC0415 - start-up budget

    return _logs.get_logger(name)


def register_shutdown(callback: "_Callback") -> "_Callback":
    """Run a function when the worker shuts this process down (runner-protocol.md, 15).

    Callbacks run in the order of their registration, each once, outside any
    invocation; one that raises is reported and the others still run. The worker waits
    2 seconds for all of them by default. Protocol 1 runs none.

    Args:
        callback: Takes no argument. One that equals a registered one is not added.

    Returns:
        The callback, so that this serves as a decorator.

    Raises:
        TypeError: It is not callable.
    """
    from ledgence.worker import _process  # noqa: PLC0415 - start-up budget

    if not callable(callback):
        raise TypeError(
            f"a shutdown callback must be callable, not {type(callback).__name__}"
        )
    if callback not in _process.shutdown_callbacks:
        _process.shutdown_callbacks.append(callback)
    return callback


if not TYPE_CHECKING:  # or it would hide the modules of this package

    def __getattr__(name: str) -> object:
        if name in {"InvocationContext", "TraceContext"}:
            from ledgence.worker import _invocation  # noqa: PLC0415 - start-up budget

            value = getattr(_invocation, name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
