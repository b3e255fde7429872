"""Clocks, the next thing due, and skipping."""

import pytest

from ledgence.local._engine import ManualClock, SystemClock
from ledgence.local._store import SqliteStore
from tests.support.local_world import SCOPE, T0, Died, World, action


@pytest.fixture
def world():
    return World()


def test_the_system_clock_counts_milliseconds():
    import time

    before = time.time() * 1000
    now = SystemClock().now_ms()
    assert before - 1 <= now <= time.time() * 1000 + 1


def test_a_manual_clock_never_runs_back():
    clock = ManualClock(5)
    clock.advance(3)
    clock.move_to(8)
    assert clock.now_ms() == 8
    with pytest.raises(ValueError, match="8"):
        clock.move_to(7)


def test_an_empty_store_is_quiet(world):
    schedule = world.engine.schedule()
    assert schedule.quiet
    assert not schedule.runnable
    assert schedule.next_at is schedule.skip_to is schedule.skip_ms is None


def test_a_queued_task_is_runnable(world):
    world.submit()
    schedule = world.engine.schedule()
    assert schedule.runnable
    assert schedule.next_at == T0
    assert schedule.skip_to is None


def test_a_retry_is_skipped_to(world):
    world.program("p", lambda job: (_ for _ in ()).throw(Died()))
    world.submit("p")
    world.step()
    schedule = world.engine.schedule()
    assert not schedule.runnable
    assert schedule.skip_to == schedule.next_at == T0 + 5000
    assert schedule.skip_ms == 5000


@pytest.mark.parametrize(
    ("make", "at"),
    [
        (lambda job: job.sleep("k", 7, "end"), T0 + 7),
        (lambda job: job.wait_event("k", "end", 8), T0 + 8),
        (lambda job: job.wait_event("k", "end"), None),
        (lambda job: job.approval("k", "end", action(), 9), T0 + 9),
    ],
    ids=["timer", "event", "event without end", "approval"],
)
def test_waits_are_skipped_to(world, make, at):
    world.program("p", make)
    world.start("p")
    world.step()
    schedule = world.engine.schedule()
    assert schedule.skip_to == schedule.next_at == at
    assert schedule.quiet is (at is None)


def test_nothing_is_skipped_while_something_runs(world):
    world.program("p", lambda job: job.sleep("k", 7, "end"))
    world.start("p")
    world.step()
    world.submit()
    job = world.claim()
    schedule = world.engine.schedule()
    assert schedule.running == 1
    assert schedule.skip_to is None
    assert schedule.next_at == T0 + 7
    world.clock.advance(7)
    assert world.engine.schedule().next_at == T0 + 7
    world.engine.pump()
    world.play(world.claim())
    assert world.engine.schedule().next_at == T0 + 60_000  # the lease
    world.succeed(job)
    assert world.engine.schedule().running == 0


def test_background_work_is_due_at_once(world):
    world.program("p", lambda job: job.wait_event("k", "end"))
    workflow_id = world.start("p")
    world.step()
    world.cancel(workflow_id)
    schedule = world.engine.schedule()
    assert schedule.next_at == T0
    assert schedule.skip_to is None
    assert world.engine.pump() == 1
    assert world.engine.schedule().quiet


def test_effects_tell_what_became_possible(world):
    world.effects.clear()
    task_id = world.submit()
    assert world.effects.pop().runnable
    job = world.claim()
    world.succeed(job)
    assert world.effects.pop().finished == [task_id]
    world.program("p", lambda job: job.wait_event("k", "end"))
    workflow_id = world.start("p")
    world.step()
    world.effects.clear()
    world.cancel(workflow_id)
    assert world.effects.pop().due
    world.engine.pump()
    assert world.effects.pop().finished == [workflow_id]


def test_a_transaction_without_effect_tells_nothing(world):
    task_id = world.submit()
    world.run()
    world.effects.clear()
    world.cancel_task(task_id)
    assert world.effects == []


def test_the_time_of_a_store_never_runs_back(tmp_path):
    path = tmp_path / "store"
    with SqliteStore(path) as store:
        ahead = World(store, start=T0 + 1_000_000)
        first = ahead.submit()
    with SqliteStore(path) as store:
        behind = World(store, start=T0, prefix="2")
        second = behind.submit()
        assert behind.task(second)["submitted_at"] == T0 + 1_000_000
        # It goes on at its own pace.
        behind.clock.advance(500)
        third = behind.submit()
        assert behind.task(third)["submitted_at"] == T0 + 1_000_500
        assert behind.task(first)["submitted_at"] == T0 + 1_000_000


def test_a_decision_is_never_older_than_its_request(tmp_path):
    """The helper refuses such an approval, so the run could not go on."""
    path = tmp_path / "store"

    def asking(job):
        if job.continuation == "start":
            return job.approval("k", "end", action(), 60_000)
        return job.complete(job.wake["approval"]["status"])

    with SqliteStore(path) as store:
        ahead = World(store, start=T0 + 500)
        ahead.program("p", asking)
        workflow_id = ahead.start("p")
        ahead.run()
    with SqliteStore(path) as store:
        behind = World(store, start=T0, prefix="2")
        behind.programs, behind.digests = ahead.programs, ahead.digests
        shown = behind.decide(workflow_id, "k")["approval"]
        assert shown["decision"]["decided_at"] == shown["created_at"] == T0 + 500
        behind.run()
        assert behind.result(workflow_id)["output"] == "approved"


def test_a_host_whose_clock_is_behind_skips_by_differences(tmp_path):
    path = tmp_path / "store"
    with SqliteStore(path) as store:
        World(store, start=T0 + 1_000_000).submit()
    with SqliteStore(path) as store:
        behind = World(store, start=T0, prefix="2")
        behind.program("p", lambda job: job.sleep("k", 5000, "end"))
        behind.start("p")
        behind.step()
        behind.step()
        schedule = behind.engine.schedule()
        assert schedule.skip_to == T0 + 1_005_000
        assert schedule.skip_ms == 5000
        behind.clock.advance(5000)
        assert behind.engine.pump() == 1
        assert behind.engine.schedule().now == T0 + 1_005_000


def test_two_hosts_with_different_clocks_agree_on_the_order(tmp_path):
    path = tmp_path / "store"
    with SqliteStore(path) as one, SqliteStore(path) as two:
        ahead = World(one, start=T0 + 50_000, prefix="a")
        behind = World(two, start=T0, prefix="b")
        times = []
        for number in range(6):
            world = (ahead, behind)[number % 2]
            world.clock.advance(2_000)
            times.append(world.task(world.submit())["submitted_at"])
        assert times == sorted(times)


def test_a_clock_that_was_set_back_stands_still_for_the_store(world):
    world.clock.advance(500)
    first = world.submit()
    world.clock._now -= 300
    second = world.submit()
    assert world.task(first)["submitted_at"] == world.task(second)["submitted_at"]
    tasks = world.look.list_tasks({"scope": SCOPE})["items"]
    assert len(tasks) == 2
