"""Programs and listeners for tests of the local host."""

import textwrap

from ledgence.local import HostListener


class Heard(HostListener):
    """A listener that remembers, and prints nothing."""

    def __init__(self):
        self.outputs = []
        self.logs = []
        self.frames = []
        self.notes = []

    def output(self, origin, text):
        self.outputs.append((origin, text))

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
