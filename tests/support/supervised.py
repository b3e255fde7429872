"""What tests of a supervised process share."""

import os
import sys
import time
from pathlib import Path

from ledgence.local._conversation import Invocation

HERE = "{}.{}".format(*sys.version_info[:2])
# Long enough for a busy machine, never waited for where a test succeeds.
PATIENCE = 60
EXTENSION = {"schema": "ledgence.workflow.activation.v1", "payload": {}}


class Heard:
    """A listener that remembers."""

    def __init__(self):
        self.raw = b""
        self.logs = []
        self.frames = []

    def stderr(self, data):
        self.raw += data

    def log(self, log):
        self.logs.append(log)

    def frame(self, direction, line):
        self.frames.append((direction, line))


def soon(seconds=PATIENCE):
    return time.monotonic() + seconds


def invocation(data=None, *, activation=False):
    event = {"id": "evt", "ldgattemptid": "att", "data": data}
    return Invocation(event, EXTENSION if activation else None)


def group_is_gone(pid):
    deadline = soon(10)
    while time.monotonic() < deadline:
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return True
        # Killed grandchildren vanish as soon as init has reaped them.
        if all(state == "Z" for state in states_of_group(pid)):
            return True
        os.sched_yield()
    return False


def states_of_group(pid):
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == pid:
            yield fields[0]


SERVE = "ready(); serve()"
