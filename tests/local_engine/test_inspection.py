"""Lists, histories and views."""

import pytest

from ledgence.local._engine import InvalidInput, NotFound
from tests.support.ids import stable
from tests.support.local_world import (
    SCOPE,
    T0,
    Died,
    World,
    action,
    branch,
    cloud_event,
    command,
)


@pytest.fixture
def world():
    return World()


def listed(world, **more):
    return world.look.list_tasks({"scope": SCOPE, **more})


def ids(page):
    return [item["task_id"] for item in page["items"]]


def test_tasks_are_listed_newest_first_in_pages(world):
    tasks = []
    for number in range(5):
        world.clock.advance(number % 2)
        tasks.append(world.submit())
    expected = sorted(
        tasks, key=lambda one: (world.task(one)["submitted_at"], one), reverse=True
    )
    found, cursor = [], None
    sizes = []
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        page = listed(world, limit=2, **more)
        sizes.append(len(page["items"]))
        found += ids(page)
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == expected
    assert sizes == [2, 2, 1]


def test_a_full_last_page_has_no_cursor(world):
    for _ in range(4):
        world.submit()
    page = listed(world, limit=4)
    assert len(page["items"]) == 4
    assert page["next_cursor"] is None


def test_a_cursor_belongs_to_scope_and_filters_but_not_to_the_limit(world):
    for _ in range(3):
        world.submit()
    cursor = listed(world, limit=1)["next_cursor"]
    assert len(listed(world, limit=50, cursor=cursor)["items"]) == 2
    for other in ({"queue": "q"}, {"state": "queued"}, {"submitted_from": 0}):
        with pytest.raises(InvalidInput):
            listed(world, cursor=cursor, **other)
    with pytest.raises(InvalidInput):
        world.look.list_tasks(
            {"scope": {**SCOPE, "namespace": "other"}, "cursor": cursor}
        )
    for garbage in ("", "x", "é", cursor[:-4], "W10=", 5):
        with pytest.raises(InvalidInput):
            listed(world, cursor=garbage)


def test_filters_hold_all_at_once(world):
    one = world.submit(queue="a", correlation_key="c")
    world.clock.advance(10)
    two = world.submit(queue="a", correlation_key="")
    world.clock.advance(10)
    three = world.submit(queue="b", correlation_key="c")
    world.submit(namespace="other")
    world.cancel_task(three)
    assert ids(listed(world)) == [three, two, one]
    assert ids(listed(world, queue="a")) == [two, one]
    assert ids(listed(world, correlation_key="c")) == [three, one]
    assert ids(listed(world, correlation_key="")) == [two]
    assert ids(listed(world, state="cancelled")) == [three]
    assert ids(listed(world, state="queued", correlation_key="c")) == [one]
    assert ids(listed(world, submitted_from=T0 + 10)) == [three, two]
    assert ids(listed(world, submitted_until=T0 + 10)) == [one]


@pytest.mark.parametrize(
    "more",
    [
        {"state": "running"},
        {"state": 1},
        {"limit": 0},
        {"limit": 101},
        {"queue": ""},
        {"submitted_from": 5, "submitted_until": 5},
        {"submitted_from": -1},
        {"unknown": 1},
        {"root_only": 1},
    ],
    ids=stable,
)
def test_a_list_request_of_another_form_is_refused(world, more):
    with pytest.raises(InvalidInput):
        listed(world, **more)


def test_every_read_is_scoped(world):
    world.program("flow", lambda job: job.wait_event("k", "end"))
    task_id, workflow_id = world.submit(), world.start("flow")
    world.run()
    scope = {**SCOPE, "namespace": "other"}
    task = {"scope": scope, "task_id": task_id}
    run = {"scope": scope, "workflow_id": workflow_id}
    look = world.look
    questions = [
        *((ask, task) for ask in (look.task_status, look.task_result)),
        *((ask, task) for ask in (look.task_history, look.task_attempts)),
        *((ask, run) for ask in (look.workflow_status, look.workflow_result)),
        *((ask, run) for ask in (look.workflow, look.children, look.waits)),
        *((ask, run) for ask in (look.history, look.activations)),
        (look.list_approvals, run),
        (look.approval, {**run, "key": "k"}),
        (world.engine.cancel_task, task),
        (world.engine.cancel_workflow, run),
        (world.engine.send_event, {**run, "key": "k", "event": cloud_event()}),
    ]
    for ask, request in questions:
        with pytest.raises(NotFound):
            ask(request)
    assert world.workflow(workflow_id)["state"] == "waiting"


def reasons(world, task_id, **more):
    lines = world.look.task_history({"scope": SCOPE, "task_id": task_id, **more})
    assert all(line["event"]["task_id"] == task_id for line in lines)
    return [(line["sequence"], line["event"]["reason"]) for line in lines]


def test_the_history_of_a_task_that_is_retried(world):
    def dies_once(job):
        if job.number == 1:
            raise Died
        return 1

    world.program("p", dies_once)
    task_id = world.submit("p")
    world.run(skip=True)
    expected = [
        "submitted",
        "claimed",
        "dispatch_authorized",
        "report_accepted",
        "retry_scheduled",
        "claimed",
        "dispatch_authorized",
        "report_accepted",
        "succeeded",
    ]
    assert reasons(world, task_id) == list(enumerate(expected, 1))
    assert reasons(world, task_id, after_sequence=7) == [
        (8, "report_accepted"),
        (9, "succeeded"),
    ]
    assert reasons(world, task_id, after_sequence=9) == []


def test_the_history_of_a_task_that_runs(world):
    task_id = world.submit()
    world.engine.claim()
    assert [why for _, why in reasons(world, task_id)] == ["submitted", "claimed"]


def test_the_history_of_tasks_that_are_cancelled(world):
    waiting = world.submit()
    world.cancel_task(waiting)
    assert [why for _, why in reasons(world, waiting)] == [
        "submitted",
        "cancel_requested",
        "cancelled",
    ]
    running = world.submit()
    job = world.claim()
    world.cancel_task(running)
    world.succeed(job)
    assert [why for _, why in reasons(world, running)] == [
        "submitted",
        "claimed",
        "dispatch_authorized",
        "cancel_requested",
        "report_accepted",
        "cancelled",
    ]
    retrying = world.submit()
    world.break_down(world.claim())
    world.cancel_task(retrying)
    assert [why for _, why in reasons(world, retrying)][-3:] == [
        "retry_scheduled",
        "cancel_requested",
        "cancelled",
    ]


def test_the_history_of_a_lease_that_ends(world):
    task_id = world.submit()
    job = world.claim()
    world.succeed(job, quiescence="unconfirmed")
    world.advance(60_000)
    assert [why for _, why in reasons(world, task_id)][3:] == [
        "report_accepted",
        "lease_expired",
        "succeeded",
    ]
    task_id = world.submit()
    job = world.claim()
    world.succeed(job, quiescence="unconfirmed")
    world.clock.advance(5)
    world.cancel_task(task_id)
    world.clock.advance(5)
    world.engine.confirm(job.owner)
    assert [why for _, why in reasons(world, task_id)][3:] == [
        "report_accepted",
        "cancel_requested",
        "cleanup_confirmed",
        "cancelled",
    ]


def test_an_attempt_shows_its_event_and_report(world):
    task_id = world.submit(data=1)
    job = world.claim()
    request = {
        "scope": SCOPE,
        "task_id": task_id,
        "attempt_id": job.owner.attempt_id,
    }
    before = world.look.attempt(request)
    assert before["event"] == job.event
    assert before["settlement"] is None
    observations = {"runtime_started_at_ms": T0}
    body = {**world.body({"kind": "succeeded", "output": 1})}
    world.report(job, {**body, "observations": observations})
    after = world.look.attempt(request)
    assert after["event"] == job.event
    assert after["state"] == "succeeded"
    assert after["settlement"]["result"] == {"kind": "succeeded", "output": 1}
    assert world.look.observations(request)["observations"] == observations
    with pytest.raises(NotFound):
        world.look.attempt({**request, "attempt_id": "att_other"})
    other = world.submit()
    with pytest.raises(NotFound):
        world.look.attempt({**request, "task_id": other})


def tree(world):
    """A root that waits for a child workflow, a task and then an event."""

    def root(job):
        if job.continuation == "start":
            job.commit("step", 5)
            job.fork("f", branch("b", "branch"))
            child = command("c", "child", kind="workflow")
            return job.suspend("two", child, command("t", queue="never"))
        if job.continuation == "branch":
            return job.complete("branch")
        return job.wait_event("go", "end", 1000)

    world.program("root", root)
    world.program("child", lambda job: job.complete("child"))
    return world.start("root")


def test_a_summary_says_what_a_workflow_waits_for(world):
    workflow_id = tree(world)
    request = {"scope": SCOPE, "workflow_id": workflow_id}
    assert world.look.workflow(request)["continuation"] == "start"
    world.run()
    shown = world.look.workflow(request)
    assert shown["continuation"] == "two"
    assert shown["child_wait"]["command_keys"] == ["c", "t"]
    assert shown["child_wait"]["missing"] == 1
    assert shown["external_wait_key"] is None
    world.succeed(world.claim(queues=["never"]))
    world.run()
    shown = world.look.workflow(request)
    assert shown["child_wait"] is None
    assert shown["external_wait_key"] == "go"
    assert shown["external_wait"]["deadline"] == T0 + 1000
    assert shown["summary"]["workflow"] == world.workflow(workflow_id)


def test_the_parts_of_a_workflow_can_be_paged(world):
    workflow_id = tree(world)
    world.run()
    request = {"scope": SCOPE, "workflow_id": workflow_id}
    page = world.look.children({**request, "limit": 2})
    assert [item["command_key"] for item in page["items"]] == ["b", "c"]
    assert page["next_cursor"] == "c"
    rest = world.look.children({**request, "after_key": page["next_cursor"]})
    assert [item["command_key"] for item in rest["items"]] == ["t"]
    assert rest["next_cursor"] is None
    kinds = {item["command_key"]: item["kind"] for item in page["items"]}
    assert kinds == {"b": "workflow", "c": "workflow"}
    world.succeed(world.claim(queues=["never"]))
    world.run()
    first = world.look.activations({**request, "limit": 1})
    assert [item["revision"] for item in first["items"]] == [0]
    assert first["items"][0]["decision"] == "suspend"
    rest = world.look.activations({**request, "after_revision": first["next_cursor"]})
    assert [item["decision"] for item in rest["items"]] == ["wait"]
    assert rest["next_cursor"] is None
    waits = world.look.waits(request)["items"]
    assert [(wait["key"], wait["open"]) for wait in waits] == [("go", True)]


def test_an_activation_can_be_taken_home_for_a_replay(world):
    workflow_id = tree(world)
    world.run()
    first = world.jobs[0]
    request = {
        "scope": SCOPE,
        "workflow_id": workflow_id,
        "activation_id": first.task_id,
    }
    found = world.look.activation(request)
    assert found["context"] == {
        **first.payload,
        "local_steps": [step["record"] for step in world.look.local_steps(request)],
    }
    assert found["event"] == first.event
    assert found["result"]["output"]["kind"] == "suspend"
    assert found["activation"]["applied_at"] == T0
    for ask in (world.look.activation, world.look.local_steps):
        with pytest.raises(NotFound):
            ask({**request, "activation_id": "task_other"})


def test_an_activation_that_has_not_begun_has_no_event_yet(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    activation_id = world.workflow(workflow_id)["activation_id"]
    request = {"scope": SCOPE, "workflow_id": workflow_id}
    found = world.look.activation({**request, "activation_id": activation_id})
    assert found["event"] is found["result"] is None


def test_the_inbox_shows_what_was_accepted(world):
    world.program("flow", lambda job: job.wait_event("b", "end"))
    workflow_id = world.start("flow")
    for key in ("b", "a"):
        world.send(workflow_id, key, event_id=key)
    world.step()
    page = world.look.inbox({"scope": SCOPE, "workflow_id": workflow_id, "limit": 1})
    assert page["next_cursor"] == "a"
    (event,) = page["items"]
    assert (event["key"], event["pending"]) == ("a", True)
    assert event["event"] == cloud_event("a")
    request = {"scope": SCOPE, "workflow_id": workflow_id, "after_key": "a"}
    (event,) = world.look.inbox(request)["items"]
    assert (event["event_id"], event["pending"]) == ("b", False)


def test_the_history_of_a_workflow_has_one_order(world):
    workflow_id = tree(world)
    world.run()
    request = {"scope": SCOPE, "workflow_id": workflow_id}
    lines = world.look.history(request)
    assert [line["reason"] for line in lines] == [
        "submitted",
        "activation_scheduled",
        "step_committed",
        "child_registered",
        "fork_accepted",
        "child_registered",
        "child_registered",
        "decision_applied",
        "waiting",
        "child_ended",
        "child_ended",
    ]
    sequences = [line["sequence"] for line in lines]
    assert sequences == sorted(sequences)
    after = world.look.history({**request, "after_sequence": sequences[-3]})
    assert after == lines[-2:]


def test_workflows_are_listed_with_their_lineage(world):
    workflow_id = tree(world)
    world.run()
    everything = world.look.list_workflows({"scope": SCOPE})["items"]
    assert len(everything) == 3
    roots = world.look.list_workflows({"scope": SCOPE, "root_only": True})["items"]
    assert [item["workflow"]["workflow_id"] for item in roots] == [workflow_id]
    owned = world.look.list_workflows(
        {"scope": SCOPE, "parent_workflow_id": workflow_id, "limit": 1}
    )
    assert owned["items"][0]["workflow"]["root_workflow_id"] == workflow_id
    assert owned["next_cursor"] is not None
    waiting = world.look.list_workflows({"scope": SCOPE, "state": "waiting"})["items"]
    assert [item["queue"] for item in waiting] == ["q"]


def test_approvals_are_listed_by_key_in_byte_order(world):
    def asking(job):
        keys = ["b", "a", "é", "Z"]
        number = job.payload["revision"]
        if number < len(keys):
            return job.approval(keys[number], "next", action(), 0)
        return job.complete()

    world.program("flow", asking)
    workflow_id = world.start("flow")
    world.run()
    request = {"scope": SCOPE, "workflow_id": workflow_id}
    page = world.look.list_approvals({**request, "after_key": None, "limit": 3})
    assert [item["key"] for item in page["items"]] == ["Z", "a", "b"]
    assert page["next_cursor"] == "b"
    page = world.look.list_approvals({**request, "after_key": "b", "limit": 1})
    assert [item["key"] for item in page["items"]] == ["é"]
    assert page["next_cursor"] is None
    with pytest.raises(InvalidInput):
        world.look.list_approvals({**request, "limit": 11})


def test_questions_do_not_change_their_requests(world):
    world.program("flow", lambda job: job.complete())
    workflow_id = world.start("flow")
    request = {"scope": SCOPE, "workflow_id": workflow_id, "limit": 2}
    copy = dict(request)
    world.look.children(request)
    world.look.activations(request)
    assert request == copy
