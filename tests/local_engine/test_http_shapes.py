"""The golden examples of the HTTP API, as far as a local host answers them."""

import json
import math
from pathlib import Path

import pytest

from ledgence.local._engine import Conflict, EngineError, NotFound, ObsoleteOperation
from tests.support.local_world import BusinessError, Died, World

CASES = Path(__file__).parents[1] / "conformance" / "http"


def case(name):
    (path,) = CASES.glob(f"{name}-*.json")
    return json.loads(path.read_text(encoding="utf-8"), parse_float=float)


def same(found, expected, free, path=""):
    """Compare JSON with number classes kept apart, free values by type only."""
    if path in free:
        assert expected is None or found is None or type(found) is type(expected), path
        return
    assert type(found) is type(expected), path
    if isinstance(expected, dict):
        assert set(found) == set(expected), path
        for name, value in expected.items():
            same(found[name], value, free, f"{path}/{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for index, value in enumerate(expected):
            same(found[index], value, free, f"{path}/{index}")
    elif isinstance(expected, float):
        assert math.copysign(1, found) == math.copysign(1, expected), path
        assert found == expected, path
    else:
        assert found == expected, path


class Northwind(World):
    """The host of the golden examples."""

    def __init__(self):
        super().__init__(start=1_791_018_000_000)
        self.digests["label-printer", "2.3.0"] = f"sha256:{7:064x}"
        self.digests["claim-review", "1.4.0"] = f"sha256:{8:064x}"


@pytest.mark.parametrize("name", ["01", "02"])
def test_golden_task_submissions(name):
    example = case(name)
    answer = Northwind().engine.submit_task(example["request"]["body"])
    same(answer, example["response"]["body"], example["server_values"])


@pytest.mark.parametrize(
    ("name", "first", "error"), [("03", "01", Conflict), ("05", None, NotFound)]
)
def test_golden_refused_submissions(name, first, error):
    world, example = Northwind(), case(name)
    if first is not None:
        world.engine.submit_task(case(first)["request"]["body"])
    else:
        world.digests.clear()
    with pytest.raises(error) as caught:
        world.engine.submit_task(example["request"]["body"])
    assert caught.value.status == example["response"]["status"]
    assert caught.value.body() == example["response"]["body"]


def test_golden_outage():
    example = case("04")
    world = Northwind()
    world.outage = True
    with pytest.raises(EngineError) as caught:
        world.engine.submit_task(example["request"]["body"])
    assert caught.value.status == example["response"]["status"]
    body = caught.value.body()
    assert set(body) == set(example["response"]["body"])
    assert body["code"] == "unavailable"


def northwind_task(world, handler):
    """Submit the task of the first example and run it."""
    request = case("01")["request"]["body"]
    task_id = world.engine.submit_task(request)["task_id"]
    digest = world.digests["label-printer", "2.3.0"]
    world.programs["label-printer", "2.3.0", digest] = handler
    return {
        "scope": {"tenant_id": "northwind", "namespace": "ops"},
        "task_id": task_id,
    }


def shape(value):
    """Return the member names and JSON types of a value; null stands for anything."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return None if value is None else type(value).__name__


def fits(found, expected):
    """Tell whether two shapes agree where neither has null."""
    if found is None or expected is None:
        return True
    if isinstance(expected, dict):
        return set(found) == set(expected) and all(
            fits(found[name], item) for name, item in expected.items()
        )
    return found == expected or isinstance(expected, list)


@pytest.mark.parametrize("name", ["06", "07", "08", "09", "10"])
def test_golden_task_reads_have_our_shape(name):
    world, example = Northwind(), case(name)
    expected = example["response"]["body"]

    def handler(job):
        if name == "09":
            raise BusinessError("no")
        if name == "10":
            raise Died

    request = northwind_task(world, handler)
    job = world.claim(queues=["labels"])
    if name in ("08", "09", "10"):
        world.play(job)
        while name == "10" and world.engine.schedule().skip_to:
            world.clock.move_to(world.engine.schedule().skip_to)
            world.play(world.claim(queues=["labels"]))
    ask = world.look.task_status if name == "06" else world.look.task_result
    found = ask(request)
    assert fits(shape(found), shape(expected))
    outcome = found.get("outcome")
    if outcome is not None:
        assert outcome["kind"] == expected["outcome"]["kind"]


def test_golden_task_cancellation():
    world = Northwind()
    request = northwind_task(world, None)
    assert world.engine.cancel_task(request) == case("11")["response"]["body"]


def test_golden_lists_have_our_shape():
    world = Northwind()
    request = northwind_task(world, None)
    page = world.look.list_tasks({"scope": request["scope"]})
    expected = case("12")["response"]["body"]
    assert set(page) == set(expected)
    assert fits(shape(page["items"][0]), shape(expected["items"][0]))


CLAIM = {"claim": 19, "amount": 120.5, "currency": "EUR"}


def northwind_workflow(world, handler):
    request = case("14")["request"]["body"]
    program = request["input"]["program"]
    world.digests[program["id"], program["version"]] = f"sha256:{9:064x}"
    world.programs[program["id"], program["version"], f"sha256:{9:064x}"] = handler
    answer = world.engine.submit_workflow(request)
    same(answer, case("14")["response"]["body"], case("14")["server_values"])
    return {"scope": answer["scope"], "workflow_id": answer["workflow_id"]}


def northwind_run(world):
    while (job := world.claim()) is not None:
        world.play(job)


def test_golden_workflow_results():
    world = Northwind()
    output = case("16")["response"]["body"]["outcome"]["output"]
    run = northwind_workflow(world, lambda job: job.complete(output))
    northwind_run(world)
    found = world.look.workflow_result(run)
    assert found["outcome"] == case("16")["response"]["body"]["outcome"]
    assert fits(shape(found), shape(case("16")["response"]["body"]))
    world = Northwind()
    error = case("17")["response"]["body"]["outcome"]["error"]
    run = northwind_workflow(world, lambda job: job.fail(**error))
    northwind_run(world)
    found = world.look.workflow_result(run)
    assert found["outcome"] == case("17")["response"]["body"]["outcome"]


def test_golden_cancellation_event_and_obsolete_event():
    world = Northwind()

    def handler(job):
        if job.continuation == "start":
            return job.wait_event("intake:0", "two", 0)
        return job.wait_event("intake:1", "end")

    run = northwind_workflow(world, handler)
    northwind_run(world)
    accepted, obsolete = case("19"), case("20")
    request = {**accepted["request"]["body"], **run}
    expected = {**accepted["response"]["body"], "workflow_id": run["workflow_id"]}
    with pytest.raises(ObsoleteOperation) as caught:
        world.engine.send_event({**obsolete["request"]["body"], **run})
    assert caught.value.status == obsolete["response"]["status"]
    assert caught.value.body() == obsolete["response"]["body"]
    same(world.engine.send_event(request), expected, accepted["server_values"])
    found = world.engine.cancel_workflow(run)
    expected = {
        **case("18")["response"]["body"],
        "workflow_id": run["workflow_id"],
    }
    same(found, expected, case("18")["server_values"])


def test_golden_approvals():
    world = Northwind()
    wanted = case("21")["response"]["body"]

    def handler(job):
        if job.continuation == "start":
            return job.proceed("ask")
        if job.continuation == "ask":
            return job.approval(
                "payout",
                "end",
                wanted["action"],
                86_400_000,
                proposed_arguments=wanted["proposed_arguments"],
            )
        return job.complete()

    run = northwind_workflow(world, handler)
    northwind_run(world)
    found = world.look.approval({**run, "key": "payout"})
    expected = {**wanted, "workflow_id": run["workflow_id"]}
    same(found, expected, case("21")["server_values"])
    page = world.look.list_approvals({**run, "after_key": "escalate", "limit": 2})
    assert page["items"] == [found]
    example = case("23")
    command_ = {
        **example["request"]["body"],
        **run,
        "activation_id": found["activation_id"],
        "revision": found["revision"],
    }
    receipt = world.engine.decide_approval(command_)
    expected = example["response"]["body"]
    expected["approval"] = {
        **expected["approval"],
        "workflow_id": run["workflow_id"],
        "activation_id": found["activation_id"],
        "revision": found["revision"],
    }
    same(receipt, expected, example["server_values"])
