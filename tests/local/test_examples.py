"""The examples, run as they stand."""

import importlib.util
import json
import shutil
import subprocess
import sys

import pytest

from ledgence.local._manifest import parse_manifest
from tests.support.local_cli import PATIENCE, ROOT, cli, environment
from tests.support.programs import ARCH, HERE, SYSTEM

EXAMPLES = ROOT / "examples"
MANIFESTS = sorted(EXAMPLES.rglob("ledgence-program.json"))
POLICY = {"max_attempts": 3, "retry_delay_ms": 5000}
DAY_MS = 86_400_000


def decide(name, data):
    """Return the decision of an example's first activation."""
    target = f"{EXAMPLES / name / 'program.py'}:handle"
    done = cli("run", target, "--activation", "--data", json.dumps(data))
    assert done.code == 0, done.err
    decision = done.results[0]["output"]
    assert decision.pop("activation_id").startswith("task_")
    assert (decision.pop("v"), decision.pop("revision")) == (1, 0)
    return decision


def command(key, program, data, **more):
    base = {"key": key, "program": {"id": program, "version": "1.0.0"}, "data": data}
    return {**base, "attempt_timeout_ms": 300_000, "retry_policy": POLICY, **more}


def test_checkpoint_tasks_asks_both_suppliers():
    assert decide("checkpoint_tasks", {"article": " Bolt "}) == {
        "kind": "suspend",
        "continuation": "choose",
        "state": {"article": "bolt"},
        "until": ["quote:north", "quote:south"],
        "commands": [
            command(
                f"quote:{supplier}",
                "price-quote",
                {"article": "bolt", "supplier": supplier},
                queue="quotes",
            )
            for supplier in ("north", "south")
        ],
    }


def test_the_task_of_checkpoint_tasks_quotes_a_price():
    target = EXAMPLES / "checkpoint_tasks" / "tasks" / "price_quote" / "program.py"
    data = json.dumps({"supplier": "south", "article": "bolt"})
    done = cli("run", f"{target}:handle", "--protocol", "2", "--data", data)
    assert done.results[0]["output"] == {"supplier": "south", "price": 11}


def test_event_timeout_waits_a_day_for_the_payment():
    order = {"order": "A-1", "total": 990}
    assert decide("event_timeout", order) == {
        "kind": "wait",
        "continuation": "settle",
        "state": order,
        "commands": [],
        "wait": {"kind": "event", "key": "payment", "timeout_ms": DAY_MS},
    }


def test_approval_asks_for_the_exact_refund():
    claim = {"customer": "Ada", "cents": 500}
    assert decide("approval", claim) == {
        "kind": "wait",
        "continuation": "decided",
        "state": None,
        "commands": [],
        "wait": {
            "kind": "approval",
            "key": "refund",
            "timeout_ms": 7 * DAY_MS,
            "action": {"name": "program:refund", "version": "1", "arguments": claim},
        },
    }


def test_fork_join_sleeps_until_every_page_is_counted():
    assert decide("fork_join", {"pages": ["one two", "three", ""]}) == {
        "kind": "suspend",
        "continuation": "total",
        "state": {"pages": 3},
        "commands": [],
        "until": ["page:1", "page:2", "page:3"],
    }


def test_agent_loop_answers_in_one_activation():
    question = {"ask": "How many bolts and nuts?"}
    assert decide("agent_loop", question) == {
        "kind": "complete",
        "output": {"answer": "We have 40 bolts and 12 nuts.", "turns": 2},
    }


def test_agent_loop_keeps_every_turn():
    target = f"{EXAMPLES / 'agent_loop' / 'program.py'}:handle"
    data = '{"ask": "How many bolts and nuts?"}'
    done = cli("run", target, "--activation", "--observe", "--data", data)
    steps = done.results[0]["observations"]["local_steps"]
    assert [step["key"] for step in steps] == [
        "turn:0:model",
        "turn:0:tool:0",
        "turn:0:tool:1",
        "turn:1:model",
    ]


def test_owned_subworkflows_starts_one_for_each_region():
    regions = {"us": [3], "eu": [1, 2]}
    assert decide("owned_subworkflows", {"regions": regions}) == {
        "kind": "suspend",
        "continuation": "report",
        "state": None,
        "until": ["region:eu", "region:us"],
        "commands": [
            command(
                f"region:{region}",
                "owned-subworkflows",
                {"region": region, "sales": regions[region]},
                kind="workflow",
                queue="books",
            )
            for region in ("eu", "us")
        ],
    }


def test_a_region_is_a_workflow_of_one_activation():
    assert decide("owned_subworkflows", {"region": "eu", "sales": [1, 2]}) == {
        "kind": "complete",
        "output": {"region": "eu", "total": 3},
    }


def directory_name(path):
    return path.parent.name


@pytest.mark.parametrize("path", MANIFESTS, ids=directory_name)
def test_every_manifest_is_valid_and_named_like_its_directory(path):
    manifest = parse_manifest(path.read_bytes())
    assert manifest.program_id == path.parent.name.replace("_", "-")
    assert (path.parent / "program.py").is_file()


def test_a_program_directory_runs_by_its_manifest(tmp_path):
    shutil.copytree(EXAMPLES / "agent_loop", tmp_path / "agent")
    path = tmp_path / "agent" / "ledgence-program.json"
    manifest = json.loads(path.read_text())
    manifest["platform"] = {"os": SYSTEM, "arch": ARCH}
    manifest["runtime"]["python"] = HERE
    path.write_text(json.dumps(manifest))
    done = cli("run", path.parent, "--activation", "--data", '{"ask": "bolts?"}')
    assert done.results[0]["output"]["output"]["answer"] == "We have 40 bolts."


# The webhooks and their demonstration.


def demo():
    path = EXAMPLES / "webhooks" / "demo.py"
    spec = importlib.util.spec_from_file_location("webhooks_demo", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demonstration_ends_with_0():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "webhooks" / "demo.py"],
        capture_output=True,
        check=False,
        env=environment(),
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "as intended, 13 deliveries succeeded" in done.stderr.decode()
    assert "program.DeliveryError: payload.issue.number" in done.stderr.decode()


def results(*failed, count=14):
    return [
        {"line": line, "status": "error" if line in failed else "success"}
        for line in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("found", "status", "good"),
    [
        pytest.param(results(10), 1, True, id="as-intended"),
        pytest.param(results(), 0, False, id="none-failed"),
        pytest.param(results(9), 1, False, id="another-failed"),
        pytest.param(results(9, 10), 1, False, id="one-more-failed"),
        pytest.param(results(10, count=13), 1, False, id="one-is-missing"),
        pytest.param(results(10), 3, False, id="another-exit-code"),
        pytest.param([], 4, False, id="nothing-ran"),
    ],
)
def test_the_demonstration_notices_what_is_not_intended(found, status, good):
    assert (demo().check(found, status) == []) is good


def test_the_deliveries_are_as_varied_as_the_readme_says():
    text = (EXAMPLES / "webhooks" / "deliveries.jsonl").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) == 14
    assert not text.isascii()
    assert max(map(len, lines)) > 20_000
    assert min(map(len, lines)) < 1_000
    assert "null" in text
