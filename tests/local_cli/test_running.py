"""Commands that record something and then run it, with real runner processes."""

import json
import signal

import pytest

from ledgence.local._store import HostLock
from tests.support.local_cli import PATIENCE, environment, start_cli, write_program
from tests.support.packages import write_tree
from tests.support.programs import ARCH, HERE, SYSTEM

ECHO = (
    "def handle(event):\n    print('seen', event['data'])\n    return event['data']\n"
)
FLOW = """\
from ledgence.worker.workflow import workflow_context

def handle(event):
    ctx = workflow_context()
    if ctx.wake is None:
        return ctx.wait_event("k", continuation="go", state=None)
    return ctx.complete([event["data"], ctx.wake["event"]["data"]])
"""


@pytest.fixture
def echo(tmp_path):
    return f"{write_program(tmp_path, ECHO, 'echo.py')}:handle"


@pytest.fixture
def flow(tmp_path):
    return f"{write_program(tmp_path, FLOW, 'flow.py')}:handle"


def publish(ledgence, directory, version="1", source=ECHO):
    """Publish a program called echo and return its descriptor."""
    write_tree(
        directory,
        {"program.py": source},
        program={"id": "echo", "version": version},
        runtime={"kind": "python", "python": HERE, "protocol": 2},
        platform={"os": SYSTEM, "arch": ARCH},
    )
    done = ledgence("program", "publish", directory, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_task_is_submitted_and_run(ledgence, echo):
    done = ledgence("task", "submit", echo, "--data", '{"n": 1.0}')
    assert done.code == 0
    assert 'output     {"n":1.0}' in done.out
    assert "seen {'n': 1.0}" in done.err
    quiet = ledgence("task", "submit", echo, "--data", "2", "--quiet", "--json")
    assert quiet.err == ""
    (result,) = quiet.results
    assert (result["outcome"]["output"], result["awaits"]) == (2, [])


def test_the_same_key_is_the_same_task(ledgence, echo):
    words = ("task", "submit", echo, "--json", "--key", "k", "--no-run")
    first, again = (ledgence(*words, "--data", "1").results[0] for _ in range(2))
    assert first["task_id"] == again["task_id"]
    assert first["idempotency_key"] == "k"
    done = ledgence(*words, "--data", "1.0")
    assert done.code == 1
    assert json.loads(done.err)["error"]["code"] == "conflict"


def test_a_submission_has_what_its_options_say(ledgence, echo):
    done = ledgence(
        *("task", "submit", echo, "--json", "--no-run", "--queue", "q"),
        *("--correlation-key", "c", "--max-attempts", "1", "--retry-delay", "0.5"),
        *("--attempt-timeout", "60"),
    )
    taken = done.results[0]["input"]
    assert taken["retry_policy"] == {"max_attempts": 1, "retry_delay_ms": 500}
    assert (taken["attempt_timeout_ms"], taken["queue"]) == (60_000, "q")
    assert taken["correlation_key"] == "c"
    assert ledgence("task", "submit", echo, "--attempt-timeout", "59").code == 2
    assert ledgence("task", "submit", echo, "--key", "").code == 2


def test_a_task_that_fails_is_exit_1(ledgence, tmp_path):
    path = write_program(tmp_path, "def handle(event):\n    1/0\n")
    done = ledgence("task", "submit", f"{path}:handle")
    assert done.code == 1
    assert "ZeroDivisionError" in done.err
    assert '"kind":"application"' in done.out


def test_an_attempt_that_fails_is_told_while_the_next_is_awaited(ledgence, tmp_path):
    source = "import os\ndef handle(event):\n    os._exit(3)\n"
    target = f"{write_program(tmp_path, source)}:handle"
    words = ("--max-attempts", "2", "--retry-delay", "0.5")
    done = ledgence("task", "submit", target, *words)
    assert done.code == 1
    assert done.err.count("attempt 1 failed; it is tried again") == 1
    assert "attempts   2" in done.out


def test_a_whole_submission_comes_from_a_file(ledgence, tmp_path, echo):
    taken = {"tenant_id": "acme", "namespace": "n", "queue": "q", "data": [1.0]}
    taken["program"] = {"id": "echo", "version": "7"}
    request = {"idempotency_key": "k", "input": taken}
    (tmp_path / "task.json").write_text(json.dumps(request))
    words = ("task", "submit", "--file", "task.json", "--program", f"echo={echo}")
    done = ledgence(*words, "--json")
    assert done.code == 0, done.err
    assert done.results[0]["outcome"]["output"] == [1.0]
    assert done.results[0]["task"]["scope"]["tenant_id"] == "acme"
    (tmp_path / "task.json").write_text(json.dumps({**request, "more": 1}))
    assert ledgence(*words).code == 2
    assert ledgence("task", "submit").code == 2
    assert ledgence(*words, "name").code == 2


def test_a_workflow_runs_on_with_each_command(ledgence, flow):
    done = ledgence("workflow", "start", flow, "--data", "1")
    assert done.code == 0
    assert "waits for event 'k'" in done.out
    # The program is still known, and what had happened before is not told again.
    sent = ledgence("event", "send", "last", "k", "--data", "2", "--json")
    assert sent.code == 0
    assert sent.results[0]["outcome"]["output"] == [1, 2]
    assert "waits for" not in sent.err
    assert "activation go" in sent.err


def test_a_cancelled_workflow_is_no_failure_of_the_command(ledgence, flow):
    ledgence("workflow", "start", flow, "--quiet")
    done = ledgence("workflow", "cancel", "last", "--json")
    assert done.code == 0
    assert done.results[0]["outcome"] == {"kind": "cancelled"}


def test_a_published_program_is_named_without_a_path(ledgence, tmp_path):
    publish(ledgence, tmp_path / "a", "1")
    done = ledgence("task", "submit", "echo", "--data", "1", "--json")
    assert done.results[0]["outcome"]["output"] == 1
    publish(ledgence, tmp_path / "b", "2")
    done = ledgence("task", "submit", "echo")
    assert done.code == 2
    assert "1, 2" in done.err
    done = ledgence("task", "submit", "echo@2", "--no-run", "--json")
    assert done.results[0]["input"]["program"]["version"] == "2"


def test_S05_a_queued_task_runs_the_old_digest_after_a_refused_publication(
    ledgence, tmp_path
):
    descriptor = publish(ledgence, tmp_path / "old", source="handle = lambda e: 'old'")
    ledgence("task", "submit", "echo", "--no-run")
    with pytest.raises(AssertionError, match="program_conflict"):
        publish(ledgence, tmp_path / "new", source="handle = lambda e: 'new'")
    done = ledgence("work", "last", "--quiet", "--json")
    assert done.code == 1  # `last` is a workflow, and there is none
    assert ledgence("work", "--quiet").code == 0
    assert (
        ledgence("task", "result", "last", "--json").results[0]["outcome"]["output"]
        == "old"
    )
    bound = ledgence("task", "inspect", "last", "--json").results[0]["descriptor"]
    assert bound == descriptor


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ecoh", "did you mean echo?"),
        ("nothing", "--program nothing="),
        ("echo@2@3", "did you mean echo?"),
        ("p@2", "did you mean p@1?"),
        ("", "1 to 128 of a-z"),
        ("no.py:handle", "target_not_found"),
        ("echo.py:handel", "did you mean echo.py:handle?"),
    ],
)
def test_an_unknown_program_gets_a_proposal(ledgence, tmp_path, echo, name, said):
    runtime = {"kind": "python", "python": HERE, "protocol": 2}
    write_tree(tmp_path / "p", runtime=runtime, platform={"os": SYSTEM, "arch": ARCH})
    ledgence("program", "publish", "p")
    ledgence("task", "submit", echo, "--no-run")
    done = ledgence("task", "submit", name)
    assert done.code in (1, 2)
    assert said in done.err


def test_a_directory_is_linked_by_its_manifest(ledgence, tmp_path):
    runtime = {"kind": "python", "python": HERE, "protocol": 2}
    write_tree(
        tmp_path / "shop", runtime=runtime, platform={"os": SYSTEM, "arch": ARCH}
    )
    done = ledgence("task", "submit", "shop", "--json", "--data", "5")
    assert done.results[0]["outcome"]["output"] == 5
    program = ledgence("task", "inspect", "last", "--json").results[0]["descriptor"]
    assert program["program"] == {"id": "p", "version": "1"}
    # A file beside a manifest that names its function has the same name.
    done = ledgence("task", "submit", "shop/program.py:handle", "--no-run", "--json")
    assert done.results[0]["input"]["program"] == {"id": "p", "version": "1"}


def test_a_link_that_is_broken_is_told_and_can_be_removed(ledgence, tmp_path, echo):
    ledgence("task", "submit", echo, "--no-run")
    (tmp_path / "echo.py").unlink()
    done = ledgence("work")
    assert "linked program echo: there is no" in done.err
    assert ledgence("program", "list", "--json").results[0]["linked"][0]["id"] == "echo"
    assert ledgence("program", "unlink", "ecko").code == 1
    assert ledgence("program", "unlink", "echo").code == 0
    assert ledgence("program", "list", "--json").results[0]["linked"] == []


def test_a_damaged_list_of_links_is_told(ledgence, echo, tmp_path):
    ledgence("task", "submit", echo, "--no-run")
    links = tmp_path / ".ledgence/local.db.programs/linked.json"
    for text in ("{", "[]", '{"programs": [1]}', '{"programs": [{"name": "a"}]}'):
        links.write_text(text)
        done = ledgence("task", "submit", "echo")
        assert done.code == 1
        assert "program_store" in done.err


def test_beside_a_host_a_command_looks_on_and_takes_over(
    ledgence, echo, tmp_path, started
):
    ledgence("task", "submit", echo, "--no-run")
    lock = HostLock(tmp_path / ".ledgence/local.db", "host_other")
    process = started("task", "submit", echo, "--data", "7", "--json")
    assert any(b"looks on" in line for line in process.stderr)
    refused = ledgence("work")
    assert refused.code == 1
    assert "store_in_use" in refused.err
    lock.release()
    (line,) = process.stdout.readlines()
    assert process.wait(PATIENCE) == 0
    assert json.loads(line)["outcome"]["output"] == 7


def test_work_runs_what_was_recorded(ledgence, echo, flow):
    task = ledgence("task", "submit", echo, "--no-run", "--json").results[0]["task_id"]
    ledgence("workflow", "start", flow, "--no-run")
    done = ledgence("work", task, "--json", "--quiet")
    assert done.results[0]["task"]["state"] == "succeeded"
    done = ledgence("task", "submit", echo, "--no-run", "--json")
    other = done.results[0]["task_id"]
    done = ledgence("work")
    assert f"ledgence-local: task {other} succeeded" in done.err
    assert "nothing is left to run" in done.out
    status = ledgence("workflow", "show", "last", "--json").results[0]
    assert status["summary"]["workflow"]["state"] == "waiting"
    assert ledgence("work", task, "--stay").code == 2


def test_the_attempts_of_other_runs_may_end(ledgence, tmp_path):
    source = """
    import os, time
    def handle(event):
        mark = event["data"]
        if mark.startswith("+"):
            open(mark[1:], "w").close()
        while not os.path.exists(mark.removeprefix("+")):
            time.sleep(0.01)
    """
    target = f"{write_program(tmp_path, source)}:handle"
    mark = str(tmp_path / "mark")
    words = ("task", "submit", target, "--json")
    other = ledgence(*words, "--data", json.dumps(mark), "--no-run").results[0]
    assert ledgence(*words, "--data", json.dumps(f"+{mark}")).code == 0
    (status,) = ledgence("task", "status", other["task_id"], "--json").results
    assert (status["state"], status["attempt_count"]) == ("succeeded", 1)


# Histories.


def test_a_history_is_replayed_against_other_code(ledgence, flow, tmp_path):
    ledgence("workflow", "start", flow, "--data", "1", "--quiet")
    ledgence("event", "send", "last", "k", "--data", "2", "--quiet")
    ledgence("history", "export", "last", "-o", "h.json")
    done = ledgence("history", "replay", "h.json", flow)
    assert (done.code, done.out) == (0, "2 activations are as the history says\n")
    changed = write_program(tmp_path, FLOW.replace("[event", "[9, event"), "new.py")
    done = ledgence("history", "replay", "h.json", f"{changed}:handle")
    assert done.code == 1
    assert "replay_mismatch" in done.err
    done = ledgence("history", "replay", "h.json", f"{changed}:handle", "--json")
    assert done.code == 1
    (difference, *_) = done.results[0]["differences"]
    assert difference["revision"] == 1
    assert ledgence("history", "replay", "no.json", flow).code == 2
    assert ledgence("history", "replay", "h.json", flow, "--program", "x").code == 2
    history = json.loads((tmp_path / "h.json").read_text())
    del history["activations"][1]["context"]["state"]
    (tmp_path / "bad.json").write_text(json.dumps(history))
    done = ledgence("history", "replay", "bad.json", flow)
    assert (done.code, done.out) == (2, "")
    assert "[history_format]\n  path: $.activations[1].context\n" in done.err
    history["activations"][0] = {}
    (tmp_path / "bad.json").write_text(json.dumps(history))
    done = ledgence("history", "replay", "bad.json", flow, "--json")
    error = json.loads(done.err)["error"]
    assert (done.code, error["code"]) == (2, "history_format")
    assert error["details"]["path"] == "$.activations[0].activation_id"
    assert error["details"]["file"] == "bad.json"


# Checks.


def test_check_loads_the_handler_and_does_not_run_it(ledgence, tmp_path):
    path = write_program(tmp_path, "def handle(event):\n    raise SystemExit\n")
    done = ledgence("check", f"{path}:handle")
    assert done.code == 0
    assert done.out.endswith("ready\n")
    (found,) = ledgence("check", f"{path}:handle", "--json", "--protocol", "2").results
    assert found["status"] == "ready"
    assert (found["handler"], found["protocol"]) == ("program:handle", 2)


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        pytest.param(
            "import nothing\ndef handle(e): ...", 4, "start_refused", id="import"
        ),
        pytest.param("handle = 5", 4, "start_refused", id="no-callable"),
        pytest.param("def other(e): ...", 2, "target_function", id="no-function"),
        pytest.param(
            "while 1: pass\ndef handle(e): ...", 5, "deadline_exceeded", id="hangs"
        ),
    ],
)
def test_check_tells_what_does_not_register(ledgence, tmp_path, source, code, said):
    path = write_program(tmp_path, source)
    done = ledgence("check", f"{path}:handle", "--start-timeout", "2")
    assert (done.code, done.out) == (code, "")
    assert said in done.err


# Being stopped.


@pytest.fixture
def started(tmp_path):
    """Starts a command in the test's directory and makes sure that it ends."""
    made = []

    def start(*words):
        process = start_cli(*words, cwd=tmp_path, env=environment())
        made.append(process)
        return process

    yield start
    for process in made:
        process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


SLEEPER = """
import os, sys, time
def handle(event):
    if not os.path.exists(event["data"]):
        print("sleeping", flush=True)
        time.sleep(600)
    return "done"
"""


def interrupt(process, said):
    """Send Ctrl-C once the program has said something; return both streams."""
    assert any(said in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    out, err = process.stdout.read(), process.stderr.read().decode()
    assert process.wait(PATIENCE) == 130
    assert "Traceback" not in err
    return out.decode(), err


def test_ctrl_c_leaves_the_run_in_the_store(ledgence, tmp_path, started):
    target = f"{write_program(tmp_path, SLEEPER)}:handle"
    mark = tmp_path / "mark"
    words = ("task", "submit", target, "--data", json.dumps(str(mark)))
    process = started(*words, "--json", "--retry-delay", "0")
    out, err = interrupt(process, b"sleeping")
    assert out == ""
    (command,) = [line for line in err.splitlines() if "it goes on with" in line]
    mark.touch()
    words = command.partition("ledgence-local work ")[2]
    done = ledgence("work", words, "--json")
    assert done.results[0]["outcome"]["output"] == "done"


def test_ctrl_c_in_a_whole_workflow_reports_the_event_under_way(tmp_path, started):
    path = write_program(tmp_path, SLEEPER)
    (tmp_path / "events.jsonl").write_text('"x"\n"y"\n')
    events = ("--events", tmp_path / "events.jsonl")
    process = started("run", f"{path}:handle", "--workflow", *events)
    out, err = interrupt(process, b"sleeping")
    (result,) = map(json.loads, out.splitlines())
    assert (result["line"], result["status"]) == (1, "interrupted")
    assert "1 runs: 0 succeeded, 1 did not" in err


def test_a_killed_command_costs_an_attempt_and_nothing_else(
    ledgence, tmp_path, started
):
    target = f"{write_program(tmp_path, SLEEPER)}:handle"
    mark = tmp_path / "mark"
    words = ("task", "submit", target, "--data", json.dumps(str(mark)))
    process = started(*words, "--retry-delay", "0")
    assert any(b"sleeping" in line for line in process.stderr)
    process.kill()
    process.wait(PATIENCE)
    mark.touch()
    assert ledgence("work", "--quiet").code == 0
    (result,) = ledgence("task", "result", "last", "--json").results
    assert result["outcome"]["output"] == "done"
    assert result["task"]["attempt_count"] == 2


def test_work_stays_until_it_is_interrupted(ledgence, echo, started):
    words = ("task", "submit", echo, "--json")
    ledgence(*words, "--no-run")
    process = started("work", "--stay")
    assert any(b"seen None" in line for line in process.stderr)
    done = ledgence(*words, "--data", "7")
    assert f"process id {process.pid} is at work" in done.err
    assert done.results[0]["outcome"]["output"] == 7
    interrupt(process, b"seen 7")


def test_a_host_at_work_finds_programs_that_are_linked_later(
    ledgence, echo, flow, started
):
    ledgence("task", "submit", echo, "--no-run")
    process = started("work", "--stay")
    assert any(b"seen None" in line for line in process.stderr)
    done = ledgence("workflow", "start", flow, "--data", "1", "--json")
    (result,) = done.results
    assert [one["key"] for one in result["awaits"]] == ["k"]
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130


def test_a_run_goes_on_when_nobody_reads_its_progress(ledgence, tmp_path, started):
    source = """
    import os, time
    def handle(event):
        while not os.path.exists(event["data"]):
            time.sleep(0.01)
        print("over")
        return 7
    """
    target = f"{write_program(tmp_path, source)}:handle"
    mark = tmp_path / "mark"
    words = ("task", "submit", target, "--data", json.dumps(str(mark)), "--json")
    process = started(*words)
    process.stderr.close()
    mark.touch()
    (result,) = map(json.loads, process.stdout.read().splitlines())
    assert result["outcome"]["output"] == 7
    assert result["task"]["attempt_count"] == 1
    assert process.wait(PATIENCE) == 0


def test_a_reader_that_leaves_a_table_ends_the_command_quietly(ledgence, echo, started):
    for _ in range(2):
        ledgence("task", "submit", echo, "--no-run")
    process = started("task", "list")
    process.stdout.close()
    err = process.stderr.read()
    assert (process.wait(PATIENCE), err) == (141, b"")


GONE = """\
from ledgence.worker.workflow import workflow_context

def handle(event):
    ctx = workflow_context()
    if ctx.continuation == "start":
        child = ctx.task("c", program="gone", version="1", queue="q", data=None)
        return ctx.suspend(continuation="end", state=None, until=[child])
    return ctx.complete(1)
"""


def test_a_linked_program_that_is_gone_fails_its_workflow_and_not_the_host(
    ledgence, echo, tmp_path
):
    gone = write_program(tmp_path, ECHO, "gone.py")
    words = ("--program", f"gone@1={gone}:handle", "--no-run")
    assert ledgence("task", "submit", echo).code == 0
    parent = f"{write_program(tmp_path, GONE, 'parent.py')}:handle"
    assert ledgence("workflow", "start", parent, *words).code == 0
    gone.unlink()
    done = ledgence("work")
    assert "host has stopped" not in done.err
    assert done.code == 0, done.err
    (result,) = ledgence("workflow", "list", "--json").results
    assert result["items"][0]["workflow"]["state"] == "failed"
