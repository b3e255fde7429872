"""The pytest plugin, in test runs of its own."""

import importlib.util
import re
import subprocess
import sys
import textwrap

import pytest

from ledgence.local.pytest_plugin import _frame_number
from tests.support.plugin_project import PASSED, run_project

TESTS = """
from pathlib import Path

def test_plain(ledgence_host):
    host = ledgence_host
    sent = []
    host.stub("mail", sent.append)
    run = host.start_workflow("flow", 5)
    host.send_event(run, "received", "yes")
    output, activations = host.result(run).unwrap()
    assert output == "yes"
    assert activations == 1  # a fresh process each
    assert sent == [{"paid": 5}]
    assert host.history(run).operation("charge").output == {"paid": 5}


async def test_async(ledgence_async_host):
    host = ledgence_async_host
    host.stub("mail", None)
    run = await host.start_workflow("flow", 5)
    await host.send_event(run, "received", "yes")
    assert (await host.result(run)).unwrap()[0] == "yes"
    history = await host.history(run)
    assert history.operation("mail").input == {"paid": 5}


@pytest.mark.parametrize("n", [1, 2])
def test_own_host(ledgence_host, n):
    ledgence_host.stub("mail", n)
    assert ledgence_host.run_task("mail", key="same") == n


@pytest.mark.ledgence(replay=False)
def test_warm(ledgence_host):
    ledgence_host.stub("mail", None)
    run = ledgence_host.start_workflow("flow", 5)
    ledgence_host.send_event(run, "received", None)
    assert ledgence_host.result(run).unwrap()[1] == 3


@pytest.mark.ledgence(scope=("acme", "billing"), programs={"other": "flow.py:handle"})
def test_marked(ledgence_host):
    run = ledgence_host.start_workflow("other", 1)
    assert ledgence_host.status(run)["scope"]["tenant_id"] == "acme"
    ledgence_host.cancel(run)


def test_history(ledgence_host, tmp_path):
    from ledgence.local import ReplayMismatch, replay_history

    ledgence_host.stub("mail", None)
    run = ledgence_host.start_workflow("flow", 5)
    ledgence_host.wait_until_waiting(run)
    ledgence_host.history(run).save(tmp_path / "flow.json")
    assert replay_history(tmp_path / "flow.json", "flow.py:handle").compared == 2
    with pytest.raises(ReplayMismatch):
        replay_history(tmp_path / "flow.json", "moody.py:handle")


def test_that_fails(ledgence_host):
    ledgence_host.stub("mail", None)
    run = ledgence_host.start_workflow("flow", 5)
    ledgence_host.wait_until_waiting(run)
    ledgence_host.stub("other", None)
    assert run is None


@pytest.mark.ledgence(queues=["q"])
def test_task_that_nobody_takes(ledgence_host):
    ledgence_host.stub("mail", None)
    ledgence_host.submit_task("mail", queue="other")
    assert False


def test_failure_without_runs(ledgence_host):
    assert False


@pytest.mark.parametrize("how", ["step", "decision", "failed"])
def test_moody(ledgence_host, how):
    data = "decision" if how == "decision" else "step"
    run = ledgence_host.start_workflow("moody", data)
    assert ledgence_host.result(run).succeeded
    assert how != "failed"


@pytest.mark.ledgence(replay=False)
def test_moody_unseen(ledgence_host):
    run = ledgence_host.start_workflow("moody", "step")
    assert ledgence_host.result(run).succeeded


def test_changed(ledgence_host):
    ledgence_host.stub("mail", None)
    run = ledgence_host.start_workflow("flow", 5)
    ledgence_host.wait_until_waiting(run)
    ledgence_host.add_program("flow", "moody.py:handle")
    ledgence_host.cancel(run)


def test_removed(ledgence_host, tmp_path):
    file = tmp_path / "gone.py"
    file.write_text(Path("moody.py").read_text())
    ledgence_host.add_program("gone", f"{file}:handle")
    run = ledgence_host.start_workflow("gone", "step")
    assert ledgence_host.result(run).succeeded
    file.unlink()


def test_stubbed(ledgence_host):
    ledgence_host.stub("flow", 7)
    assert ledgence_host.result(ledgence_host.start_workflow("flow")).unwrap() == 7


def test_surroundings(ledgence_host, monkeypatch):
    monkeypatch.setenv("MOOD", "good")
    run = ledgence_host.start_workflow("moody", "environment")
    assert ledgence_host.result(run).succeeded


@pytest.mark.ledgence(in_process=True)
def test_in_process(ledgence_host, monkeypatch):
    import os

    run = ledgence_host.start_workflow("moody", "step")
    assert ledgence_host.result(run).unwrap() == os.getpid()


@pytest.mark.ledgence(slotz=1)
def test_near(ledgence_host):
    pass


@pytest.mark.ledgence(qqqqqq=1)
def test_far(ledgence_host):
    pass


@pytest.mark.ledgence(1)
def test_positional(ledgence_host):
    pass
"""


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A run without any option."""
    return run_project(tmp_path_factory.mktemp("usual"), TESTS)


WORKING = [
    "test_plain",
    "test_async",
    "test_own_host[1]",
    "test_own_host[2]",
    "test_warm",
    "test_marked",
    "test_history",
    "test_moody_unseen",
    "test_surroundings",
    "test_changed",
    "test_removed",
    "test_stubbed",
    "test_in_process",
    "test_moody[decision]",
]


@pytest.mark.parametrize("name", WORKING)
def test_it_works(usual, name):
    assert usual.outcomes(name) == PASSED, usual.text(name)


def test_a_failure_shows_what_is_awaited_and_what_was_written(usual):
    assert usual.outcomes("test_that_fails") == ["passed", "failed", "passed"]
    text = usual.text("test_that_fails")
    assert re.search(
        r"ledgence: what is awaited\n"
        r"workflow wf_\S+ \(flow\): waiting\n"
        r"  event 'received' of wf_\S+: send_event\(",
        text,
    )
    assert re.search(
        r"ledgence: output of the programs\n\[flow wf_\w+ attempt 1\] charging 5", text
    )


def test_a_task_that_nobody_takes_is_shown(usual):
    text = usual.text("test_task_that_nobody_takes")
    assert re.search(r"task task_\S+: queued\n  queued of task_", text)


def test_a_failure_without_runs_shows_only_what_there_is(usual):
    assert "ledgence:" not in usual.text("test_failure_without_runs")


def test_a_test_that_passes_shows_nothing(usual):
    assert "charging" not in usual.text("test_plain")
    assert "charging" not in usual.err


def test_a_step_that_would_be_another_in_a_second_attempt_fails_the_test(usual):
    assert usual.outcomes("test_moody[step]") == ["passed", "failed", "passed"]
    text = usual.text("test_moody[step]")
    assert "[not_repeatable]" in text
    assert re.search(r"step 'note': \$\.input\.n: expected \d+, got \d+", text)
    assert "take what varies from a local step" in text
    assert "ledgence: what is awaited" not in text


def test_nothing_is_played_again_after_a_failure(usual):
    assert usual.outcomes("test_moody[failed]") == ["passed", "failed", "passed"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_near", "no host has the option 'slotz'; did you mean slots?"),
        ("test_far", "no host has the option 'qqqqqq'; there are "),
        ("test_positional", "takes named options only"),
    ],
)
def test_a_marker_that_no_host_understands_is_an_error(usual, name, text):
    assert usual.outcomes(name) == ["failed", "-", "passed"]
    assert text in usual.text(name, "setup")


SWITCHED = """
@pytest.fixture
def activations(ledgence_host):
    ledgence_host.stub("mail", None)
    run = ledgence_host.start_workflow("flow", 5)
    ledgence_host.send_event(run, "received", None)
    return ledgence_host.result(run).unwrap()[1]


def test_unmarked(activations):
    assert activations == 3


@pytest.mark.ledgence(replay=True)
def test_marked(activations):
    assert activations == 1


def test_moody(ledgence_host):
    assert ledgence_host.result(ledgence_host.start_workflow("moody", "step")).succeeded
"""


@pytest.mark.parametrize("how", ["option", "ini"])
def test_replaying_can_be_switched_off_for_all_tests(tmp_path, how):
    options = ["--ledgence-no-replay", "-s"] if how == "option" else []
    ini = "ledgence_replay = false" if how == "ini" else ""
    found = run_project(tmp_path, SWITCHED, *options, ini=ini)
    for name in ("test_unmarked", "test_marked", "test_moody"):
        assert found.outcomes(name) == PASSED, found.text(name)
    # Without capturing, output is shown as it comes.
    line = r"^\[flow wf_\w+ attempt 1\] charging 5$"
    shown = re.search(line, found.err, re.MULTILINE)
    assert bool(shown) == (how == "option")


CRASHED = """
@pytest.mark.parametrize("n", range(2))
def test_flow(ledgence_host, n):
    host = ledgence_host
    host.stub("mail", None)
    run = host.start_workflow("flow", 5)
    host.send_event(run, "received", None)
    assert host.result(run).succeeded
    history = host.history(run)
    assert [len(one["attempts"]) for one in history.activations] == [2, 1, 1]
    assert history.operation("charge").output == {"paid": 5}
"""


def test_a_crash_after_a_frame_loses_nothing_also_side_by_side(tmp_path):
    parallel = ["-n", "2"] if importlib.util.find_spec("xdist") else []
    found = run_project(tmp_path, CRASHED, "--ledgence-crash", "3", *parallel)
    for name in ("test_flow[0]", "test_flow[1]"):
        assert found.outcomes(name) == PASSED, found.text(name)


def test_programs_are_found_from_the_root_of_the_run(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    test = """
def test_it(ledgence_host):
    ledgence_host.cancel(ledgence_host.start_workflow("flow"))
"""
    found = run_project(tmp_path, test, cwd=elsewhere)
    assert found.outcomes("test_it") == PASSED


ASYNC = """
@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.{mark}
async def test_task(ledgence_async_host):
    ledgence_async_host.stub("mail", lambda data: data + 1)
    assert await ledgence_async_host.run_task("mail", 1) == 2
"""


@pytest.mark.parametrize("mark", ["asyncio", "anyio"])
def test_an_async_test_works_with_a_known_plugin(tmp_path, mark):
    found = run_project(tmp_path, ASYNC.format(mark=mark))
    assert found.outcomes("test_task") == PASSED


def test_the_plugin_loads_nothing_until_a_test_asks_for_a_host():
    code = (
        "import sys, pytest; before = set(sys.modules);"
        "import ledgence.local.pytest_plugin;"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    loaded = ["ledgence", "ledgence.local", "ledgence.local.pytest_plugin"]
    assert done.stdout.strip() == str(loaded)


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_a_frame_before_the_first_is_refused(number):
    with pytest.raises(ValueError, match=number):
        _frame_number(number)


def test_a_run_without_the_capture_plugin_prints_at_once(tmp_path):
    test = """
        def test_stub(ledgence_host):
            ledgence_host.stub("echo", 1)
            assert ledgence_host.run_task("echo") == 1
        """
    found = run_project(tmp_path, textwrap.dedent(test), "-p", "no:capture")
    assert found.outcomes("test_stub") == PASSED, found.text("test_stub")
