"""Decisions: shapes, sizes, and what becomes of those that cannot be applied."""

import json

import pytest

from tests.support.local_world import (
    World,
    action,
    command,
)

KIB = 1024
INVALID = "decision_invalid"
FAILED = "decision_application_failed"


@pytest.fixture
def world():
    return World()


def decide(world, make):
    """Run one workflow whose first activation decides what ``make(job)`` says."""

    def flow(job):
        if job.continuation == "start":
            return make(job)
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    return workflow_id


def error_kind(world, workflow_id):
    outcome = world.result(workflow_id)
    return None if outcome is None else outcome.get("error", {}).get("kind")


def with_member(name, value):
    return lambda job: {**job.proceed("next"), name: value}


def waiting(**changes):
    def make(job):
        decision = job.wait_event("k", "next")
        wait = {**decision["wait"], **changes}
        return {**decision, "wait": {k: v for k, v in wait.items() if v is not ...}}

    return make


def approving(**changes):
    def make(job):
        decision = job.approval("k", "next", action(), 5)
        wait = {**decision["wait"], **changes}
        return {**decision, "wait": {k: v for k, v in wait.items() if v is not ...}}

    return make


def commanding(**changes):
    def make(job):
        one = {**command("c"), **changes}
        return job.suspend("next", {k: v for k, v in one.items() if v is not ...})

    return make


UNDECODABLE = {
    "null": lambda job: None,
    "a list": lambda job: [],
    "no kind": lambda job: {"v": 1},
    "unknown kind": with_member("kind", "stop"),
    "kind of another type": with_member("kind", ["continue"]),
    "extra member": with_member("until", []),
    "version 2": with_member("v", 2),
    "version 1.0": with_member("v", 1.0),
    "version true": with_member("v", True),
    "another activation": with_member("activation_id", "task_other"),
    "no activation": with_member("activation_id", ""),
    "revision as float": with_member("revision", 0.0),
    "empty continuation": with_member("continuation", ""),
    "long continuation": with_member("continuation", "c" * 129),
    "commands null": with_member("commands", None),
    "65 commands": lambda job: job.proceed("n", *map(command, map(str, range(65)))),
    "a key twice": lambda job: job.proceed("n", command("a"), command("a")),
    "until null": lambda job: {**job.suspend("n"), "until": None},
    "until with numbers": lambda job: job.suspend("n", until=[1]),
    "until twice": lambda job: job.suspend("n", command("a"), until=["a", "a"]),
    "65 until": lambda job: job.suspend("n", until=map(str, range(65))),
    "state missing": lambda job: _without(job.proceed("n"), "state"),
    "output missing": lambda job: _without(job.complete(), "output"),
    "complete with commands": lambda job: {**job.complete(), "commands": []},
    "fail without kind": lambda job: {**job.fail(), "error": {"message": "m"}},
    "fail with empty kind": lambda job: job.fail(""),
    "fail with long message": lambda job: job.fail("k", "m" * 4097),
    "wait without timeout": waiting(timeout_ms=...),
    "wait too long": waiting(timeout_ms=31_536_000_001),
    "negative wait": waiting(timeout_ms=-1),
    "wait of another kind": waiting(kind="child"),
    "wait with an extra member": waiting(delay_ms=1),
    "wait without key": waiting(key=""),
    "wait null": lambda job: {**job.wait_event("k", "n"), "wait": None},
    "timer without delay": waiting(kind="timer"),
    "timer with null": waiting(kind="timer", timeout_ms=..., delay_ms=None),
    "approval without end": approving(timeout_ms=None),
    "approval without arguments": approving(action={"name": "n", "version": "1"}),
    "approval with list arguments": approving(
        action={"name": "n", "version": "1", "arguments": []}
    ),
    "approval with list proposal": approving(proposed_arguments=[]),
    "approval with long name": approving(action=action("n" * 513)),
    "command without data": commanding(data=...),
    "command with null policy": commanding(retry_policy=None),
    "command with unknown kind": commanding(kind="branch"),
    "command with bad program": commanding(program={"id": "A", "version": "1"}),
    "command with unknown program": commanding(program={"id": "a", "version": "1"}),
    "deep state": lambda job: job.proceed("n", state=_nested(65)),
    "deep output": lambda job: job.complete(_nested(65)),
}


def _without(decision, name):
    return {key: value for key, value in decision.items() if key != name}


def _nested(depth):
    value = None
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("make", UNDECODABLE.values(), ids=UNDECODABLE)
def test_an_undecodable_decision_is_invalid_and_never_retried(world, make):
    workflow_id = decide(world, make)
    assert error_kind(world, workflow_id) == INVALID
    assert world.result(workflow_id)["error"]["message"]
    assert world.workflow(workflow_id)["revision"] == 0
    assert world.children(workflow_id) == {}
    assert len(world.jobs) == 1
    assert world.task(world.jobs[0].task_id)["state"] == "succeeded"


APPLIED = {
    "64 commands": lambda job: job.proceed("n", *map(command, map(str, range(64)))),
    "64 until": lambda job: job.suspend("n", *map(command, map(str, range(64)))),
    "64 KiB of state": lambda job: job.proceed("n", state="x" * (64 * KIB - 2)),
    "deepest state": lambda job: job.proceed("n", state=_nested(64)),
    "longest wait": waiting(timeout_ms=31_536_000_000),
    "longest names": lambda job: job.proceed("c" * 128, command("k" * 128)),
    "a command of kind task": commanding(kind="task"),
    "a null proposal": approving(proposed_arguments=None),
    "no message": lambda job: job.fail("k", ""),
    "longest message": lambda job: job.fail("k", "m" * 4096),
    "any message": lambda job: job.fail("k", "\x00\n\ufffe"),
}


@pytest.mark.parametrize("make", APPLIED.values(), ids=APPLIED)
def test_a_decision_at_its_limits_is_applied(world, make):
    workflow_id = decide(world, make)
    assert error_kind(world, workflow_id) in (None, "k")
    assert world.workflow(workflow_id)["revision"] == 1


@pytest.mark.parametrize(("more", "kind"), [(0, None), (1, INVALID)])
def test_state_is_limited_to_64_kib(world, more, kind):
    workflow_id = decide(
        world, lambda job: job.proceed("n", state="x" * (64 * KIB - 2 + more))
    )
    assert error_kind(world, workflow_id) == kind


@pytest.mark.parametrize(("more", "kind"), [(0, None), (1, INVALID)])
def test_a_decision_is_limited_to_256_kib(world, more, kind):
    def make(job):
        blank = job.complete("")
        room = 256 * KIB - len(json.dumps(blank, separators=(",", ":")))
        return job.complete("x" * (room + more))

    workflow_id = decide(world, make)
    assert error_kind(world, workflow_id) == kind


@pytest.mark.parametrize(("size", "kind"), [(32 * KIB, None), (32 * KIB + 1, INVALID)])
@pytest.mark.parametrize("what", ["action", "proposed_arguments"])
def test_an_action_and_a_proposal_have_32_kib(world, what, size, kind):
    def make(job):
        if what == "action":
            blank = action(x="")
            room = size - len(json.dumps(blank, separators=(",", ":")))
            return job.approval("k", "n", action(x="x" * room), 5)
        room = size - len('{"x":""}')
        return job.approval("k", "n", action(), 5, proposed_arguments={"x": "x" * room})

    workflow_id = decide(world, make)
    assert error_kind(world, workflow_id) == kind


REFUSED = {
    "a wrong revision": with_member("revision", 1),
    "unknown until": lambda job: job.suspend("n", command("a"), until=["b"]),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_a_decision_that_does_not_fit_its_run_fails_to_apply(world, make):
    workflow_id = decide(world, make)
    assert error_kind(world, workflow_id) == FAILED
    assert world.children(workflow_id) == {}
    assert world.workflow(workflow_id)["revision"] == 0


def test_what_is_found_before_application_starts_wins(world):
    unknown = command("c", program="unknown")
    workflow_id = decide(
        world, lambda job: {**job.suspend("n", unknown, until=["z"]), "revision": 7}
    )
    assert error_kind(world, workflow_id) == INVALID


def test_a_command_may_not_name_a_branch(world):
    def flow(job):
        if job.continuation == "start":
            job.fork("f", {"key": "b", "entrypoint": "e", "queue": "q", "data": None})
            return job.suspend("n", command("b", "flow", kind="workflow"))
        return job.complete()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    assert error_kind(world, workflow_id) == FAILED


def test_an_unjoined_branch_must_be_terminal_to_complete(world):
    def flow(job):
        if job.continuation == "start":
            job.fork(
                "f", {"key": "b", "entrypoint": "e", "queue": "q", "data": job.data}
            )
            if job.data == "wait":
                world.play(world.claim())
            return job.complete("done")
        return job.complete()

    world.program("flow", flow)
    early, late = world.start("flow", "now"), None
    world.play(world.claim())
    assert error_kind(world, early) == FAILED
    late = world.start("flow", "wait")
    world.run()
    assert world.result(late)["output"] == "done"


def outputs(sizes, then):
    """A run whose tasks return texts so that their inputs have these sizes."""

    def flow(job):
        if job.continuation == "start":
            tasks = [command(f"c{n}", "grow", data=n) for n in range(len(sizes))]
            return then(job, tasks)
        if job.continuation == "go":
            return job.proceed("end")
        return job.complete(len(job.inputs))

    return flow


def big_inputs(world, sizes, *, later=False):
    def then(job, tasks):
        if later:
            return job.wait_event("e", "go", commands=tasks)
        return job.suspend("end", *tasks)

    world.program("flow", outputs(sizes, then))
    world.program("grow", lambda job: "x" * sizes[job.data])
    workflow_id = world.start("flow")
    world.run()
    if later:
        world.send(workflow_id, "e")
        world.run()
    return workflow_id


@pytest.mark.parametrize("later", [False, True], ids=["suspend", "continue"])
def test_inputs_that_are_too_large_fail_the_run(world, later):
    fits = big_inputs(world, [100 * KIB, 100 * KIB], later=later)
    assert world.result(fits)["output"] == 2
    too_large = big_inputs(world, [130 * KIB, 126 * KIB], later=later)
    assert error_kind(world, too_large) == FAILED
    # Refused by the decision, or found when the last child ended.
    assert world.workflow(too_large)["revision"] == 1
    assert len(world.children(too_large)) == 2


@pytest.mark.parametrize(("more", "kind"), [(0, None), (1, FAILED)])
def test_inputs_may_have_exactly_256_kib(world, more, kind):
    one = big_inputs(world, [0])
    (job,) = (job for job in world.jobs if job.payload and job.inputs)
    empty = len(json.dumps(job.inputs, separators=(",", ":")))
    assert world.result(one)["output"] == 1
    # Identifiers of this world have the same length in every run.
    workflow_id = big_inputs(world, [256 * KIB - empty + more])
    assert error_kind(world, workflow_id) == kind


def test_continue_takes_64_children_oldest_first_and_the_rest_later(world):
    def flow(job):
        step = job.payload["revision"]
        if step == 0:
            return job.proceed("n", *map(command, (f"a{n:02}" for n in range(64))))
        if step == 1:
            more = [command(f"b{n}") for n in range(3)]
            return job.wait_event("go", "n", commands=more)
        if step == 2:
            return job.proceed("n")
        if step == 3:
            assert len(job.inputs) == 64
            return job.proceed("n", state=sorted(job.inputs))
        return job.complete([job.payload["state"], sorted(job.inputs)])

    world.program("flow", flow)
    workflow_id = world.start("flow")
    while world.step() is not None:
        world.clock.advance(1)
    world.send(workflow_id, "go")
    world.run()
    first, second = world.result(workflow_id)["output"]
    terminal = {
        key: child["terminal_at"] for key, child in world.children(workflow_id).items()
    }
    by_age = sorted(terminal, key=terminal.get)
    assert first == sorted(by_age[:64])
    assert second == sorted(by_age[64:])
