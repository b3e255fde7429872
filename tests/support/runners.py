"""Stand-ins for the runner: scripts that behave well, or badly on purpose."""

import textwrap

# What every stand-in can use. The script is started with the runner's command line.
PRELUDE = """\
import json, os, signal, sys, time
VERSION = "%d.%d" % sys.version_info[:2]
V = int(sys.argv[sys.argv.index("--protocol-version") + 1]) \\
    if "--protocol-version" in sys.argv else 1
def raw(data):
    data = data if isinstance(data, bytes) else data.encode()
    while data:
        data = data[os.write(1, data):]
def send(**frame):
    raw(json.dumps(frame) + "\\n")
def ready(**changes):
    base = {"v": V, "type": "ready", "pid": os.getpid(), "python_version": VERSION}
    send(**{**base, **changes})
def receive():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None
def result(frame, **changes):
    base = {"v": V, "type": "result", "event_id": frame["event_id"],
            "attempt_id": frame["attempt_id"]}
    if "error" not in changes:
        base |= {"status": "success", "output": frame["event"]["data"]}
    send(**{**base, **changes})
def request(frame, number=1, **changes):
    base = {"v": V, "type": "runtime_request", "event_id": frame["event_id"],
            "attempt_id": frame["attempt_id"], "id": number,
            "operation": "local_step.commit",
            "payload": {"key": "k", "callable": "m:f", "input": {}, "output": 1}}
    send(**{**base, **changes})
def log(message, **changes):
    base = {"v": V, "type": "log", "time": "2026-11-29T16:01:07Z", "severity": "INFO",
            "logger": "fake", "message": message, "attributes": {}}
    send(**{**base, **changes})
def say(text):
    os.write(2, text.encode())
def forever():
    while True:
        time.sleep(60)
def serve():
    while (frame := receive()) is not None:
        if frame["type"] == "shutdown":
            send(v=V, type="closing")
        else:
            result(frame)
"""


def write_runner(directory, body):
    """Write a stand-in for ``bootstrap.py`` and return its path."""
    path = directory / "fake_bootstrap.py"
    path.write_text(PRELUDE + textwrap.dedent(body), encoding="utf-8")
    return path
