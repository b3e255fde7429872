"""Costs that must not grow with history, counted in steps of SQLite's machine.

Steps are the same on every computer, so these tests say nothing about speed and
cannot be disturbed by a busy one.
"""

import re

import pytest

from ledgence.local._store import SqliteStore
from tests.support.local_world import SCOPE, World, action, branch, command


class Counted(SqliteStore):
    """A store in memory that counts steps and remembers statements."""

    def __init__(self):
        super().__init__()
        self.steps = 0
        self.statements = set()
        self._db.set_progress_handler(self._step, 1)
        self._db.set_trace_callback(self.statements.add)

    def _step(self):
        self.steps += 1

    def spent(self):
        steps, self.steps = self.steps, 0
        return steps


def looping(activations):
    def flow(job):
        if job.payload["revision"] == activations:
            return job.complete()
        job.commit("step", "x")
        return job.proceed("next", state={"n": job.payload["revision"]})

    return flow


def test_an_activation_costs_the_same_after_a_long_history():
    world = World(Counted())
    world.program("flow", looping(600))
    world.start("flow")
    costs = []
    for _ in range(600):
        world.store.spent()
        world.step()
        costs.append(world.store.spent())
    first, last = sum(costs[:60]), sum(costs[-60:])
    assert last / first <= 1.05


def test_children_of_the_past_cost_nothing():
    def flow(job):
        number = job.payload["revision"]
        if number == 200:
            return job.complete()
        return job.suspend("next", command(f"c{number}"))

    world = World(Counted())
    world.program("flow", flow)
    world.start("flow")
    costs = []
    for _ in range(200):
        world.store.spent()
        world.step()
        world.step()
        costs.append(world.store.spent())
    assert sum(costs[-20:]) / sum(costs[:20]) <= 1.05


def sleeping(world, count):
    world.program("flow", lambda job: job.sleep("z", 1_000_000 + job.data, "end"))
    for number in range(count):
        world.start("flow", number)
        world.step()


@pytest.mark.parametrize("count", [1000])
def test_sleeping_timers_cost_nothing_until_they_are_due(count):
    world = World(Counted())
    sleeping(world, 1)
    world.store.spent()
    world.engine.schedule()
    world.engine.pump()
    alone = world.store.spent()
    sleeping(world, count)
    world.store.spent()
    world.engine.schedule()
    assert world.engine.pump() == 0
    assert world.store.spent() <= alone * 1.1
    assert world.engine.schedule().next_at == world.clock.now_ms() + 1_000_000


def busy(world):
    """Let the engine use every statement that it has."""

    def flow(job):
        step = job.continuation
        if step == "start":
            job.commit("a")
            job.commit("a")
            job.fork("f", branch("b"))
            return job.suspend("two", command("t"), until=["t", "b"])
        if step == "branch":
            return job.complete()
        if step == "two":
            return job.wait_event("e", "three")
        if step == "three":
            return job.approval("p", "four", action(), 1000)
        if step == "four":
            return job.proceed("five", command("s", queue="never"))
        return job.sleep("z", 1000, "six")

    world.program("flow", flow)
    workflow_id = world.start("flow", key="k")
    world.start("flow", key="k")
    world.run()
    world.send(workflow_id, "e")
    world.run()
    world.decide(workflow_id, "p")
    world.run()
    world.cancel(workflow_id)
    world.run()
    world.engine.recover()
    run = {"scope": SCOPE, "workflow_id": workflow_id}
    for ask in ("children", "waits", "activations", "history", "list_approvals"):
        getattr(world.look, ask)(run)
    world.look.list_tasks({"scope": SCOPE})
    world.look.list_workflows({"scope": SCOPE})
    world.look.task_history({"scope": SCOPE, "task_id": world.jobs[0].task_id})


def test_every_statement_goes_through_an_index():
    world = World(Counted())
    busy(world)
    reads = [
        text
        for text in world.store.statements
        if re.match(r"\s*(SELECT|UPDATE|DELETE)", text)
    ]
    assert len(reads) > 40
    scans = []
    for text in reads:
        plan = world.store._db.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()
        scans += [
            (detail, text)
            for *_, detail in plan
            if re.match(r"SCAN (?!CONSTANT)", detail) and "USING" not in detail
        ]
    # What is read whole is the result of three index look-ups, and single rows.
    unexpected = [scan for scan in scans if not re.search(r"SCAN \(", scan[0])]
    assert unexpected == []
