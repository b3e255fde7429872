"""A logger for a program whose own modules stand in the way of ``logging``.

In protocol 1 the names of ``logging`` and of what it imports are free. Records go
nowhere there, so a program with its own ``logging`` or ``string`` gets a logger that
needs neither.
"""

from ledgence.worker import _stdlib


def is_needed() -> bool:
    """Whether the standard ``logging`` cannot be had under its name."""
    if _stdlib.is_shadowed("logging"):
        return True
    if _stdlib.is_free("logging"):
        try:
            __import__("logging")
        except Exception:  # noqa: BLE001 - whatever a module of the program raises
            return True
    return False


class SilentLogger:
    """Takes every call of a standard logger and does nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._ignore

    def _ignore(self, *_args: object, **_options: object) -> None:
        return None
