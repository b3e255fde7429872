"""Versions in the names of programs, and hosts that begin nothing more."""

import pytest

from ledgence.local import HostListener, LocalHost
from ledgence.local._engine import NotFound
from tests.support.local_cli import write_program
from tests.support.local_host import Heard

BLOCKED = """
import os, time
def handle(event):
    print("began", flush=True)
    while not os.path.exists(event["data"]):
        time.sleep(0.01)
    return "over"
"""


def test_a_name_may_say_which_version_it_stands_for(tmp_path):
    target = f"{write_program(tmp_path, 'handle = lambda event: 7')}:handle"
    with LocalHost(programs={"p@2": target}, listener=HostListener()) as host:
        assert host.run_task("p", version="2") == 7
        with pytest.raises(NotFound):
            host.run_task("p", version="1")


def test_a_drained_host_ends_what_runs_and_begins_nothing(tmp_path):
    target = f"{write_program(tmp_path, BLOCKED)}:handle"
    programs, mark = {"p": target}, tmp_path / "mark"
    heard = Heard()
    with LocalHost(programs=programs, slots=1, listener=heard) as host:
        runs = [host.submit_task("p", str(mark)) for _ in range(2)]
        heard.await_output("began")
        assert not host.drain(0)
        mark.touch()
        assert host.drain(30)
        states = {host.status(run)["state"] for run in runs}
        assert states == {"succeeded", "queued"}
