"""A parent for the real bootstrap: starts it, talks JSON lines, waits within bounds.

Nothing is read behind the test's back, so that a test can be a parent that stops
reading. Standard error goes to a file.
"""

import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from tests.support.places import BOOTSTRAP, PACKAGE, ROOT

COVERED = Path(__file__).with_name("covered_bootstrap.py")
PYTHON_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
# Bounds of every wait, in seconds; a slow machine stretches them.
PATIENCE = 20.0 * float(os.environ.get("LEDGENCE_TEST_PATIENCE", "1"))
COVERAGE = os.environ.get("LEDGENCE_COVERAGE", "") == "1"

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SCHEMA = "ledgence.workflow.activation.v1"


def event(data=None, number=1, **attributes):
    """The event of invocation ``number``."""
    return {
        "specversion": "1.0",
        "id": f"evt-{number}",
        "source": "urn:example:tests",
        "type": "example.run.v1",
        "datacontenttype": "application/json",
        "ldgtenantid": "tenant-a",
        "ldgnamespace": "default",
        "ldgrunid": "run-a",
        "ldgtaskid": f"task-{number}",
        "ldgattemptid": f"attempt-{number}",
        "ldgattemptno": 1,
        "data": data,
    } | attributes


def invocation(version, data=None, number=1, *, attributes=None, **members):
    """An invoke frame; members given as ... are left out."""
    frame = {
        "v": version,
        "type": "invoke",
        "event_id": f"evt-{number}",
        "attempt_id": f"attempt-{number}",
        "event": event(data, number, **(attributes or {})),
        "processing_context": None,
    } | members
    return {name: value for name, value in frame.items() if value is not ...}


def activation(data=None, number=1, *, records=(), **members):
    """An invoke frame of a root workflow's activation."""
    payload = {
        "v": 1,
        "workflow_id": "wf-1",
        "activation_id": f"task-{number}",
        "revision": 0,
        "continuation": "start",
        "state": None,
        "inputs": {},
        "local_steps": list(records),
    }
    identities = {"ldgworkflowid": "wf-1", "ldgactivationid": f"task-{number}"}
    return invocation(
        3,
        data,
        number,
        attributes=identities,
        extension={"schema": SCHEMA, "payload": payload},
        **members,
    )


def line(frame):
    """One frame as the parent writes it."""
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"


def write_program(folder, files):
    """Lay an artifact out: names and dedented texts."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


class Ended(AssertionError):
    """The output ended where a frame was expected."""


class Runner:
    """One bootstrap process and the parent's ends of its pipes."""

    def __init__(
        self,
        artifact,
        protocol=1,
        handler="program:handle",
        *,
        scratch,
        options=(),
        flags=("-I", "-S", "-B"),
        covered=True,
        python=sys.executable,
        env=None,
    ):
        self.protocol = protocol
        self.logs = []
        self._rest = b""
        self._errors = scratch / "stderr"
        work = scratch / "work"
        work.mkdir(parents=True)
        script = [str(BOOTSTRAP)]
        if covered and COVERAGE:
            site = Path(importlib.util.find_spec("coverage").origin).parents[1]
            own = PACKAGE / "worker" / "bootstrap.py"  # by the name it is measured by
            script = [str(COVERED), str(ROOT), str(site), str(own)]
        arguments = ["--package-root", str(artifact), "--handler", handler]
        arguments += ["--python-version", PYTHON_VERSION]
        if protocol != 1:
            arguments += ["--protocol-version", str(protocol)]
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [python, *flags, *script, *arguments, *options],
                cwd=work,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                bufsize=0,
                env=env,
            )

    # -- talking

    def send(self, *frames):
        """Write frames, or bytes as they are, in one piece."""
        data = b"".join(f if isinstance(f, bytes) else line(f) for f in frames)
        view = memoryview(data)
        while view:
            view = view[os.write(self.process.stdin.fileno(), view) :]

    def read_line(self, patience=PATIENCE):
        """The next line of the output; empty at its end."""
        output = self.process.stdout.fileno()
        deadline = time.monotonic() + patience
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([output], [], [], left)[0]:
                raise AssertionError(f"no line within {patience} s: {self.errors()}")
            chunk = os.read(output, 1 << 20)
            if not chunk:
                assert b"".join(parts) == b"", "the output ended inside a frame"
                return b""
            parts.append(chunk)
        data = b"".join(parts)
        end = data.index(b"\n") + 1
        self._rest = data[end:]
        return data[:end]

    def read(self):
        """The next frame of any type."""
        text = self.read_line()
        if not text:
            raise Ended(f"the output ended; stderr: {self.errors()}")
        return json.loads(text)

    def control(self):
        """The next frame that is no log; logs are kept aside."""
        while True:
            frame = self.read()
            if frame["type"] != "log":
                return frame
            self.logs.append(frame)

    def ready(self):
        frame = self.control()
        assert frame == {
            "v": self.protocol,
            "type": "ready",
            "pid": self.process.pid,
            "python_version": PYTHON_VERSION,
        }
        return self

    def invoke(self, data=None, number=1, **members):
        """Send an invocation and return its result."""
        self.send(invocation(self.protocol, data, number, **members))
        return self.control()

    def output(self, data=None, number=1, **members):
        """Send an invocation and return the output of its success."""
        result = self.invoke(data, number, **members)
        assert result["status"] == "success", (result, self.errors())
        assert result["event_id"] == f"evt-{number}"
        return result["output"]

    def reply(self, request, result, **changes):
        """Answer a runtime request."""
        names = ("event_id", "attempt_id", "id")
        frame = {"v": 3, "type": "runtime_reply"} | {n: request[n] for n in names}
        self.send(frame | {"result": result} | changes)

    def await_logs(self, count):
        """Read until so many log frames have come altogether."""
        while len(self.logs) < count:
            frame = self.read()
            assert frame["type"] == "log", frame
            self.logs.append(frame)
        return self.logs

    # -- ending

    def close_input(self):
        self.process.stdin.close()

    def wait(self, patience=PATIENCE):
        """The exit status."""
        return self.process.wait(patience)

    def finish(self):
        """End the input; the rest of the frames and the exit status."""
        self.close_input()
        frames = []
        while text := self.read_line():
            frames.append(json.loads(text))
        return [f for f in frames if f["type"] != "log"], self.wait()

    def shut_down(self):
        """The parent's way: shutdown, closing, end of input, status 0."""
        self.send({"v": self.protocol, "type": "shutdown"})
        assert self.control() == {"v": self.protocol, "type": "closing"}
        assert self.finish() == ([], 0)

    def errors(self):
        """What the process has written on standard error so far."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    def kill(self):
        if COVERAGE:
            self._leave_in_peace()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()

    def _leave_in_peace(self):
        """Let a process that only waits for more frames save what it has run."""
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(3)


def await_true(condition, patience=PATIENCE):
    """Poll a condition that another process makes true, within bounds."""
    deadline = time.monotonic() + patience
    pause = select.poll()
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        pause.poll(5)
