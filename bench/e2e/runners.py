"""The parent side: a started runner process and its exchanges."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from bench.e2e.workloads import FRAME_LIMIT, SMALLEST_LIMIT

CHUNK = 65536
TIMEOUT = 60
HERE = Path(__file__).resolve().parent
clock = time.perf_counter_ns


class BrokenRunnerError(Exception):
    """The runner did something other than the protocol and the program ask for."""


FAULTS = (BrokenRunnerError, OSError, ValueError, StopIteration)


def watch(active):
    """Interrupt a read from a runner that does not answer."""
    if hasattr(signal, "SIGALRM"):

        def expired(number, frame):
            raise BrokenRunnerError("no answer within %d seconds" % TIMEOUT)

        signal.signal(signal.SIGALRM, expired)
        signal.alarm(TIMEOUT if active else 0)


class Side:
    """One implementation and the interpreter that runs it."""

    def __init__(self, label, bootstrap, python, pure):
        """Ask the interpreter for its version; ``pure`` forces the pure twin."""
        self.label, self.python, self.pure = label, python, pure
        probe = (
            "import sys\nprint('%d.%d' % sys.version_info[:2])\n"
            "print(sys.version.split()[0])\n"
            "try:\n import orjson, os\n"
            " print(os.path.dirname(os.path.dirname(orjson.__file__)))\n"
            "except ImportError: print('')\n"
        )
        answer = subprocess.run(
            [python, "-P", "-c", probe], capture_output=True, text=True, check=True
        )
        self.version, self.full_version, self.modules = answer.stdout.split("\n")[:3]
        self.is_floor = bootstrap == "floor"
        if self.is_floor:
            self.bootstrap = str(HERE / "floor.py")
            self.title = f"floor ({'orjson' if self.modules else 'standard json'})"
        else:
            self.bootstrap = str(Path(bootstrap).resolve(strict=True))
            folder = Path(self.bootstrap).parent
            tag = "cpython-" + self.version.replace(".", "")
            compiled = any(folder.glob(f"__pycache__/*.{tag}.pyc"))
            native = any(folder.glob(f"*.{tag}-*.so")) and not pure
            self.title = (
                f"{bootstrap} (compiled bytecode: {'yes' if compiled else 'no'}; "
                f"native module: {'yes' if native else 'no'})"
            )

    def environment(self):
        """Return the environment of this side's runner processes."""
        return dict(os.environ, LEDGENCE_PURE_PYTHON="1" if self.pure else "")


class Runner:
    """A started runner process; the pipe ends are plain file descriptors."""

    def __init__(self, side, workload, root, scratch):
        write_program(root, workload, side)
        command = [
            side.python,
            "-I",
            "-S",
            "-B",
            side.bootstrap,
            "--package-root",
            root,
            "--handler",
            "program:handle",
            "--python-version",
            side.version,
            "--protocol-version",
            str(workload.protocol),
            "--max-input-bytes",
            str(FRAME_LIMIT),
            "--max-output-bytes",
            str(workload.output_limit),
        ]
        self.stderr = tempfile.TemporaryFile(dir=scratch)
        sink = subprocess.DEVNULL if workload.failure else self.stderr
        self.started = clock()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            cwd=root,
            bufsize=0,
            env=side.environment(),
        )
        self.input, self.output = (
            self.process.stdin.fileno(),
            self.process.stdout.fileno(),
        )
        self.workload = workload
        self.logs_seen = self.logs_due = 0

    def wait_ready(self):
        line = self.receive()
        self.ready_ns = clock() - self.started
        frame = json.loads(line)
        if frame.get("type") != "ready" or frame.get("v") != self.workload.protocol:
            raise BrokenRunnerError("unexpected first frame %r" % line[:200])
        return self

    def send(self, data):
        done = os.write(self.input, data)
        while done < len(data):
            done += os.write(self.input, memoryview(data)[done:])

    def receive(self):
        """Read until a newline ends the data: one or more whole frames."""
        data = os.read(self.output, CHUNK)
        if data[-1:] == b"\n":
            self.arrived = clock()
            return data
        parts = [data]
        while data and data[-1] != 10:
            data = os.read(self.output, CHUNK)
            parts.append(data)
        self.arrived = clock()
        if not data:
            raise BrokenRunnerError(
                "the runner closed its output; stderr ends: " + self.complaint()
            )
        return b"".join(parts)

    def complaint(self):
        self.stderr.seek(0)
        return self.stderr.read()[-400:].decode("utf-8", "replace")

    def exchange(self, frame, replies):
        """Exchange one invocation; return its nanoseconds and the last lines."""
        begin = clock()
        self.send(frame)
        answered = 0
        while True:
            data = self.receive()
            if data.find(b'"type":"result"', 0, 400) >= 0 or b'"type":"result"' in data:
                break
            if b'"type":"runtime_request"' in data and answered < len(replies):
                wanted = b'"id":%d' % (answered + 1)
                if wanted + b"," not in data and wanted + b"}" not in data:
                    raise BrokenRunnerError("unexpected request %r" % data[:300])
                self.send(replies[answered])
                answered += 1
            elif b'"type":"log"' in data:
                self.logs_seen += data.count(b'"type":"log"')
            else:
                raise BrokenRunnerError("unexpected frame %r" % data[:300])
        taken = self.arrived - begin
        if self.workload.logs:
            self.logs_due += self.workload.logs
            self.logs_seen += data.count(b'"type":"log"')
        if answered != len(replies):
            raise BrokenRunnerError(
                "%d of %d requests were made" % (answered, len(replies))
            )
        return taken, data

    def collect_logs(self):
        """Log frames may follow their result; wait briefly for the last ones."""
        while (
            self.logs_seen < self.logs_due
            and select.select([self.output], [], [], 0.2)[0]
        ):
            self.logs_seen += self.receive().count(b'"type":"log"')

    def check(self, line, expected):
        """Compare a result with what the program must have produced."""
        lines = [json.loads(part) for part in line.split(b"\n") if part]
        frame = next(part for part in lines if part.get("type") == "result")
        if self.workload.failure:
            size = (
                len(
                    next(
                        part for part in line.split(b"\n") if b'"type":"result"' in part
                    )
                )
                + 1
            )
            message = frame.get("error", {}).get("message", "")
            if (
                frame.get("status") != "error"
                or not message.startswith('line "%d" could')
                or not SMALLEST_LIMIT - 12 <= size <= SMALLEST_LIMIT
            ):
                raise BrokenRunnerError(
                    "wrong failure frame of %d bytes: %r" % (size, line[:300])
                )
        elif frame.get("status") != "success" or json.dumps(
            frame.get("output"), sort_keys=True
        ) != json.dumps(expected, sort_keys=True):
            raise BrokenRunnerError(
                "wrong result: %r; stderr ends: %s" % (line[:300], self.complaint())
            )

    def cpu_ns(self):
        """Processor time of the whole process, or None where it cannot be read."""
        try:
            return time.clock_gettime_ns((~self.process.pid << 3) | 2)
        except (AttributeError, OSError):
            return None

    def peak_kib(self):
        try:
            with open("/proc/%d/status" % self.process.pid) as stream:
                for line in stream:
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1])
        except OSError:
            pass
        return None

    def close(self, graceful=True):
        try:
            watch(True)
            if graceful and self.process.poll() is None:
                self.send(b'{"v":%d,"type":"shutdown"}\n' % self.workload.protocol)
                while b'"type":"closing"' not in self.receive():
                    pass
        except (OSError, BrokenRunnerError):
            pass
        finally:
            watch(False)
            self.process.stdin.close()
            try:
                if not graceful:
                    self.process.kill()
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.stderr.close()


def write_program(root, workload, side):
    """Lay the artifact of a workload: its program, and what the floor imitates."""
    program = (HERE / "programs" / f"{workload.program}.py").read_text("utf-8")
    floor = f"{workload.floor}\n{'' if workload.cold else side.modules}\n"
    for name, text in (("program.py", program), ("floor.txt", floor)):
        path = Path(root, name)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
