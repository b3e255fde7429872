"""A logger for a program that brings its own module named ``logging`` (protocol 1).

There the standard module is not loaded on the helper's account, and records of protocol
1 go nowhere anyway.
"""


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
