"""Nothing acknowledged is lost when the host is killed.

A longer run: ``tests/support/local_crash.py --points 1000``, or more points here
through ``LEDGENCE_CRASH_POINTS``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ledgence.local._store import SqliteStore
from tests.support import local_crash
from tests.support.local_world import World

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "support" / "local_crash.py"
# Together with those of tests/local_host/test_crash_points.py these are 200.
POINTS = os.environ.get("LEDGENCE_CRASH_POINTS", "100")
MEMORY = Path("/dev/shm")


@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_at_random_kills(tmp_path):
    # A kill loses what the process has, not what the system has: the kind of file
    # system does not matter, and one in memory is fast.
    directory = MEMORY if os.access(MEMORY, os.W_OK) else tmp_path
    command = [sys.executable, SCRIPT, "--points", POINTS, "--directory", directory]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{POINTS} kills,")


def test_the_check_notices_a_step_that_runs_again():
    facts = local_crash.Facts()
    facts.hear(["ran", "task", "a"])
    facts.hear(["ran", "task", "a"])
    facts.hear(["record", "task", "a", 1])
    with pytest.raises(local_crash.Lost):
        facts.hear(["ran", "task", "a"])


def test_the_check_notices_an_answer_that_changes():
    facts = local_crash.Facts()
    facts.hear(["workflow", "k", "wf_1"])
    facts.hear(["workflow", "k", "wf_1"])
    with pytest.raises(local_crash.Lost):
        facts.hear(["workflow", "k", "wf_2"])


@pytest.mark.parametrize(
    ("fact", "trouble"),
    [
        (["task", "k", "task_gone"], Exception),
        (["record", "activation", "a", 1], local_crash.Lost),
        (["event", "wf_gone", 5], local_crash.Lost),
        (["decision", "wf_gone", 5], Exception),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_the_check_notices_what_is_not_in_the_store(tmp_path, fact, trouble):
    path = tmp_path / "store"
    SqliteStore(path).close()
    facts = local_crash.Facts()
    facts.hear(fact)
    with pytest.raises(trouble):
        facts.check(path)


def test_the_check_notices_another_outcome(tmp_path):
    path = tmp_path / "store"
    with SqliteStore(path) as store:
        world = World(store)
        world.program("event", lambda job: job.complete("something else"))
        workflow_id = world.start("event", key="event:0")
        world.run()
    facts = local_crash.Facts()
    facts.hear(["workflow", "event:0", workflow_id])
    facts.check(path)
    facts.hear(["done"])
    with pytest.raises(local_crash.Lost):
        facts.check(path)
