"""What is shown while a run goes on: lines, a tree, and tables."""

import io
import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest
from rich.console import Console

from ledgence.local._operate._live import LiveDisplay, render
from ledgence.local._operate._show import in_words
from ledgence.local._operate._tree import Awaited, Node
from tests.support.local_cli import PATIENCE, ROOT, environment, start_cli

NOW = 1_790_000_000_000


def node(**changes):
    made = {
        "id": "wf_0123456789",
        "key": "flow@1",
        "kind": "workflow",
        "state": "running",
        "began_at": NOW - 1500,
        "ended_at": None,
    }
    return Node(**{**made, **changes})


def task(number=1, **changes):
    made = {"id": f"task_{number:09}", "key": f"t{number}", "kind": "task"}
    return node(**{**made, "state": "active", **changes})


def drawn(tree):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(render(tree, NOW))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_tree_shows_activations_children_and_waits():
    wait = Awaited("wf_b", "approval", "refund", NOW + 90_000, "release")
    inner = node(id="wf_bbbbbbbbbb", key="c", kind="branch", state="waiting", wait=wait)
    retried = task(attempts=2, state="queued", available_at=NOW + 5000)
    tree = node(activations=((0, "start", "suspend"),), children=(inner, retried))
    assert drawn(tree) == [
        "flow@1  workflow wf_01234567  running  1 s",
        "├── activation 0 start  suspend",
        "├── c  branch wf_bbbbbbbb  waiting  1 s",
        "│   └── waits for approval 'refund'  1 min 30 s left",
        "└── t1  task task_00000000  queued  attempt 2 failed  again in 5 s  1 s",
    ]


def test_what_is_over_shows_no_more_than_its_end():
    child = node(key="c", state="succeeded", ended_at=NOW, children=(task(),))
    assert drawn(node(children=(child,)))[1:] == [
        "└── c  workflow wf_01234567  succeeded  1 s"
    ]


def test_of_many_children_those_that_are_not_over_come_first():
    over = [task(n, state="succeeded", ended_at=NOW) for n in range(20)]
    lines = drawn(node(children=(*over, task(99))))
    assert "t99" in lines[1]
    assert lines[-1] == "└── and 9 succeeded"


@pytest.mark.parametrize(
    ("tree", "stuck"),
    [
        pytest.param(node(), False, id="runs"),
        pytest.param(node(state="waiting"), False, id="no-known-wait"),
        pytest.param("event", True, id="event"),
        pytest.param("approval", True, id="approval"),
        pytest.param("timer", False, id="timer"),
    ],
)
def test_a_run_is_stuck_when_only_something_from_outside_helps(tree, stuck):
    if isinstance(tree, str):
        wait = Awaited("wf_b", tree, "k", None, None)
        tree = node(state="waiting", wait=wait)
    assert tree.stuck is stuck
    beside = node(state="waiting", children=(tree, task()))
    assert not beside.stuck
    beside = node(state="waiting", children=(tree, task(ended_at=NOW)))
    assert beside.stuck is stuck


def test_lines_stay_above_the_tree():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    display = LiveDisplay(console)
    display.update(node(), NOW)
    display.line("said [red]so[/red]")
    display.update(None, NOW)
    display.close()
    text = console.file.getvalue()
    assert "flow@1" in text
    assert "said [red]so[/red]" in text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (3_601_000, "1 h"),
        (90_061_000, "1 d 1 h"),
    ],
)
def test_spans_of_time_are_told_in_two_units(ms, text):
    assert in_words(ms) == text


def test_on_a_terminal_a_workflow_is_shown_as_a_tree():
    target = f"{ROOT}/examples/fork_join/program.py:handle"
    words = ("run", target, "--workflow", "--data", '{"pages": ["a b", "c"]}')
    leader, follower = pty.openpty()
    process = start_cli(
        *words,
        env=environment(TERM="xterm", COLUMNS="100"),
        stderr=follower,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 1)[0]:
            continue
        try:
            data = os.read(leader, 65536)
        except OSError:  # Linux: the last follower was closed
            break
        if not data:
            break
        shown += data
    os.close(leader)
    out = process.stdout.read()
    process.stdout.close()
    assert process.wait(PATIENCE) == 0
    assert json.loads(out)["output"] == {"pages": 2, "words": 3}
    text = shown.decode()
    assert "fork-join@1.0.0" in text
    assert "page:1" in text
    assert "activation" in text.split("NO")[-1]  # the table at the end


# Start-up and completion.


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        pytest.param(
            ["workflow", "start", "--help"],
            ["rich", "sqlite3", "ledgence.local._engine", "ledgence.local._host"],
            id="help",
        ),
        pytest.param(
            ["task", "list", "--json", "--store", "none"],
            ["rich", "ledgence.local._host", "ledgence.local._packages"],
            id="question",
        ),
    ],
)
def test_a_command_loads_only_what_it_needs(words, heavy):
    code = (
        "import sys\n"
        "from ledgence.local._commands import cli\n"
        f"try: cli.main({words})\n"
        "except SystemExit: pass\n"
        f"print(', '.join(name for name in {heavy} if name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env=environment(),
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ""


@pytest.fixture
def complete(ledgence, monkeypatch):
    """What the shell is offered for a line whose last word is incomplete."""

    def offered(*words):
        monkeypatch.setenv("_LEDGENCE_LOCAL_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("ledgence-local", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = ledgence()
        monkeypatch.delenv("_LEDGENCE_LOCAL_COMPLETE")
        return [line.partition(",")[2] for line in done.out.splitlines() if line]

    return offered


def test_commands_and_options_are_completed(complete):
    assert complete("wor") == ["work", "workflow"]
    assert complete("approval", "a") == ["approve"]
    assert complete("task", "list", "--st") == ["--state", "--store"]
    assert "succeeded" in complete("task", "list", "--state", "s")


def test_ids_and_keys_are_completed_from_the_store(complete, ledgence):
    target = f"{ROOT}/examples/approval/program.py:handle"
    data = '{"customer": "Ada", "cents": 5}'
    words = ("workflow", "start", target, "--data", data, "--quiet", "--json")
    run = ledgence(*words).results[0]["workflow"]["workflow_id"]
    assert complete("workflow", "show", "wf_") == [run]
    assert complete("workflow", "show", "l") == ["last"]
    assert complete("approval", "approve", "last", "r") == ["refund"]
    assert complete("event", "send", "last", "r") == []
    assert len(complete("task", "status", "task_")) == 1
    assert complete("workflow", "show", "--store", "no.db", "wf_") == []
    assert complete("approval", "approve", "wf_nothing", "r") == []
