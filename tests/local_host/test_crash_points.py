"""Nothing acknowledged is lost when hosts and runners are killed.

A longer run: ``tests/support/local_host_crash.py --points 1000``, or more points here
through ``LEDGENCE_HOST_CRASH_POINTS``. The engine alone has its own crash test, in
tests/local_engine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ledgence.local import HostListener, LocalHost
from ledgence.local._engine import NotFound
from tests.support import local_host_crash
from tests.support.local_cli import ROOT
from tests.support.local_crash import Lost

SCRIPT = ROOT / "tests" / "support" / "local_host_crash.py"
POINTS = os.environ.get("LEDGENCE_HOST_CRASH_POINTS", "100")
MEMORY = Path("/dev/shm")


@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_at_random_kills(tmp_path):
    # A kill loses what the process has, not what the system has: the kind of file
    # system does not matter, and one in memory is fast.
    directory = MEMORY if os.access(MEMORY, os.W_OK) else tmp_path
    command = [sys.executable, SCRIPT, "--points", POINTS, "--directory", directory]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, hosts, runners = map(
        int,
        re.match(r"(\d+) kills \((\d+) hosts, (\d+) runners\)", done.stdout).groups(),
    )
    assert kills >= int(POINTS)
    assert min(hosts, runners) >= kills // 5


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A store on which everything was done, and all that was said about it."""
    directory = tmp_path_factory.mktemp("store")
    facts = local_host_crash.Facts(directory / "log")
    path = directory / "store"

    def tell(*words):
        facts.hear(words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_host_crash, "RUNNER_KILLS", 0)
        local_host_crash.work(path, facts.log, tell, seed=1, life=1, kill_at=None)
    facts.check(path)
    return path, facts


def copy_of(facts):
    made = local_host_crash.Facts(facts.log)
    made.known, made.done = dict(facts.known), facts.done
    return made


@pytest.mark.parametrize("kind", ["workflow", "task", "event", "decision"])
def test_the_check_notices_what_is_not_in_the_store(finished, kind):
    path, facts = finished
    changed = copy_of(facts)
    changed.known[kind, "gone"] = f"{'task' if kind == 'task' else 'wf'}_gone"
    with pytest.raises((Lost, NotFound)):
        changed.check(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('["record","{task}",1,"s0",9]', "record s0"),
        ('["record","{task}",1,"other",0]', "record other"),
        ('["ran","{task}",2,"s0"]', "ran again in attempt 2"),
        ('["fork","{task}",1,"{workflow}",["b7"]]', "branches"),
    ],
    ids=["other-output", "no-record", "again", "no-branch"],
)
def test_the_check_notices_what_runners_said(finished, tmp_path, line, problem):
    path, facts = finished
    said = facts._said()
    task = next(words[1] for words in said if words[0] == "record" and words[3] == "s0")
    workflow = facts.known["workflow", "steps:0"]
    log = tmp_path / "log"
    line = line.replace("{task}", task).replace("{workflow}", workflow)
    log.write_bytes(facts.log.read_bytes() + line.encode() + b"\n")
    changed = copy_of(facts)
    changed.log = log
    with pytest.raises(Lost, match=problem):
        changed.check(path)
    log.write_bytes(facts.log.read_bytes() + line.encode())
    changed.check(path)  # a line that was not finished was not said


def test_the_check_notices_another_outcome(finished):
    path, facts = finished
    changed = copy_of(facts)
    key = ("workflow", "steps:0")
    changed.known[key] = facts.known["workflow", "ask:0"]
    with pytest.raises(Lost, match="ended with"):
        changed.check(path)


def test_every_workflow_of_the_mix_ends_as_the_model_says(tmp_path):
    log = str(tmp_path / "log")
    programs = {"crash": local_host_crash.TARGET}
    with LocalHost(programs=programs, listener=HostListener()) as host:
        for name, (_, expected) in local_host_crash.WORKFLOWS.items():
            run = host.start_workflow("crash", {"do": name, "path": log}, version="1")
            local_host_crash.release(host, lambda *words: None, name, run)
            assert host.result(run).output == expected
