"""``get_logger`` and its handler (runner-protocol.md, 13.1).

How a record becomes a frame is in ``_log_records``, which is loaded for the first
record that goes anywhere.
"""

import logging

from ledgence.worker import _process

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["LedgenceHandler", "get_logger"]

_MARK = "_ledgence_emitted"  # in a record that one of our handlers has taken


def get_logger(name: str) -> logging.Logger:
    """See ``ledgence.worker.get_logger``."""
    logger = logging.getLogger(name)
    if not any(isinstance(handler, LedgenceHandler) for handler in logger.handlers):
        logger.addHandler(LedgenceHandler())
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    return logger


# What makes a frame of a record, once it is loaded.
_build: "Callable[[logging.LogRecord, int, int], bytes | None] | None" = None


def _load() -> "Callable[[logging.LogRecord, int, int], bytes | None]":
    global _build  # noqa: PLW0603 - an import statement for each record is slow
    from ledgence.worker._log_records import build  # noqa: PLC0415 - see above

    _build = build
    return build


class LedgenceHandler(logging.Handler):
    """Hands each record to the process's sink once; without a sink it does nothing."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Filter and emit; the handler's lock is not needed, the sink has its own."""
        passed: Any = self.filter(record)
        if isinstance(passed, logging.LogRecord):
            record = passed  # a filter may replace it from Python 3.12 on
        if passed:
            self.emit(record)
        return bool(passed)

    def emit(self, record: logging.LogRecord) -> None:
        """Emit, or drop, a record that none of our handlers has taken before."""
        sink = _process.sink
        if sink is None or _MARK in record.__dict__:
            return
        record.__dict__[_MARK] = True
        try:
            frame = (_build or _load())(record, sink.protocol, sink.limit)
        except Exception:  # noqa: BLE001 - a record never fails its program
            frame = None
        if frame is None:
            sink.drop()
        else:
            sink.emit(frame)
