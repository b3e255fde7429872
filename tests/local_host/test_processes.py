"""Which processes run programs, and what becomes of their output."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ledgence.local import LocalHost, RunFailed
from ledgence.local._engine import Engine
from tests.support.local_host import Heard, advance_past, attempts_of, write
from tests.support.runner import await_true

PROGRAM = """
import os
import signal
import subprocess
import sys
import time

from ledgence.worker import get_logger


def handle(event):
    data = event["data"] or {}
    match data.get("do"):
        case "print":
            print("on stdout", flush=True)
            print("no newline at the end", end="", file=sys.stderr, flush=True)
        case "flood":
            sys.stderr.write("x" * 200_000 + "\\n")
        case "log":
            get_logger("p").info("a line", extra={"attributes": {"n": 1}})
        case "raise":
            raise ValueError("my own")
        case "hang":
            child = subprocess.Popen(["sleep", "600"])
            print("child", child.pid, file=sys.stderr, flush=True)
            print("hangs", file=sys.stderr, flush=True)
            time.sleep(600)
        case "die":
            sys.stderr.write("last words\\n")
            os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()
"""

PROC = Path("/proc")
TWICE = {"max_attempts": 2, "retry_delay_ms": 5000}


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return write(tmp_path_factory.mktemp("programs"), "p", PROGRAM)


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def host(target, heard):
    with LocalHost(programs={"p": target}, listener=heard, slots=2) as opened:
        yield opened


def is_alive(pid):
    """Whether a process runs; a zombie does not."""
    if not PROC.is_dir():
        done = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True
        )
        return done.stdout.strip()[:1] not in (b"", b"Z")
    try:
        return (PROC / f"{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_warm_process_is_used_again_as_long_as_its_program_stands(tmp_path, heard):
    target = write(tmp_path, "p", "import os\ndef handle(event): return os.getpid()\n")
    with LocalHost(programs={"p": target}, listener=heard) as host:
        first = host.run_task("p")
        assert host.run_task("p") == first
        assert host.run_task("p", version="another") == first
        path = tmp_path / "p" / "program.py"
        path.write_text("import os\ndef handle(event): return [os.getpid()]\n")
        (second,) = host.run_task("p")
        assert second != first


def test_a_module_beside_the_program_counts_as_well(tmp_path, heard):
    target = write(
        tmp_path, "p", "import helper\ndef handle(event): return helper.VALUE\n"
    )
    helper = tmp_path / "p" / "helper.py"
    helper.write_text("VALUE = 1\n")
    with LocalHost(programs={"p": target}, listener=heard) as host:
        assert host.run_task("p") == 1
        helper.write_text("VALUE = 22\n")
        assert host.run_task("p") == 22


def test_fresh_processes_are_used_once(target, heard):
    programs = {"p": target}
    with LocalHost(programs=programs, listener=heard, fresh_processes=True) as host:
        pids = {host.run_task("p") for _ in range(3)}
    assert len(pids) == 3


def test_no_more_processes_live_than_two_for_each_slot(target, heard, tmp_path):
    others = {f"p{n}": write(tmp_path, f"p{n}", PROGRAM) for n in range(3)}
    with LocalHost(programs=others, listener=heard, slots=1) as host:
        pids = {name: host.run_task(name) for name in others}
        assert not is_alive(pids["p0"])
        assert host.run_task("p1") == pids["p1"]
        assert host.run_task("p2") == pids["p2"]
        assert host.run_task("p0") != pids["p0"]
        assert not is_alive(pids["p1"])
        assert host.run_task("p2") == pids["p2"]
        assert host._core._pool.alive == 2
    assert not any(map(is_alive, pids.values()))
    assert host._core._pool.alive == 0


def test_an_idle_process_that_died_is_replaced(host):
    pid = host.run_task("p")
    os.kill(pid, signal.SIGKILL)
    await_true(lambda: not is_alive(pid))
    assert host.run_task("p") != pid


def test_output_is_labelled_with_run_and_attempt(host, heard):
    run = host.submit_task("p", {"do": "print"})
    host.result(run)
    assert [text for _, text in heard.outputs] == ["on stdout", "no newline at the end"]
    origin = heard.outputs[0][0]
    assert (origin.run_id, origin.attempt, origin.program) == (run.id, 1, "p")
    assert str(origin) == f"p task_{run.id[5:13]} attempt 1"


def test_output_is_bounded_and_says_so(host, heard):
    host.run_task("p", {"do": "flood"})
    texts = [text for _, text in heard.outputs]
    assert sum(map(len, texts[:-1])) == 65_536
    assert texts[-1] == f"... {200_001 - 65_536} more bytes of output dropped"


def test_structured_logs_come_with_their_attempt(host, heard):
    run = host.submit_task("p", {"do": "log"})
    host.result(run)
    host.run_task("p")  # a log may follow its result
    origin, log = heard.logs[0]
    assert (origin.task_id, log.message, log.attributes) == (run.id, "a line", {"n": 1})


def test_a_traceback_is_shown_once_without_our_frames(host, heard):
    with pytest.raises(RunFailed, match="my own"):
        host.run_task("p", {"do": "raise"})
    texts = [text for _, text in heard.outputs]
    assert texts.count("ValueError: my own") == 1
    assert not [text for text in texts if "ledgence/worker" in text]


def test_last_words_are_part_of_the_failure(host):
    run = host.submit_task("p", {"do": "die"}, retry_policy=TWICE | {"max_attempts": 1})
    error = host.result(run).error
    assert (error["kind"], error["phase"]) == ("runtime", "execution")
    assert "SIGKILL" in error["message"]
    assert "last words" in error["message"]


def test_a_module_that_cannot_be_imported_fails_at_startup_with_its_traceback(
    tmp_path, heard
):
    target = write(tmp_path, "p", "import nothing_of_this_name\nhandle = 1\n")
    with LocalHost(programs={"p": target}, listener=heard) as host:
        outcome = host.result(host.submit_task("p", retry_policy=TWICE))
    assert outcome.attempts == 2
    assert (outcome.error["kind"], outcome.error["phase"]) == ("runtime", "startup")
    assert "nothing_of_this_name" in outcome.error["message"]


def test_cancelling_kills_the_whole_process_group(host, heard):
    run = host.submit_task("p", {"do": "hang"})
    heard.await_output("hangs")
    child = int(next(t for _, t in heard.outputs if t.startswith("child")).split()[1])
    assert is_alive(child)
    assert host.cancel(run) == "active"
    outcome = host.result(run)
    assert (outcome.state, outcome.detail) == ("cancelled", {"kind": "cancelled"})
    await_true(lambda: not is_alive(child))
    attempts = host.history(run).to_json()["attempts"]
    assert [one["state"] for one in attempts] == ["cancelled"]


def test_a_running_program_keeps_its_lease_while_time_is_moved(host, heard):
    run = host.submit_task("p", {"do": "hang"})
    heard.await_output("hangs")
    before = host.now_ms
    advance_past(host, 299_999)
    assert host.now_ms == before + 299_999
    (one,) = host.awaited(run)
    assert (one.kind, one.in_ms) == ("running", 1)
    (attempt,) = attempts_of(host, run.id)
    # Every 15 s, although nobody has waited for that.
    assert attempt["last_renewal"] == before + 19 * 15_000
    assert attempt["lease"]["expires_at"] == before + 330_000  # never beyond
    host.cancel(run)


def test_a_deadline_is_kept_in_real_time_as_well(target, heard):
    with LocalHost(programs={"p": target}, listener=heard, time="real") as host:
        run = host.submit_task("p", {"do": "hang"}, retry_policy=TWICE)
        heard.await_output("hangs")
        advance_past(host, 300_000)
        status = host.status(run)
        assert (status["state"], status["attempt_count"]) == ("queued", 1)
        (attempt,) = attempts_of(host, run.id)
        failure = attempt["settlement"]["result"]["failure"]
        assert failure["error"]["kind"] == "timed_out"
        assert attempt["finished_at"] >= attempt["deadline"]
        host.cancel(run)


def test_closing_stops_what_runs_and_reports_it(target, heard, tmp_path):
    path = tmp_path / "store"
    began = time.monotonic()
    with LocalHost(path, programs={"p": target}, listener=heard) as host:
        run = host.submit_task("p", {"do": "hang"}, retry_policy=TWICE)
        heard.await_output("hangs")
    assert time.monotonic() - began < 20
    with LocalHost(path, programs={}, listener=heard) as host:
        (attempt,) = host.history(run).to_json()["attempts"]
        assert attempt["state"] == "failed"
        assert attempt["quiescence"] == "confirmed"
        host.cancel(run)


def test_a_task_that_is_cancelled_before_its_program_runs_does_not_run(
    host, heard, monkeypatch
):
    plain = Engine.dispatch

    def cancel_first(engine, owner):
        request = {"scope": host._core.scope.to_json(), "task_id": owner.task_id}
        engine.cancel_task(request)
        return plain(engine, owner)

    monkeypatch.setattr(Engine, "dispatch", cancel_first)
    run = host.submit_task("p", {"do": "print"})
    assert host.result(run).state == "cancelled"
    assert heard.outputs == []
    (attempt,) = attempts_of(host, run.id)
    assert not attempt["execution_may_have_started"]
