"""Signals, closed pipes and terminals: how the command stops and what it leaves."""

import json
import os
import pty
import select
import signal
import subprocess
import threading
import time

import pytest

from tests.support.local_cli import PATIENCE, environment, start_cli, write_program

SLEEPER = """
import os, sys, time
def handle(event):
    if event["data"] == "sleep":
        print("sleeping", os.getpid(), flush=True)
        time.sleep(600)
    return event["data"]
"""


@pytest.fixture
def sleeper(tmp_path):
    target = f"{write_program(tmp_path, SLEEPER)}:handle"

    def events(*values):
        path = tmp_path / "events.jsonl"
        path.write_text("".join(json.dumps(value) + "\n" for value in values))
        return [target, "--events", str(path)]

    events.target = target
    return events


@pytest.fixture
def started():
    """Starts commands and makes sure that none stays."""
    made = []

    def start(*args, **options):
        process = start_cli(*args, **options)
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.daemon = True
        watchdog.start()
        made.append((process, watchdog))
        return process

    yield start
    for process, watchdog in made:
        watchdog.cancel()
        process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def read_until(stream, text):
    """Read lines until one holds ``text``; all of them are returned."""
    lines = []
    for line in stream:
        lines.append(line.decode())
        if text in lines[-1]:
            return lines
    raise AssertionError(f"{text!r} never came: {lines}")


def finish(process):
    """Return what is left of both streams; Popen.communicate would lose a part."""
    rest = process.stdout.read(), process.stderr.read()
    process.wait(PATIENCE)
    return rest


def pid_in(line):
    return int(line.rsplit(maxsplit=1)[1])


def is_gone(pid):
    """Whether a process that was not ours has ended, waiting for it a while."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - as short as can be
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        os.sched_yield()
    return False


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, id="terminated"),
        pytest.param(signal.SIGHUP, 129, id="hung-up"),
    ],
)
def test_a_signal_ends_the_program_and_reports_what_was_done(
    started, sleeper, number, code
):
    process = started("run", *sleeper(1, 2, "sleep", 4))
    said = read_until(process.stderr, "sleeping")
    process.send_signal(number)
    out, err = finish(process)
    results = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == code
    assert [one["status"] for one in results] == ["success", "success", "interrupted"]
    assert "3 runs: 2 succeeded, 1 did not; stopped before the end" in err.decode()
    assert "Traceback" not in err.decode()
    assert is_gone(pid_in(said[-1]))


def test_ctrl_c_during_a_single_run_is_130(started, sleeper):
    process = started("run", sleeper.target, "--data", '"sleep"')
    said = read_until(process.stderr, "sleeping")
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == 130
    assert is_gone(pid_in(said[-1]))


def test_ctrl_c_twice_is_no_worse_than_once(started, sleeper):
    process = started("run", sleeper.target, "--data", '"sleep"')
    said = read_until(process.stderr, "sleeping")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert is_gone(pid_in(said[-1]))


def test_ctrl_c_while_waiting_for_events_stops_the_idle_process(started, sleeper):
    process = started("run", sleeper.target, "--events", "-", "-v")
    process.stdin.write(b"1\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["status"] == "success"
    ready = read_until(process.stderr, '"ready"')[-1]
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130
    assert b"1 runs: 1 succeeded" in err
    assert is_gone(json.loads(ready.partition("< ")[2])["pid"])


def test_ctrl_c_while_nobody_reads_the_results_stops_too(started, tmp_path):
    source = "def handle(event):\n    return 'x' * 1_000_000\n"
    target = f"{write_program(tmp_path, source)}:handle"
    process = started("run", target)
    # The first bytes are there, so the rest of the line is being written.
    assert select.select([process.stdout], [], [], PATIENCE)[0]
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130


def test_events_are_run_as_they_come_in(started, sleeper):
    process = started("run", sleeper.target, "--events", "-")
    for number in range(3):
        process.stdin.write(b"%d\n" % number)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["output"] == number
    process.stdin.close()
    assert process.wait(PATIENCE) == 0


def test_what_an_idle_program_says_is_heard_while_waiting_for_events(started, tmp_path):
    source = """
    import os, threading
    go = threading.Event()
    def talk():
        go.wait()
        os.write(2, b"x" * 200_000 + b"\\n")
        os.write(2, b"still here\\n")
    threading.Thread(target=talk, daemon=True).start()
    def handle(event):
        go.set()
        return 1
    """
    target = f"{write_program(tmp_path, source)}:handle"
    process = started("run", target, "--events", "-", stderr=subprocess.STDOUT)
    process.stdin.write(b"1\n")
    process.stdin.flush()
    read_until(process.stdout, '"run":1')
    # The pipe of the program is smaller than what it says: somebody must read it.
    process.stdin.write(b"2\n")
    process.stdin.close()
    rest = process.stdout.read().decode()
    assert process.wait(PATIENCE) == 0
    assert '"run":2' in rest


def test_a_reader_that_leaves_ends_the_command_quietly(started, sleeper):
    process = started("run", *sleeper(*range(2000)))
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(PATIENCE) == 141
    assert err == ""


def test_results_go_on_when_nobody_reads_the_logs(started, tmp_path):
    source = "def handle(event):\n    print('x' * 5000)\n    return event['data']\n"
    target = f"{write_program(tmp_path, source)}:handle"
    process = started("run", target, "--events", "-")
    process.stderr.close()
    process.stdin.write(b"1\n2\n3\n")
    process.stdin.close()
    out = process.stdout.read()
    assert process.wait(PATIENCE) == 0
    assert [json.loads(line)["output"] for line in out.splitlines()] == [1, 2, 3]


def test_closed_standard_input_is_an_input_that_cannot_be_read(tmp_path):
    target = f"{write_program(tmp_path, SLEEPER)}:handle"
    command = 'exec "$@" <&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command, "sh", *start_arguments(target)],
        capture_output=True,
        check=False,
        env=environment(),
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert b"is closed" in done.stderr
    assert b"Traceback" not in done.stderr


def start_arguments(target):
    from tests.support.local_cli import argv

    return argv("run", target, "--events", "-")


# Terminals.


def on_terminal(args, *, stdout_too):
    """Run a command whose stderr (and stdout) is a terminal; return what it showed."""
    leader, follower = pty.openpty()
    process = start_cli(
        *args,
        env=environment(TERM="xterm", COLUMNS="80"),
        stderr=follower,
        stdin=subprocess.DEVNULL,
        stdout=follower if stdout_too else subprocess.PIPE,
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 1)[0]:
            continue
        try:
            data = os.read(leader, 65536)
        except OSError:  # Linux: the last follower was closed
            break
        if not data:
            break
        shown += data
    os.close(leader)
    out = b"" if stdout_too else process.stdout.read()
    if not stdout_too:
        process.stdout.close()
    return process.wait(PATIENCE), out.decode(), shown.decode()


SLOW = """
import time
def handle(event):
    time.sleep(0.3)
    print("said", event["data"])
    return event["data"]
"""


@pytest.fixture
def slow(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("1\n2\n3\n4\n")
    return ["run", f"{write_program(tmp_path, SLOW)}:handle", "--events", str(path)]


def test_a_terminal_shows_progress_and_results_stay_clean(slow):
    code, out, shown = on_terminal(slow, stdout_too=False)
    assert code == 0
    assert [json.loads(line)["output"] for line in out.splitlines()] == [1, 2, 3, 4]
    assert "3 runs, 0 failed" in shown
    assert "[run 4] said 4" in shown


def test_results_and_progress_share_a_terminal(slow):
    code, _, shown = on_terminal(slow, stdout_too=True)
    assert code == 0
    for number in range(1, 5):
        line = (
            f'{{"run":{number},"line":{number},"status":"success","output":{number}}}'
        )
        assert shown.count(line) == 1
    assert "3 runs, 0 failed" in shown


def test_a_single_event_shows_no_progress(tmp_path):
    target = f"{write_program(tmp_path, SLOW)}:handle"
    _, _, shown = on_terminal(["run", target, "--data", "1"], stdout_too=False)
    assert shown.splitlines() == ["[run 1] said 1"]
