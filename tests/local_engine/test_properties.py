"""Random interleavings of commands, attempts, time and restarts, against models.

Tasks are compared with an exact model of one task. Workflows run small programs whose
wakes and inputs an exact model predicts, and after every step the promises hold that
the contract makes about all states.
"""

import os
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ledgence.local._engine import EngineError, ObsoleteOperation, OwnershipLost
from tests.support.local_world import (
    SCOPE,
    T0,
    World,
    cloud_event,
    command,
    execution,
)

TERMINAL = {"succeeded", "failed", "cancelled"}
LEASE, GRACE, TIMEOUT = 60_000, 30_000, 60_000
# More in a longer run: LEDGENCE_ENGINE_EXAMPLES=2000.
SETTINGS = settings(
    max_examples=int(os.environ.get("LEDGENCE_ENGINE_EXAMPLES", "25")),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Model:
    """What a task has to be."""

    most: int
    delay: int
    available: int
    state: str = "queued"
    attempts: int = 0
    requested: bool = False
    expiry: int = 0
    authority: int = 0
    deadline: int = 0
    report: str | None = None
    job: object = None

    def claim(self, now, job):
        self.state, self.job, self.report = "active", job, None
        self.attempts += 1
        self.deadline = now + TIMEOUT
        self.authority = self.deadline + GRACE
        self.expiry = min(now + LEASE, self.authority)

    def cancel(self, now):
        if self.state in TERMINAL or self.requested:
            return
        self.requested = True
        if self.state == "queued":
            self.state = "cancelled"
        else:
            self.authority = min(self.authority, now + GRACE)
            self.expiry = min(self.expiry, now + GRACE)

    def look(self, now):
        """Let the lease end if it has."""
        if self.state == "active" and now >= self.expiry:
            self.finalise(now, self.report)

    def finalise(self, now, report):
        if self.requested:
            self.state = "cancelled"
        elif report == "success":
            self.state = "succeeded"
        elif report == "terminal" or self.attempts >= self.most:
            self.state = "failed"
        else:
            self.state, self.available = "queued", now + self.delay


RESULTS = {
    "success": {"kind": "succeeded", "output": 1},
    "retryable": execution("runtime"),
    "terminal": execution("protocol"),
}


class Tasks(RuleBasedStateMachine):
    """Tasks against their model."""

    def __init__(self):
        super().__init__()
        self.world = World()
        self.models = {}
        self.hosts = 1

    @property
    def now(self):
        return self.world.clock.now_ms()

    def look(self):
        self.world.engine.pump()
        for model in self.models.values():
            model.look(self.now)

    def active(self):
        return [one for one in self.models.values() if one.state == "active"]

    @rule(most=st.integers(1, 3), delay=st.sampled_from([0, 1, 5000]))
    def submit(self, most, delay):
        policy = {"max_attempts": most, "retry_delay_ms": delay}
        task_id = self.world.submit(retry_policy=policy, attempt_timeout_ms=TIMEOUT)
        self.models[task_id] = Model(most, delay, self.now)

    @rule()
    def claim(self):
        self.look()
        ready = [
            (model.available, self.world.task(task_id)["submitted_at"], task_id)
            for task_id, model in self.models.items()
            if model.state == "queued" and model.available <= self.now
        ]
        job = self.world.claim()
        if not ready:
            assert job is None
            return
        assert job.task_id == min(ready)[2]
        self.models[job.task_id].claim(self.now, job)

    @precondition(lambda self: self.active())
    @rule(data=st.data(), what=st.sampled_from(sorted(RESULTS)), sure=st.booleans())
    def report(self, data, what, sure):
        model = data.draw(st.sampled_from(self.active()))
        body = self.world.body(RESULTS[what], "confirmed" if sure else "unconfirmed")
        try:
            self.world.engine.report(model.job.assignment, body)
        except OwnershipLost:
            assert self.now >= model.expiry
            return
        except EngineError:
            assert model.report is not None
            return
        assert self.now < model.expiry
        model.report = what
        if sure:
            model.finalise(self.now, what)

    @precondition(lambda self: self.active())
    @rule(data=st.data())
    def renew(self, data):
        model = data.draw(st.sampled_from(self.active()))
        try:
            lease = self.world.engine.renew(model.job.owner)
        except OwnershipLost:
            assert self.now >= model.expiry
            return
        model.expiry = min(self.now + LEASE, model.authority)
        assert lease.expires_at == model.expiry
        working = not model.requested and model.report is None
        left = max(0, model.deadline - self.now) if working else 0
        assert lease.budget_ms == left

    @precondition(lambda self: self.active())
    @rule(data=st.data())
    def confirm(self, data):
        model = data.draw(st.sampled_from(self.active()))
        try:
            self.world.engine.confirm(model.job.owner)
        except EngineError:
            assert model.report is None or self.now >= model.expiry
            return
        model.finalise(self.now, model.report)

    @precondition(lambda self: self.models)
    @rule(data=st.data())
    def cancel(self, data):
        task_id = data.draw(st.sampled_from(sorted(self.models)))
        self.models[task_id].cancel(self.now)
        assert self.world.cancel_task(task_id) == self.models[task_id].state

    @rule(ms=st.sampled_from([1, 4999, 5000, 29_999, 30_000, 59_999, 60_000]))
    def wait(self, ms):
        self.world.clock.advance(ms)

    @rule()
    def restart(self):
        self.look()
        self.hosts += 1
        old = self.world
        self.world = World(
            old.store, start=self.now, prefix=f"{self.hosts}-", host_id=f"h{self.hosts}"
        )
        self.world.digests, self.world.programs = old.digests, old.programs
        self.world.engine.recover()
        for model in self.active():
            model.finalise(self.now, model.report)

    @invariant()
    def as_the_model_says(self):
        self.look()
        for task_id, model in self.models.items():
            status = self.world.task(task_id)
            assert status["state"] == model.state
            assert status["attempt_count"] == model.attempts
            if model.state == "queued":
                assert status["available_at"] == model.available
            check_task(status)


def check_task(status):
    """Check what http-api.md, section 4.2, says of every status."""
    state, count = status["state"], status["attempt_count"]
    assert (count == 0) == (status["latest_attempt_id"] is None)
    assert (status["current_attempt_id"] is not None) == (state == "active")
    if state == "active":
        assert status["current_attempt_id"] == status["latest_attempt_id"]
    assert (status["terminal_at"] is not None) == (state in TERMINAL)
    if state in ("succeeded", "failed"):
        assert count >= 1
    if state == "cancelled":
        assert status["cancel_requested_at"] is not None
    elif status["cancel_requested_at"] is not None:
        assert state == "active"


def test_tasks_follow_their_model():
    run_state_machine_as_test(Tasks, settings=SETTINGS)


KEYS = ["k0", "k1", "k2"]


@dataclass
class Run:
    """What a waiting program has to see."""

    timeouts: list
    events: dict = field(default_factory=dict)
    wakes: list = field(default_factory=list)
    deadline: int | None = None
    waiting: bool = False
    over: bool = False

    @property
    def number(self):
        return len(self.wakes)

    def decide(self, now):
        """The activation decides: it waits for the next key or completes."""
        if self.number == len(KEYS):
            self.over = True
            return
        timeout = self.timeouts[self.number]
        self.deadline = None if timeout is None else now + timeout
        self.waiting = True
        self.look(now)

    def look(self, now):
        if not self.waiting:
            return
        key = KEYS[self.number]
        accepted = self.events.get(key)
        if accepted is not None and (self.deadline is None or accepted < self.deadline):
            self._wake("event", key, accepted)
        elif self.deadline is not None and now >= self.deadline:
            self._wake("timeout", key, self.deadline)

    def _wake(self, kind, key, at):
        self.wakes.append([kind, key, at])
        self.waiting = False

    def accepts(self, key, now):
        """Whether a first event under this key is taken now."""
        if self.over:
            return False
        number = KEYS.index(key)
        if number < self.number:
            return False
        current = self.waiting and number == self.number
        return not (current and self.deadline is not None and now >= self.deadline)


class Waits(RuleBasedStateMachine):
    """Workflows that wait for events, against their model."""

    def __init__(self):
        super().__init__()
        self.world = World()
        self.runs = {}
        self.hosts = 1
        self.final = {}
        self.world.program("flow", self.flow)

    def flow(self, job):
        wakes = list(job.payload["state"] or [])
        if job.wake is not None:
            at = job.wake.get("accepted_at", job.wake.get("deadline"))
            wakes.append([job.wake["kind"], job.wake["key"], at])
        assert job.inputs == {}
        number = len(wakes)
        if number == len(KEYS):
            return job.complete(wakes)
        return job.wait_event(KEYS[number], "next", job.data[number], state=wakes)

    @property
    def now(self):
        return self.world.clock.now_ms()

    def look(self):
        self.world.engine.pump()
        for model in self.runs.values():
            model.look(self.now)

    @rule(
        timeouts=st.lists(
            st.sampled_from([None, 0, 1, 1000]), min_size=len(KEYS), max_size=len(KEYS)
        )
    )
    def start(self, timeouts):
        self.runs[self.world.start("flow", timeouts)] = Run(timeouts)

    @rule(fate=st.sampled_from(["play", "play", "play", "break"]))
    def work(self, fate):
        self.look()
        job = self.world.claim()
        if job is None:
            return
        if fate == "break":
            self.world.engine.report(
                job.assignment, self.world.body(execution("runtime"))
            )
            self.world.clock.advance(5000)
            if job.number == 3:
                model = self.runs[job.payload["workflow_id"]]
                model.over, model.waiting = True, False
            return
        self.world.play(job)
        self.runs[job.payload["workflow_id"]].decide(self.now)

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), key=st.sampled_from(KEYS))
    def send(self, data, key):
        workflow_id = data.draw(st.sampled_from(sorted(self.runs)))
        model = self.runs[workflow_id]
        event = cloud_event(f"{workflow_id}-{key}")
        known = model.events.get(key)
        try:
            receipt = self.world.send(workflow_id, key, event)
        except ObsoleteOperation:
            assert known is None
            assert not model.accepts(key, self.now)
            return
        assert receipt["already_accepted"] is (known is not None)
        if known is None:
            assert model.accepts(key, self.now)
            model.events[key] = receipt["accepted_at"]
            assert receipt["accepted_at"] == self.now
            model.look(self.now)
        else:
            assert receipt["accepted_at"] == known

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def cancel(self, data):
        workflow_id = data.draw(st.sampled_from(sorted(self.runs)))
        self.world.cancel(workflow_id)
        model = self.runs[workflow_id]
        model.over, model.waiting = True, False

    @rule(ms=st.sampled_from([1, 999, 1000]))
    def wait(self, ms):
        self.world.clock.advance(ms)

    @rule()
    def restart(self):
        self.hosts += 1
        old = self.world
        self.world = World(
            old.store, start=self.now, prefix=f"{self.hosts}-", host_id=f"h{self.hosts}"
        )
        self.world.digests, self.world.programs = old.digests, old.programs
        self.world.engine.recover()

    @invariant()
    def as_the_model_says(self):
        self.look()
        for workflow_id, model in self.runs.items():
            status = self.world.workflow(workflow_id)
            check_workflow(self.world, status)
            assert (status["state"] == "waiting") == model.waiting
            assert (status["state"] in TERMINAL) == model.over
            if status["state"] == "succeeded":
                assert self.world.result(workflow_id)["output"] == model.wakes
            if status["state"] in TERMINAL:
                assert self.final.setdefault(workflow_id, status) == status


def check_workflow(world, status):
    """Check what http-api.md, section 5.2, and orchestrator.md, 6, say."""
    state, activation = status["state"], status["activation_id"]
    assert (status["terminal_at"] is not None) == (state in TERMINAL)
    if state == "running":
        assert activation is not None
    if state == "waiting" or state in TERMINAL:
        assert activation is None
    page = world.look.activations(
        {"scope": SCOPE, "workflow_id": status["workflow_id"]}
    )
    revisions = [item["revision"] for item in page["items"]]
    assert revisions == list(range(len(revisions)))
    applied = [item for item in page["items"] if item["decision"] is not None]
    assert status["revision"] == len(applied)


def test_waiting_workflows_follow_their_model():
    run_state_machine_as_test(Waits, settings=SETTINGS)


class Trees(RuleBasedStateMachine):
    """Trees of workflows: whatever happens, the tree keeps its promises."""

    def __init__(self):
        super().__init__()
        self.world = World()
        self.roots = []
        self.final = {}
        self.contexts = {}
        self.inputs = {}
        self.world.program("flow", self.flow)

    def flow(self, job):
        """Suspend on the children that the data describe, then finish as it says."""
        plan = job.data
        if job.continuation == "start" and plan["children"]:
            children = []
            for number, child in enumerate(plan["children"]):
                kind = None if child is None else "workflow"
                program = "leaf" if child is None else "flow"
                children.append(command(f"c{number}", program, kind=kind, data=child))
            return job.suspend("end", *children)
        if plan["end"] == "wait" and job.continuation != "woken":
            return job.wait_event("k", "woken")
        return job.fail() if plan["end"] == "fail" else job.complete()

    plans = st.recursive(
        st.none(),
        lambda child: st.fixed_dictionaries(
            {
                "children": st.lists(child, max_size=3),
                "end": st.sampled_from(["complete", "fail", "wait"]),
            }
        ),
        max_leaves=8,
    ).filter(lambda plan: plan is not None)

    @rule(plan=plans)
    def start(self, plan):
        self.roots.append(self.world.start("flow", plan))

    @rule(
        fate=st.sampled_from(["play", "play", "play", "break", "leave", "cancel"]),
    )
    def work(self, fate):
        job = self.world.claim()
        if job is None:
            return
        if job.payload is not None:
            frozen = {**job.payload, "local_steps": []}
            assert self.contexts.setdefault(job.task_id, frozen) == frozen
            for key, one in job.inputs.items():
                place = (job.payload["workflow_id"], key)
                assert self.inputs.setdefault(place, one) == one
        if fate == "break":
            self.world.break_down(job)
        elif fate == "cancel":
            self.world.cancel_task(job.task_id)
            self.world.succeed(job, None)
        elif fate == "play":
            self.world.play(job)

    def everything(self, state=None):
        more = {} if state is None else {"state": state}
        request = {"scope": SCOPE, "limit": 100, **more}
        return self.world.look.list_workflows(request)["items"]

    @rule(data=st.data())
    def cancel(self, data):
        found = [item["workflow"]["workflow_id"] for item in self.everything()]
        if found:
            self.world.cancel(data.draw(st.sampled_from(sorted(found))))

    @rule()
    def send(self):
        for item in self.everything("waiting"):
            try:
                self.world.send(item["workflow"]["workflow_id"], "k")
            except EngineError:
                continue

    @rule(ms=st.sampled_from([5000, 30_000, 60_000]))
    def wait(self, ms):
        self.world.clock.advance(ms)

    @invariant()
    def promises_hold(self):
        self.world.engine.pump()
        runs = {item["workflow"]["workflow_id"]: item for item in self.everything()}
        for workflow_id, item in runs.items():
            status = item["workflow"]
            check_workflow(self.world, status)
            if status["state"] in TERMINAL:
                assert self.final.setdefault(workflow_id, status) == status
                self.owned_work_has_ended(status)

    def owned_work_has_ended(self, status):
        for child in self.world.children(status["workflow_id"]).values():
            state = child["task_state"] or child["workflow_state"]
            assert state in TERMINAL
            assert child["terminal_at"] <= status["terminal_at"]

    def teardown(self):
        """Nothing is ever stuck: after a cancellation of the roots all ends."""
        for root in self.roots:
            self.world.cancel(root)
        for _ in range(20):
            self.world.engine.pump()
            self.world.clock.advance(30_000)
        self.world.engine.pump()
        for item in self.everything():
            assert item["workflow"]["state"] in TERMINAL
        tasks = self.world.look.list_tasks({"scope": SCOPE, "limit": 100})["items"]
        for status in tasks:
            check_task(status)
            assert status["state"] in TERMINAL
        assert self.world.engine.schedule().quiet


def test_trees_keep_their_promises():
    run_state_machine_as_test(Trees, settings=SETTINGS)


def test_a_world_starts_at_its_time():
    assert World().clock.now_ms() == T0
