"""A host in trouble: nobody waits for ever, and the reason is told."""

import asyncio
import threading
from pathlib import Path

import pytest

from ledgence.local import HostError, LocalHost
from ledgence.local._engine import Engine, InvalidInput, Unavailable
from ledgence.local._host import _lifecycle
from ledgence.local._host._execution import Executor
from ledgence.local._host._pump import Pump
from ledgence.local._packages import build_package
from ledgence.local._store import SqliteStore
from tests.support.local_host import Heard, write
from tests.support.programs import write_manifest
from tests.support.runner import PATIENCE

BUG = ZeroDivisionError("a bug of our own")


def broken(*arguments, **options):
    raise BUG


@pytest.mark.parametrize(
    ("place", "queue"),
    # A task that no slot takes, so that nothing but the error ends the wait.
    [((Executor, "run"), "served"), ((Pump, "work"), "other")],
    ids=["slot", "pump"],
)
def test_an_error_of_our_own_reaches_whoever_waits(monkeypatch, place, queue):
    with LocalHost(listener=Heard(), queues=["served"]) as host:
        host.stub("p", 1)
        host.run_task("p", queue="served")
        monkeypatch.setattr(*place, broken)
        with pytest.raises(HostError) as caught:
            host.run_task("p", queue=queue)
        assert caught.value.code == "host_broken"
        assert caught.value.__cause__ is BUG
        with pytest.raises(HostError):
            host.submit_task("p")


def test_it_reaches_who_waits_in_a_loop_too(monkeypatch):
    async def main():
        async with LocalHost(listener=Heard()) as host:
            host.stub("p", 1)
            monkeypatch.setattr(Executor, "run", broken)
            with pytest.raises(HostError):
                await host.run_task("p")

    asyncio.run(main())


def test_a_store_that_does_not_answer_for_a_while_loses_nothing(monkeypatch):
    heard = Heard()
    with LocalHost(listener=heard, time="real") as host:
        host.stub("p", 1)
        plain, left = SqliteStore.writing, [3]

        def busy(store):
            left[0] -= 1
            if left[0] >= 0:
                raise Unavailable("busy")
            return plain(store)

        run = host.submit_task("p")
        monkeypatch.setattr(SqliteStore, "writing", busy)
        assert host.result(run).attempts == 1
        assert left[0] < 0


def test_a_closed_host_lets_nobody_wait():
    with LocalHost(listener=Heard(), queues=["other"]) as host:
        host.stub("p", 1)
        watch = host._core.over(host.submit_task("p"))
    with pytest.raises(HostError) as caught:
        watch.future.result(0)
    assert caught.value.code == "host_closed"


def test_a_queue_that_nobody_serves_is_told_in_the_error():
    with LocalHost(listener=Heard(), queues=["a", "b"], wait_seconds=0.1) as host:
        host.stub("p", 1)
        with pytest.raises(HostError) as caught:
            host.run_task("p", queue="c")
        assert "queue c" in str(caught.value)
        assert host.run_task("p", queue="b", timeout=10) == 1


def test_a_result_that_is_refused_fails_its_attempt(monkeypatch):
    plain = Engine.report

    def picky(engine, assignment, body):
        if body["result"]["kind"] == "succeeded":
            raise InvalidInput("not this one")
        return plain(engine, assignment, body)

    monkeypatch.setattr(Engine, "report", picky)
    with LocalHost(listener=Heard()) as host:
        host.stub("p", 1)
        outcome = host.result(host.submit_task("p"))
        assert (outcome.error["kind"], outcome.attempts) == ("protocol", 1)
        assert "not this one" in outcome.error["message"]


def test_data_that_is_too_large_is_refused_at_once():
    with LocalHost(listener=Heard()) as host:
        host.stub("p", 1)
        with pytest.raises(InvalidInput) as caught:
            host.submit_task("p", "x" * 1_048_576)
        assert caught.value.code == "invalid_input"
        assert caught.value.details["path"] == "$.input.data"


def test_a_program_of_protocol_2_cannot_be_a_workflow(tmp_path):
    write(tmp_path, "p", "def handle(event): return event['data']\n")
    write_manifest(tmp_path / "p")
    with LocalHost(programs={"p": tmp_path / "p"}, listener=Heard()) as host:
        assert host.run_task("p", 3) == 3
        outcome = host.result(host.start_workflow("p"))
        assert outcome.error["kind"] == "workflow_activation_failed"
        assert "incompatible" in outcome.error["message"]
        assert outcome.attempts == 1


def test_a_program_that_is_gone_fails_its_task_without_a_retry(tmp_path):
    target = write(tmp_path, "p", "def handle(event): return 1\n")
    path = tmp_path / "store"
    options = {"listener": Heard(), "queues": ["other"]}
    with LocalHost(path, programs={"p": target}, **options) as host:
        run = host.submit_task("p")
    with LocalHost(path, listener=Heard()) as host:
        outcome = host.result(run.id)
        assert (outcome.error["kind"], outcome.attempts) == ("not_found", 1)
        assert outcome.error["phase"] == "preparation"


def test_a_program_that_was_damaged_is_told_and_not_tried_again(tmp_path):
    directory = tmp_path / "p"
    write(tmp_path, "p", "def handle(event): return 1\n")
    write_manifest(directory)
    path = tmp_path / "store"
    with LocalHost(path, listener=Heard()) as host:
        packages = host._core.catalogue.packages
        packages.publish(build_package(directory))
        (blob,) = (tmp_path / "store.programs" / "blobs").iterdir()
        blob.write_bytes(b"x" * blob.stat().st_size)
        outcome = host.result(host.submit_task("p"))
    assert (outcome.error["kind"], outcome.attempts) == ("integrity", 1)


def test_a_host_is_opened_once():
    host = LocalHost(listener=Heard())
    with host, pytest.raises(HostError), host:
        pass
    with pytest.raises(HostError), host:
        pass


def test_closing_does_not_wait_for_ever_for_a_stub(monkeypatch):
    heard, go, here = Heard(), threading.Event(), threading.Event()

    def stub(data):
        here.set()
        go.wait(PATIENCE)

    monkeypatch.setattr(_lifecycle, "_CLOSING_SECONDS", 0.05)
    with LocalHost(listener=heard) as host:
        host.stub("p", stub)
        host.submit_task("p")
        assert here.wait(PATIENCE)
    assert heard.notes == ["a handler in this process does not end"]
    go.set()
    for thread in host._core._opened.slots._threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_waits_for_a_slot_does_not_keep_the_host_busy():
    go, here = threading.Event(), threading.Event()

    def stub(data):
        here.set()
        assert go.wait(PATIENCE)
        return data

    with LocalHost(listener=Heard(), slots=1, time="real") as host:
        host.stub("p", stub)
        runs = [host.submit_task("p", n) for n in range(2)]
        assert here.wait(PATIENCE)
        pump = host._core.opened.pump
        schedule = pump.work()
        assert schedule.runnable
        # The next turn by itself is for the lease, 15 s after the claim.
        assert 1 < pump._let_pass(schedule) <= 15
        go.set()
        assert [host.result(run).output for run in runs] == [0, 1]


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="no list of descriptors here")
def test_closed_hosts_leave_nothing_behind(tmp_path):
    target = write(tmp_path, "p", "def handle(event): return 1\n")

    def use(number):
        with LocalHost(
            tmp_path / f"store-{number}",
            programs={"p": target},
            listener=Heard(),
            fresh_processes=number == 1,
            crash=2,
        ) as host:
            for _ in range(2):
                host.result(host.submit_task("p")).unwrap()

    def count():
        return len(list(Path("/dev/fd").iterdir())), threading.active_count()

    use(0)  # whatever is loaded once
    before = count()
    for number in (1, 2):
        use(number)
    assert count() == before


def test_a_result_that_cannot_be_kept_yet_is_told(monkeypatch):
    heard, plain = Heard(), Engine.report
    troubles = iter([Unavailable("the disk is full")])

    def report(engine, *arguments):
        for trouble in troubles:
            raise trouble
        return plain(engine, *arguments)

    with LocalHost(listener=heard) as host:
        host.stub("p", 1)
        monkeypatch.setattr(Engine, "report", report)
        assert host.run_task("p") == 1
    assert any("the disk is full" in note for note in heard.notes)
