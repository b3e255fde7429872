"""The journal and forks at their limits."""

import pytest

from ledgence.local._engine import Conflict, InvalidInput, Owner, OwnershipLost
from tests.support.local_world import SCOPE, Fails, World, branch, command

KIB = 1024


@pytest.fixture
def world():
    return World()


def activation(world, **more):
    """Return the claimed first activation of a workflow."""
    world.program("flow", lambda job: job.complete())
    world.start("flow", **more)
    return world.claim()


def filled(record, size):
    """Return a record whose compact JSON has this many bytes."""
    import json

    blank = {**record, "output": ""}
    empty = len(json.dumps(blank, separators=(",", ":")))
    return {**blank, "output": "x" * (size - empty)}


RECORD = {"key": "k", "callable": "m:f", "input": {}, "output": None}


@pytest.mark.parametrize(
    "change",
    [
        {"key": ""},
        {"key": "k" * 129},
        {"key": "a\nb"},
        {"callable": "c" * 513},
        {"callable": None},
        {"extra": 1},
        {"input": float("inf")},
    ],
    ids=lambda change: repr(change)[:40],
)
def test_a_record_of_another_shape_is_refused(world, change):
    job = activation(world)
    with pytest.raises(InvalidInput) as caught:
        job.request("local_step.commit", {**RECORD, **change})
    assert caught.value.failure == "protocol"


def test_a_record_may_have_odd_keys_and_any_input(world):
    job = activation(world)
    record = {**RECORD, "key": "_approval:x", "input": [1, None], "callable": "a b"}
    assert job.request("local_step.commit", record) == {"committed": True}


def test_a_record_is_limited_to_128_kib(world):
    job = activation(world)
    job.request("local_step.commit", filled(RECORD, 128 * KIB))
    with pytest.raises(InvalidInput):
        job.request("local_step.commit", filled({**RECORD, "key": "l"}, 128 * KIB + 1))


def test_a_journal_is_limited_to_256_kib_as_an_array(world):
    job = activation(world)
    job.request("local_step.commit", filled(RECORD, 128 * KIB))
    # Two brackets and one comma.
    rest = 128 * KIB - 3
    second = {**RECORD, "key": "l"}
    with pytest.raises(InvalidInput):
        job.request("local_step.commit", filled(second, rest + 1))
    job.request("local_step.commit", filled(second, rest))
    with pytest.raises(InvalidInput):
        job.commit("m")
    # What is stored is still acknowledged.
    job.request("local_step.commit", filled(second, rest))


def test_a_journal_holds_128_records(world):
    job = activation(world)
    for number in range(128):
        job.commit(f"k{number}")
    with pytest.raises(InvalidInput):
        job.commit("one more")
    job.commit("k5")


@pytest.mark.parametrize(("depth", "fits"), [(64, True), (65, False)])
def test_the_output_of_a_step_may_nest_64_deep(world, depth, fits):
    output = None
    for _ in range(depth):
        output = [output]
    job = activation(world)
    if fits:
        job.commit("k", output)
    else:
        with pytest.raises(InvalidInput):
            job.commit("k", output)


def test_the_journal_is_read_by_key_in_byte_order(world):
    def flow(job):
        if job.number == 1:
            for key in ("b", "a", "é", "Z"):
                job.commit(key)
            raise Fails
        return job.complete([step["key"] for step in job.payload["local_steps"]])

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run(skip=True)
    assert world.result(workflow_id)["output"] == ["Z", "a", "b", "é"]


def test_another_attempt_needs_authority_to_repeat_a_record(world):
    job = activation(world)
    job.commit("k")
    world.break_down(job)
    world.clock.advance(5000)
    second = world.claim()
    assert second.commit("k") == {"committed": True}
    world.cancel_task(job.task_id)
    with pytest.raises(OwnershipLost):
        second.commit("k")
    # The attempt that stored it needs none.
    assert job.commit("k") == {"committed": True}


def to_deadline(world, job):
    """Let the deadline come while the lease still lives."""
    while world.clock.now_ms() < job.assignment.deadline:
        world.clock.advance(15_000)
        lease = world.engine.renew(job.owner)
    assert lease.expires_at > world.clock.now_ms()
    assert lease.budget_ms == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda world, job: world.cancel_task(job.task_id),
        lambda world, job: world.cancel(job.payload["workflow_id"]),
        lambda world, job: world.clock.advance(60_000),
        lambda world, job: world.break_down(job),
        lambda world, job: world.succeed(job, None, "unconfirmed"),
        to_deadline,
    ],
    ids=[
        "task cancelled",
        "workflow cancelled",
        "lease over",
        "settled",
        "reported",
        "deadline",
    ],
)
def test_without_authority_nothing_new_is_accepted(world, spoil):
    job = activation(world)
    job.commit("old")
    spoil(world, job)
    for request in (
        lambda: job.commit("new"),
        lambda: job.fork("f", branch("a")),
        lambda: world.engine.activation_extension(job.owner),
    ):
        with pytest.raises(OwnershipLost):
            request()
    job.commit("old")


def test_a_commit_needs_the_dispatch_renewal_and_a_read_does_not(world):
    world.program("flow", lambda job: job.complete())
    world.start("flow")
    assignment = world.engine.claim()
    world.engine.activation_extension(assignment.owner)
    with pytest.raises(OwnershipLost):
        world.engine.runtime_request(assignment.owner, "local_step.commit", RECORD)


def test_requests_belong_to_activations_and_their_attempts(world):
    world.submit()
    task = world.claim()
    with pytest.raises(OwnershipLost):
        task.commit("k")
    with pytest.raises(OwnershipLost):
        task.fork("f", branch("a"))
    job = activation(world)
    stranger = Owner(job.task_id, task.owner.attempt_id, job.owner.lease_id)
    with pytest.raises(OwnershipLost):
        world.engine.runtime_request(stranger, "local_step.commit", RECORD)
    with pytest.raises(InvalidInput):
        job.request("local_step.forget", RECORD)


FORK = {"key": "f", "branches": [branch("a")]}


@pytest.mark.parametrize(
    "request_value",
    [
        {**FORK, "extra": 1},
        {**FORK, "key": ""},
        {**FORK, "branches": []},
        {**FORK, "branches": [branch(f"b{n}") for n in range(65)]},
        {**FORK, "branches": [branch("a"), branch("a")]},
        {**FORK, "branches": [{**branch("a"), "kind": "workflow"}]},
        {**FORK, "branches": [branch("a", "")]},
        {**FORK, "branches": [branch("a", queue="")]},
        {**FORK, "branches": [branch("a", attempt_timeout_ms=1)]},
        {**FORK, "branches": [branch("a", retry_policy=None)]},
        {**FORK, "branches": "a"},
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_fork_of_another_shape_is_refused(world, request_value):
    job = activation(world)
    with pytest.raises(InvalidInput):
        job.request("workflow.fork", request_value)
    assert world.children(job.payload["workflow_id"]) == {}


def test_a_repeated_fork_is_recognised_with_its_defaults_spelled_out(world):
    job = activation(world)
    first = job.fork("f", branch("a", data={"x": 1, "y": 2}))
    spelled = branch(
        "a",
        data={"y": 2, "x": 1},
        retry_policy={"max_attempts": 3, "retry_delay_ms": 5000},
        attempt_timeout_ms=300_000,
    )
    assert job.fork("f", spelled) == first
    assert len(world.children(job.payload["workflow_id"])) == 1


@pytest.mark.parametrize(
    "branches",
    [
        [branch("b"), branch("a")],
        [branch("a")],
        [branch("a"), branch("b", data=0)],
        [branch("a"), branch("b", "other")],
        [branch("a"), branch("b", queue="other")],
        [branch("a"), branch("c")],
    ],
    ids=["order", "fewer", "data", "entrypoint", "queue", "key"],
)
def test_a_changed_fork_is_a_conflict(world, branches):
    job = activation(world)
    job.fork("f", branch("a"), branch("b"))
    with pytest.raises(Conflict):
        job.fork("f", *branches)


def test_another_attempt_needs_authority_to_repeat_a_fork(world):
    job = activation(world)
    receipt = job.fork("f", branch("a", queue="never"))
    world.break_down(job)
    world.clock.advance(5000)
    second = world.claim(queues=["q"])
    assert second.fork("f", branch("a", queue="never")) == receipt
    world.cancel_task(job.task_id)
    with pytest.raises(OwnershipLost):
        second.fork("f", branch("a", queue="never"))
    assert job.fork("f", branch("a", queue="never")) == receipt


def test_a_fork_key_is_known_in_later_activations(world):
    def flow(job):
        job.fork("f", branch("a", queue="never"))
        if job.continuation == "start":
            return job.proceed("two")
        return job.fail()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    world.step()
    assert world.children(workflow_id)["a"]["creating_revision"] == 0
    world.run()
    assert world.result(workflow_id)["error"]["kind"] == "bad"


def test_a_branch_key_belongs_to_one_child(world):
    seen = []

    def flow(job):
        if job.continuation == "start":
            return job.wait_event("go", "two", commands=[command("a")])
        for key in ("a", "b"):
            try:
                job.fork(f"f-{key}", branch("new"), branch(key))
            except Conflict:
                seen.append(key)
        return job.fail()

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.run()
    world.send(workflow_id, "go")
    world.run()
    assert seen == ["a"]
    assert set(world.children(workflow_id)) == {"a", "b", "new"}


def test_an_activation_has_64_forks_at_most(world):
    job = activation(world)
    for number in range(64):
        job.fork(f"f{number}", branch(f"b{number}", queue="never"))
    with pytest.raises(InvalidInput):
        job.fork("more", branch("more"))
    job.fork("f3", branch("b3", queue="never"))


def test_forks_of_an_activation_have_64_branches(world):
    job = activation(world)
    job.fork("f", *(branch(f"a{n}") for n in range(40)))
    with pytest.raises(InvalidInput):
        job.fork("g", *(branch(f"b{n}") for n in range(25)))
    job.fork("g", *(branch(f"b{n}") for n in range(24)))


def test_forks_of_an_activation_have_256_kib(world):
    job = activation(world)
    for number in range(2):
        job.fork(f"f{number}", branch(f"b{number}", data="x" * (127 * KIB)))
    job.fork("f2", branch("b2", data="x" * 1000))
    with pytest.raises(InvalidInput):
        job.fork("f3", branch("b3", data="x" * 1000))


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_a_fork_is_limited_to_128_kib(world, more, fits):
    import json

    job = activation(world)
    request = {"key": "f", "branches": [branch("a", data="")]}
    room = 128 * KIB - len(json.dumps(request, separators=(",", ":")))
    request["branches"][0]["data"] = "x" * (room + more)
    if fits:
        job.request("workflow.fork", request)
    else:
        with pytest.raises(InvalidInput):
            job.request("workflow.fork", request)


@pytest.mark.parametrize(("new", "fits"), [(24, True), (25, False)])
def test_branches_and_commands_share_64_new_children(world, new, fits):
    def flow(job):
        if job.continuation == "end":
            return job.complete()
        job.fork("f", *(branch(f"b{n}", "end") for n in range(40)))
        return job.suspend("end", *(command(f"c{n}") for n in range(new)), until=[])

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    state = world.workflow(workflow_id)["state"]
    assert state == ("running" if fits else "failed")


@pytest.mark.parametrize("how", ["fork", "commands"])
def test_a_parent_has_64_live_workflows_at_most(world, how):
    def flow(job):
        step = job.continuation
        if step == "start":
            return job.proceed("two", *more(0, 40))
        if step == "two" and job.number == 1 and how == "fork":
            with pytest.raises(InvalidInput):
                job.fork("f", *(branch(f"b{n}") for n in range(25)))
            job.fork("f", *(branch(f"b{n}", queue="never") for n in range(24)))
            return job.wait_event("go", "three")
        if step == "two":
            return job.wait_event("go", "three", commands=more(40, 64))
        if step == "three":
            world.cancel(world.child(job.payload["workflow_id"], "w0"))
            world.engine.pump()
            return job.proceed("four", *more(64, 65))
        return job.proceed("five", *more(65, 66))

    def more(first, last):
        return [
            command(f"w{n}", "idle", kind="workflow", queue="never")
            for n in range(first, last)
        ]

    world.program("flow", flow)
    world.program("idle", lambda job: job.complete())
    workflow_id = world.start("flow")
    for _ in range(2):
        world.play(world.claim(queues=["q"]))
    world.send(workflow_id, "go")
    world.play(world.claim(queues=["q"]))
    # A terminal one has freed its place.
    status = world.workflow(workflow_id)
    assert (status["state"], status["revision"]) == ("running", 3)
    world.play(world.claim(queues=["q"]))
    error = world.result(workflow_id)["error"]
    assert error["kind"] == "decision_application_failed"


def test_tasks_do_not_count_as_live_workflows(world):
    def flow(job):
        number = job.payload["revision"]
        if number < 2:
            tasks = (command(f"{number}-{n}", queue="never") for n in range(64))
            return job.proceed("more", *tasks)
        return job.proceed("last", command("w", "idle", kind="workflow"))

    world.program("flow", flow)
    world.program("idle", lambda job: job.complete())
    workflow_id = world.start("flow")
    for _ in range(3):
        world.play(world.claim(queues=["q"]))
    assert world.workflow(workflow_id)["revision"] == 3


def test_a_branch_inherits_what_the_parent_has(world):
    job = activation(world, correlation_key="c")
    trace = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "v=1"}
    job.fork("f", branch("a", "entry", data=[1], attempt_timeout_ms=60_000))
    from ledgence.local._engine import Trace

    world.engine.runtime_request(
        job.owner,
        "workflow.fork",
        {"key": "g", "branches": [branch("b")]},
        trace=Trace(**trace),
    )
    world.succeed(job, job.fail())
    plain, traced = (
        world.look.workflow_status(
            {"scope": SCOPE, "workflow_id": world.child(job.payload["workflow_id"], k)}
        )
        for k in ("a", "b")
    )
    assert plain["correlation_key"] == traced["correlation_key"] == "c"
    tasks = world.look.list_tasks({"scope": SCOPE, "correlation_key": "c"})["items"]
    shots = {
        task["workflow_id"]: world.look.task_snapshot(
            {"scope": SCOPE, "task_id": task["task_id"]}
        )
        for task in tasks
    }
    assert shots[plain["workflow_id"]]["origin_trace"] is None
    assert shots[traced["workflow_id"]]["origin_trace"] == trace
    assert shots[plain["workflow_id"]]["input"]["attempt_timeout_ms"] == 60_000
