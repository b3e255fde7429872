"""Every example workflow, from its start to its end, with real processes."""

import json

import pytest

from ledgence.local import LocalHost
from tests.support.local_cli import ROOT
from tests.support.local_host import Heard

EXAMPLES = ROOT / "examples"
DAY_MS = 86_400_000


def manifests():
    return sorted(EXAMPLES.rglob("ledgence-program.json"))


@pytest.fixture(scope="module")
def host(twin):
    with LocalHost(listener=Heard()) as opened:
        for manifest in manifests():
            # A single file runs with any Python; the directory asks for one version.
            program = json.loads(manifest.read_text())["program"]
            target = f"{manifest.parent}/program.py:handle"
            opened.add_program(program["id"], target, program["version"])
        yield opened


def run(host, program, data):
    return host.start_workflow(program, data, version="1.0.0")


def test_every_example_workflow_is_here():
    names = {manifest.parent.name for manifest in manifests()}
    assert names == {
        "agent_loop",
        "approval",
        "checkpoint_tasks",
        "event_timeout",
        "fork_join",
        "owned_subworkflows",
        "price_quote",
    }


def test_agent_loop(host):
    outcome = host.result(run(host, "agent-loop", {"ask": "a bolt and a nut?"}))
    assert outcome.output == {"answer": "We have 40 bolts and 12 nuts.", "turns": 2}
    history = host.history(outcome.run)
    assert [one.key for one in history.operations] == [
        "turn:0:model",
        "turn:0:tool:0",
        "turn:0:tool:1",
        "turn:1:model",
    ]


@pytest.mark.parametrize(
    ("decision", "output"),
    [
        ("approve", {"customer": "c-1", "refunded": 500}),
        ("reject", {"refunded": 0, "because": "rejected"}),
        (None, {"refunded": 0, "because": "expired"}),
    ],
)
def test_approval(host, decision, output):
    refund = run(host, "approval", {"customer": "c-1", "cents": 500})
    before = host.now_ms
    if decision is not None:
        host.decide_approval(refund, "refund", decision)
    assert host.result(refund).output == output
    assert host.now_ms - before == (7 * DAY_MS if decision is None else 0)


def test_checkpoint_tasks(host):
    outcome = host.result(run(host, "checkpoint-tasks", {"article": " Bolt "}))
    assert outcome.output == {"supplier": "south", "price": 11}
    outcome = host.result(run(host, "checkpoint-tasks", {"article": "anvil"}))
    assert outcome.error == {"kind": "no_offer", "message": "nobody offers anvil"}


@pytest.mark.parametrize(
    ("paid", "output"),
    [
        (12, {"order": "o-1", "status": "paid"}),
        (None, {"order": "o-1", "status": "lapsed"}),
    ],
)
def test_event_timeout(host, paid, output):
    order = run(host, "event-timeout", {"order": "o-1", "total": 12})
    if paid is not None:
        host.send_event(order, "payment", {"amount": paid})
    assert host.result(order).output == output


def test_event_timeout_with_a_wrong_amount(host):
    order = run(host, "event-timeout", {"order": "o-1", "total": 12})
    host.send_event(order, "payment", {"amount": 11})
    assert host.result(order).error["kind"] == "wrong_amount"


def test_fork_join(host):
    outcome = host.result(run(host, "fork-join", {"pages": ["a b", "c", ""]}))
    assert outcome.output == {"pages": 3, "words": 3}


def test_owned_subworkflows(host):
    regions = {"north": [1, 2], "south": [3]}
    outcome = host.result(run(host, "owned-subworkflows", {"regions": regions}))
    assert outcome.output == {"closed": {"north": 3, "south": 3}, "open": []}


@pytest.mark.parametrize(
    ("program", "data"),
    [
        ("agent-loop", {"ask": "a bolt?"}),
        ("fork-join", {"pages": ["a b", "c"]}),
        ("owned-subworkflows", {"regions": {"north": [1, 2]}}),
        ("checkpoint-tasks", {"article": "bolt"}),
    ],
)
def test_a_fresh_process_for_every_activation_changes_nothing(host, program, data):
    """The replay-everything switch finds no hidden state in the examples."""
    expected = host.result(run(host, program, data)).unwrap()
    with LocalHost(listener=Heard(), fresh_processes=True) as fresh:
        for manifest in manifests():
            program_id = json.loads(manifest.read_text())["program"]["id"]
            fresh.add_program(program_id, f"{manifest.parent}/program.py:handle")
        assert fresh.result(fresh.start_workflow(program, data)).output == expected
