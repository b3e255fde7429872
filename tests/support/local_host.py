"""Programs and listeners for tests of the local host."""

import textwrap
import threading

from ledgence.local import HostListener
from tests.support.runner import PATIENCE


class Heard(HostListener):
    """A listener that remembers, and prints nothing."""

    def __init__(self):
        self.outputs = []
        self.logs = []
        self.frames = []
        self.notes = []
        self._condition = threading.Condition()

    def output(self, origin, text):
        with self._condition:
            self.outputs.append((origin, text))
            self._condition.notify_all()

    def await_output(self, text, count=1):
        """Wait until a program has printed a line so many times."""

        def seen():
            return sum(line == text for _, line in self.outputs) >= count

        with self._condition:
            assert self._condition.wait_for(seen, PATIENCE), self.outputs

    def log(self, origin, log):
        self.logs.append((origin, log))

    def frame(self, origin, direction, line):
        self.frames.append((origin, direction, line))

    def note(self, text):
        self.notes.append(text)


def write(directory, name, text):
    """Write a program and return its target."""
    path = directory / name / "program.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return f"{path}:handle"


def advance_past(host, ms):
    """As ``advance``, but without waiting for a program that is known to hang."""
    host._core.opened.pump.advance(ms, settle=lambda: False, bound=PATIENCE)


def attempts_of(host, task_id):
    """Return all attempts of a task as inspection shows them, with their events."""
    look = host._core.opened.look
    request = {"scope": host._core.scope.to_json(), "task_id": task_id}
    return [
        look.attempt({**request, "attempt_id": one["attempt_id"]})
        for one in look.task_attempts(request)
    ]
