"""What a submission may be, and what its key stands for."""

import pytest

from ledgence.local._engine import Conflict, InvalidInput, NotFound, Unavailable
from tests.support.ids import stable
from tests.support.local_world import SCOPE, World

MIB = 1 << 20


@pytest.fixture
def world():
    return World()


def changed(request, path, value):
    """Return the request with one member set (or, with ..., removed)."""
    *way, last = path.split(".")
    copy = {**request, "input": {**request["input"]}}
    owner = copy
    for name in way:
        owner = owner[name]
    if value is ...:
        del owner[last]
    else:
        owner[last] = value
    return copy


TRACE = f"00-{'a' * 32}-{'b' * 16}-00"

REFUSED = [
    ("idempotency_key", ...),
    ("idempotency_key", ""),
    ("idempotency_key", "k" * 256),
    ("idempotency_key", "a\x00b"),
    ("idempotency_key", "a\ufffe"),
    ("idempotency_key", 1),
    ("extra", 1),
    ("input.extra", 1),
    ("input.tenant_id", ...),
    ("input.tenant_id", "t" * 129),
    ("input.namespace", None),
    ("input.queue", ""),
    ("input.data", ...),
    ("input.data", float("nan")),
    ("input.data", "x" * (MIB - 1)),
    ("input.program", {"id": "leaf"}),
    ("input.program", {"id": "Leaf", "version": "1"}),
    ("input.program", {"id": "..", "version": "1"}),
    ("input.program", {"id": "leaf", "version": ""}),
    ("input.correlation_key", "c" * 513),
    ("input.correlation_key", "a\x7fb"),
    ("input.correlation_key", 5),
    ("input.retry_policy", None),
    ("input.retry_policy", {"max_attempts": 3}),
    ("input.retry_policy", {"max_attempts": 0, "retry_delay_ms": 0}),
    ("input.retry_policy", {"max_attempts": 1001, "retry_delay_ms": 0}),
    ("input.retry_policy", {"max_attempts": 1.0, "retry_delay_ms": 0}),
    ("input.retry_policy", {"max_attempts": True, "retry_delay_ms": 0}),
    ("input.retry_policy", {"max_attempts": 1, "retry_delay_ms": 86400001}),
    ("input.attempt_timeout_ms", None),
    ("input.attempt_timeout_ms", 59999),
    ("input.attempt_timeout_ms", 86400001),
    ("origin_trace", {}),
    ("origin_trace", {"traceparent": TRACE.upper()}),
    ("origin_trace", {"traceparent": TRACE, "tracestate": None}),
    ("origin_trace", {"traceparent": TRACE, "tracestate": "A=1"}),
]

ACCEPTED = [
    ("idempotency_key", "k" * 255),
    ("input.tenant_id", "t" * 128),
    ("input.data", None),
    ("input.data", "x" * (MIB - 2)),
    ("input.correlation_key", None),
    ("input.correlation_key", ""),
    ("input.correlation_key", "c" * 512),
    ("input.correlation_key", "\ufffe"),
    ("input.retry_policy", {"max_attempts": 1, "retry_delay_ms": 0}),
    ("input.retry_policy", {"max_attempts": 1000, "retry_delay_ms": 86400000}),
    ("input.attempt_timeout_ms", 60000),
    ("input.attempt_timeout_ms", 86400000),
    ("origin_trace", None),
    ("origin_trace", {"traceparent": TRACE}),
    ("origin_trace", {"traceparent": TRACE, "tracestate": "a=1"}),
]


def named(case):
    path, value = case
    return f"{path}={str(value)[:40]!r}" if value is not ... else f"no {path}"


@pytest.mark.parametrize("case", REFUSED, ids=named)
def test_a_submission_outside_the_contract_is_refused(world, case):
    request = changed(world.request(), *case)
    for submit in (world.engine.submit_task, world.engine.submit_workflow):
        with pytest.raises(InvalidInput) as caught:
            submit(request)
        body = caught.value.body()
        assert body["code"] == "invalid_input"
        assert body["message"]
    assert world.look.list_tasks({"scope": SCOPE})["items"] == []
    assert world.resolved == []


@pytest.mark.parametrize("case", ACCEPTED, ids=named)
def test_a_submission_at_its_limits_is_accepted(world, case):
    request = changed(world.request(), *case)
    first = world.engine.submit_task(request)
    assert world.engine.submit_task(request) == first
    assert first["state"] == "queued"


@pytest.mark.parametrize("request_value", [None, [], "x", 1, {}], ids=stable)
def test_a_submission_is_an_object(world, request_value):
    with pytest.raises(InvalidInput):
        world.engine.submit_task(request_value)


def test_the_data_limit_counts_as_the_service_spells_floats(world):
    # 1e-05 has five bytes here and seven there.
    room = MIB - len('[0.00001,""]')
    world.submit(data=[1e-05, "x" * room])
    with pytest.raises(InvalidInput):
        world.submit(data=[1e-05, "x" * (room + 1)])
    # 1e-07 has five bytes here and four there.
    room = MIB - len('[1e-7,""]')
    world.submit(data=[1e-07, "x" * room])


@pytest.mark.parametrize(
    "more",
    [
        {"data": 2},
        {"queue": "other"},
        {"correlation_key": "c"},
        {"retry_policy": {"max_attempts": 4, "retry_delay_ms": 5000}},
        {"retry_policy": {"max_attempts": 3, "retry_delay_ms": 5001}},
        {"attempt_timeout_ms": 60000},
        {"program": {"id": "leaf", "version": "2"}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_a_key_stands_for_one_input(world, more):
    world.program("leaf", lambda job: None, version="2")
    request = world.request(data=1, key="k")
    other = {**request, "input": {**request["input"], **more}}
    for submit in (world.engine.submit_task, world.engine.submit_workflow):
        submit(request)
        with pytest.raises(Conflict) as caught:
            submit(other)
        assert caught.value.body() == {"code": "conflict"}


def test_a_key_is_free_in_another_scope(world):
    first = world.submit(key="k")
    second = world.submit(key="k", namespace="other")
    assert first != second


def test_the_first_trace_stays(world):
    trace = {"traceparent": TRACE}
    first = world.submit(key="k", trace=trace)
    assert world.submit(key="k") == first
    request = {"scope": SCOPE, "task_id": first}
    assert world.look.task_snapshot(request)["origin_trace"] == trace


def test_an_unknown_program_leaves_nothing_behind(world):
    for submit in (world.submit, world.start):
        with pytest.raises(NotFound) as caught:
            submit("unknown", key="k")
        assert caught.value.body() == {"code": "not_found"}
    world.program("unknown", lambda job: job.complete())
    world.submit("unknown", key="k")
    world.start("unknown", key="k")


def test_an_outage_of_the_programs_is_unavailable_but_a_known_key_is_not(world):
    task_id = world.submit(key="k")
    world.outage = True
    assert world.submit(key="k") == task_id
    with pytest.raises(Unavailable) as caught:
        world.submit(key="new")
    assert set(caught.value.body()) == {"code", "message"}
    assert len(world.look.list_tasks({"scope": SCOPE})["items"]) == 1


@pytest.mark.parametrize("outage", [True, False], ids=["outage", "not found"])
def test_a_key_accepted_meanwhile_by_somebody_else_is_recognised(world, outage):
    """The look-up of the program fails, and another host has accepted the key."""
    other = World(world.store, prefix="other-")
    request = world.request(key="k")

    def resolve(program):
        other.engine.submit_task(request)
        if outage:
            raise Unavailable("away")

    world.resolve = resolve
    snapshot = world.engine.submit_task(request)
    assert snapshot["task_id"].startswith("task_other-")


def test_owned_workflows_and_tasks_have_no_public_key(world):
    def flow(job):
        return job.suspend(
            "end",
            {
                "key": "k",
                "program": {"id": "leaf", "version": "1"},
                "queue": "q",
                "data": None,
            },
        )

    world.program("flow", flow)
    workflow_id = world.start("flow")
    world.step()
    child = world.child(workflow_id, "k")
    request = {"scope": SCOPE, "task_id": child}
    key = world.look.task_snapshot(request)["idempotency_key"]
    assert world.submit(key=key) != child
