"""Hosts on a store file: after each other, and beside other processes."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from ledgence.local import HostError, LocalHost
from ledgence.local._engine import Engine, NotFound, Program, Scope
from ledgence.local._packages import build_package
from ledgence.local._store import SqliteStore, StoreError
from tests.support.local_cli import ROOT
from tests.support.local_host import Heard, attempts_of, write
from tests.support.programs import write_manifest

PROGRAM = """
import os
import sys
import time

from ledgence.worker.workflow import workflow_context


def step(n):
    print("step", n, file=sys.stderr, flush=True)
    return n


async def handle(event):
    if event["data"] == "hang":
        print("hangs", file=sys.stderr, flush=True)
        print("pid", os.getpid(), file=sys.stderr, flush=True)
        time.sleep(600)
    ctx = workflow_context()
    if ctx.continuation == "start":
        await ctx.local("s", step, n=1)
        return ctx.wait_event("go", continuation="end", state=None)
    return ctx.complete(ctx.wake["event"]["data"])
"""

# Opens a host on a store, starts a task that hangs, says so, and waits to be killed.
VICTIM = """
import sys
from ledgence.local import HostListener, LocalHost

class Listener(HostListener):
    def output(self, origin, text):
        print(text, flush=True)

with LocalHost(sys.argv[1], programs={"p": sys.argv[2]}, listener=Listener()) as host:
    run = host.start_workflow("p")
    host.wait_until_waiting(run)
    print(run.id, flush=True)
    print(host.submit_task("p", "hang").id, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def target(tmp_path):
    return write(tmp_path, "p", PROGRAM)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def open_host(path, target, **options):
    return LocalHost(path, programs={"p": target}, listener=Heard(), **options)


def test_a_host_goes_on_where_another_has_stopped(path, target):
    with open_host(path, target) as host:
        run = host.start_workflow("p", key="k")
        host.wait_until_waiting(run)
    with open_host(path, target) as host:
        assert host.start_workflow("p", key="k") == run
        assert [one.key for one in host.awaited(run)] == ["go"]
        host.send_event(run, "go", 5)
        assert host.result(run).output == 5


def test_attempts_of_a_killed_host_are_lost_and_tried_again(path, target, tmp_path):
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(path), target],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        lines = [victim.stdout.readline().strip() for _ in range(5)]
    finally:
        victim.kill()
        victim.communicate()
    said = {line.partition("_")[0].partition(" ")[0]: line for line in lines}
    assert set(said) == {"step", "wf", "task", "hangs", "pid"}
    # Whoever kills a host leaves its programs behind, as killing a worker would.
    os.killpg(int(said["pid"].split()[1]), signal.SIGKILL)
    workflow_id, task_id = said["wf"], said["task"]
    with open_host(path, target) as host:
        (attempt,) = attempts_of(host, task_id)
        assert (attempt["state"], attempt["quiescence"]) == ("lost", "unconfirmed")
        assert host.status(task_id)["state"] == "queued"
        host.cancel(task_id)
        host.send_event(workflow_id, "go", "found")
        assert host.result(workflow_id).output == "found"
        assert host.history(workflow_id).operation("s").output == 1


def test_a_second_host_is_told_who_holds_the_store(path, target):
    with (
        open_host(path, target) as first,
        pytest.raises(StoreError) as caught,
        open_host(path, target),
    ):
        pass
    assert caught.value.code == "store_in_use"
    assert caught.value.details["pid"] == os.getpid()
    with pytest.raises(HostError):
        first.status("task_x")
    with open_host(path, target):
        pass  # the lock was given back


def test_a_file_that_is_no_store_is_refused(tmp_path, target):
    path = tmp_path / "other"
    path.write_text("something else, long enough to be looked at" * 9)
    with pytest.raises(StoreError), open_host(path, target):
        pass


def test_a_directory_that_is_missing_is_made(tmp_path, target):
    with open_host(tmp_path / "a" / "b" / "store", target) as host:
        host.stub("q", 1)
        assert host.run_task("q") == 1


class Beside:
    """Another process, as the store sees it: a connection of its own."""

    def __init__(self, path):
        self.store = SqliteStore(path)
        self.engine = Engine(self.store, self)
        self.scope = Scope("local", "default").to_json()

    def resolve(self, program):
        raise AssertionError("it submits nothing")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.store.close()


def test_what_another_process_sends_wakes_the_host(path, target):
    with open_host(path, target, time="real") as host, Beside(path) as other:
        run = host.start_workflow("p")
        host.wait_until_waiting(run)
        event = {
            "specversion": "1.0",
            "id": "e",
            "source": "urn:x",
            "type": "t",
            "datacontenttype": "application/json",
            "data": "from beside",
        }
        request = {"scope": other.scope, "workflow_id": run.id, "key": "go"}
        other.engine.send_event({**request, "event": event})
        assert host.result(run).output == "from beside"


def test_what_another_process_cancels_is_stopped(path, target):
    heard = Heard()
    programs = {"p": target}
    with (
        LocalHost(path, programs=programs, listener=heard, time="real") as host,
        Beside(path) as other,
    ):
        run = host.submit_task("p", "hang")
        heard.await_output("hangs")
        other.engine.cancel_task({"scope": other.scope, "task_id": run.id})
        assert host.result(run).state == "cancelled"
        (attempt,) = attempts_of(host, run.id)
        assert (attempt["state"], attempt["quiescence"]) == ("cancelled", "confirmed")
        queued = host.start_workflow("p")
        host.wait_until_waiting(queued)
        request = {"scope": other.scope, "workflow_id": queued.id}
        other.engine.cancel_workflow(request)
        assert host.result(queued).state == "cancelled"


def package(directory, text):
    directory.mkdir(exist_ok=True)
    write_manifest(directory, program={"id": "pack", "version": "1"})
    (directory / "program.py").write_text(textwrap.dedent(text))
    return build_package(directory)


def test_published_packages_run_from_beside_the_store(tmp_path, path):
    old = package(tmp_path / "old", "def handle(event): return 'old'\n")
    with LocalHost(path, listener=Heard()) as host:
        host._core.catalogue.packages.publish(old)
        assert host.run_task("pack") == "old"
        assert host.run_task("pack", version="1") == "old"
        with pytest.raises(NotFound) as caught:
            host.run_task("pack", version="2")
        assert "version 1" in caught.value.hint
        run = host.submit_task("pack")
        # A linked program goes before a package of the same name.
        (tmp_path / "linked").mkdir()
        host.add_program("pack", write(tmp_path, "linked", "handle = lambda e: 'new'"))
        host.result(run)
        assert host.run_task("pack") == "new"
    assert (tmp_path / "store.db.programs" / "programs" / "pack" / "1").is_dir()
    program = Program("pack", "1")
    with LocalHost(path, listener=Heard()) as host:
        assert host._core.catalogue.resolve(program).digest == old.digest
        assert host.run_task("pack") == "old"


def test_a_linked_program_that_changed_runs_as_it_is_and_says_so(path, target):
    heard = Heard()
    with open_host(path, target) as host:
        run = host.start_workflow("p")
        host.wait_until_waiting(run)
    changed = PROGRAM.replace('["data"])', '["data"], )')
    assert changed != PROGRAM
    write(path.parent, "p", changed)
    with LocalHost(path, programs={"p": target}, listener=heard) as host:
        host.send_event(run, "go", 1)
        assert host.result(run).output == 1
    (note,) = heard.notes
    assert run.id in note
    assert "has changed" in note
