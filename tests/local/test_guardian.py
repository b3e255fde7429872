"""Programs do not outlive a process that was killed."""

import os
import select
import signal
import subprocess
import sys

import pytest

from tests.support.local_cli import PATIENCE, environment
from tests.support.supervised import group_is_gone

HOST = """
import subprocess, sys
from ledgence.local import _guardian

groups = [
    subprocess.Popen(["sleep", "600"], process_group=0, stdout=subprocess.DEVNULL)
    for _ in range(4)
]
for one in groups:
    _guardian.watch(one.pid)
groups[1].kill()
groups[1].wait()
_guardian.forget(groups[1].pid)
_guardian.forget(groups[3].pid)
print(*(one.pid for one in groups), flush=True)
sys.stdin.read()
groups[0].kill()
groups[0].wait()
_guardian.forget(groups[0].pid)
"""


@pytest.fixture
def host():
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", HOST],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    yield process
    process.kill()
    process.wait(PATIENCE)
    process.stdin.close()
    process.stdout.close()


def pids_of(host):
    assert select.select([host.stdout], [], [], PATIENCE)[0]
    return list(map(int, host.stdout.readline().split()))


def assert_guarded(pids):
    """All are gone but the last one, which was forgotten."""
    *guarded, forgotten = pids
    try:
        assert all(map(group_is_gone, guarded))
        os.kill(forgotten, 0)
    finally:
        os.kill(forgotten, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["9", "15"])
def test_what_a_killed_process_has_started_is_killed(host, number):
    pids = pids_of(host)
    host.send_signal(number)
    assert host.wait(PATIENCE) == -number
    assert_guarded(pids)


def test_what_is_left_at_an_orderly_end_is_killed_too(host):
    pids = pids_of(host)
    host.stdin.close()
    assert host.wait(PATIENCE) == 0
    assert_guarded(pids)
