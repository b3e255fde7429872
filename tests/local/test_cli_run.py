"""``ledgence-local run`` against the real runner, one case a behaviour."""

import json
import sys

import pytest

from tests.support.local_cli import cli, environment, write_program
from tests.support.programs import write_manifest
from tests.support.runners import write_runner

ECHO = "def handle(event):\n    return event['data']\n"


@pytest.fixture
def program(tmp_path):
    """Writes a program whose function is ``handle``; returns its target."""

    def write(source):
        return f"{write_program(tmp_path, source)}:handle"

    return write


@pytest.fixture
def events(tmp_path):
    """Writes an events file; returns its path."""

    def write(*lines):
        path = tmp_path / "events.jsonl"
        data = b"".join(
            (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n"
            for line in lines
        )
        path.write_bytes(data)
        return path

    return write


# Results and exit codes.


def test_a_result_is_one_json_line_and_nothing_else_is_said(program):
    done = cli("run", program(ECHO), "--data", '{"b": 1, "a": [2.5, null, "é🚲"]}')
    assert done.code == 0
    assert done.out == (
        '{"run":1,"status":"success","output":{"b":1,"a":[2.5,null,"é🚲"]}}\n'
    )
    assert done.err == ""


def test_without_data_the_data_is_null(program):
    assert cli("run", program(ECHO)).results == [
        {"run": 1, "status": "success", "output": None}
    ]


@pytest.mark.parametrize("protocol", ["1", "2", "3"])
def test_every_protocol_runs(program, protocol):
    done = cli("run", program(ECHO), "--protocol", protocol, "--data", "5")
    assert (done.code, done.results[0]["output"]) == (0, 5)


def test_an_async_handler_runs_by_default(program):
    target = program("async def handle(event):\n    return 7\n")
    assert cli("run", target).results[0]["output"] == 7


@pytest.mark.parametrize(
    ("body", "code", "status", "kind"),
    [
        pytest.param("return 1", 0, "success", None, id="success"),
        pytest.param("1/0", 1, "error", "business_error", id="exception"),
        pytest.param("return {1, 2}", 3, "error", "invalid_output", id="set"),
        pytest.param("return 2**64", 3, "error", "invalid_output", id="integer"),
        pytest.param("import sys; sys.exit(3)", 4, "failed", "runtime", id="exit"),
        pytest.param("import os; os._exit(0)", 4, "failed", "runtime", id="exit-0"),
        pytest.param(
            "import os; os.kill(os.getpid(), 9)", 4, "failed", "runtime", id="killed"
        ),
        pytest.param("raise KeyboardInterrupt", 4, "failed", "runtime", id="ctrl-c"),
        pytest.param(
            "import time; time.sleep(60)", 5, "failed", "timed_out", id="timeout"
        ),
        pytest.param("while True: pass", 5, "failed", "timed_out", id="busy-loop"),
    ],
)
def test_the_exit_code_tells_the_outcome(program, body, code, status, kind):
    timeout = "3" if code == 5 else "60"
    done = cli(
        "run", program(f"def handle(event):\n    {body}\n"), "--timeout", timeout
    )
    assert done.code == code
    (result,) = done.results
    assert result["status"] == status
    assert result.get("error", {}).get("kind") == kind


def test_a_dead_process_is_told_with_its_exit_status(program):
    done = cli("run", program("import sys\ndef handle(event): sys.exit(3)\n"))
    assert done.results[0]["error"] == {
        "kind": "runtime",
        "code": "process_gone",
        "phase": "execution",
        "exit_status": 3,
        "message": "the program's process ended with status 3 before its result",
    }


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        pytest.param(["ok", "ok"], 0, id="all-good"),
        pytest.param(["ok", "fail", "ok"], 1, id="one-fails"),
        pytest.param(["fail", "bad", "ok"], 3, id="invalid-output-is-higher"),
        pytest.param(["bad", "die", "fail"], 4, id="dead-is-higher"),
        pytest.param(["fail", b"{", "ok"], 2, id="bad-line-is-higher"),
        pytest.param([b"{", "bad"], 3, id="but-not-highest"),
    ],
)
def test_with_several_events_the_highest_code_counts(program, events, lines, code):
    target = program(
        """
        def handle(event):
            what = event["data"]
            if what == "fail":
                raise ValueError(what)
            if what == "die":
                import os
                os._exit(1)
            return {1} if what == "bad" else what
        """
    )
    done = cli("run", target, "--events", events(*lines))
    assert done.code == code
    assert len(done.results) == len(lines)


def test_one_process_serves_all_events_until_it_dies(program, events):
    target = program(
        """
        import os
        def handle(event):
            if event["data"] == "die":
                os._exit(1)
            if event["data"] == "fail":
                raise ValueError
            return os.getpid()
        """
    )
    done = cli("run", target, "--events", events(1, 2, "die", 4, 5))
    assert done.statuses == ["success", "success", "failed", "success", "success"]
    pids = [one.get("output") for one in done.results]
    assert pids[0] == pids[1] != pids[3] == pids[4]
    done = cli("run", target, "--events", events(1, "fail", 3))
    assert done.results[0]["output"] == done.results[2]["output"]


def test_a_timeout_costs_one_event_and_the_next_gets_a_new_process(program, events):
    target = program(
        """
        import time
        def handle(event):
            time.sleep(event["data"])
            return "woke"
        """
    )
    done = cli("run", target, "--events", events(0, 60, 0), "--timeout", "3")
    assert done.code == 5
    assert done.statuses == ["success", "failed", "success"]
    assert done.results[1]["error"]["code"] == "deadline_exceeded"


# Events files.


def test_a_malformed_line_is_told_by_number_and_costs_nothing_else(program, events):
    done = cli("run", program(ECHO), "--events", events(1, b"", b'{"a', 4))
    assert done.code == 2
    assert [one["line"] for one in done.results] == [1, 3, 4]
    assert [one["run"] for one in done.results] == [1, 2, 3]
    assert done.results[1]["error"]["code"] == "data_syntax"
    assert "line: 3" in done.err


@pytest.mark.parametrize("lines", [[], [b"", b"  "]], ids=["empty", "blank-lines"])
def test_a_file_without_events_runs_nothing(program, events, lines):
    done = cli("run", program(ECHO), "--events", events(*lines))
    assert (done.code, done.out) == (0, "")
    assert "0 runs" in done.err


def test_lines_that_are_huge_or_no_utf8_are_told_and_skipped(program, events):
    path = events(1, b'"' + b"x" * 9_000_000 + b'"', b'"\xff"', 4)
    done = cli("run", program(ECHO), "--events", path)
    assert done.code == 2
    assert done.statuses == ["success", "not_run", "not_run", "success"]
    codes = [one["error"]["code"] for one in done.results[1:3]]
    assert codes == ["data_bytes", "data_utf8"]


def test_events_may_come_from_standard_input(program):
    done = cli("run", program(ECHO), "--events", "-", stdin=b"1\n2\n3")
    assert [one["output"] for one in done.results] == [1, 2, 3]


def test_many_events_end_with_a_summary(program, events):
    done = cli("run", program(ECHO), "--events", events(*range(50)))
    assert "50 runs: 50 succeeded, 0 did not" in done.err


@pytest.mark.parametrize("how", ["argument", "file", "stdin"])
def test_data_comes_from_the_command_line_a_file_or_standard_input(
    program, tmp_path, how
):
    target = program(ECHO)
    (tmp_path / "data.json").write_text('{\n  "a": 1\n}')
    data = {"argument": '{"a":1}', "file": f"@{tmp_path}/data.json", "stdin": "-"}[how]
    stdin = b'{"a": 1}' if how == "stdin" else b""
    assert cli("run", target, "--data", data, stdin=stdin).results[0]["output"] == {
        "a": 1
    }


def test_the_largest_data_passes_and_one_byte_more_is_refused(program, events):
    largest = "x" * (1_048_576 - 2)
    target = program("def handle(event):\n    return len(event['data'])\n")
    done = cli("run", target, "--events", events(largest, largest + "x"))
    assert done.results[0]["output"] == len(largest)
    assert done.results[1]["error"]["code"] == "data_bytes"


# What the program says.


def test_output_logs_and_tracebacks_are_marked_and_said_once(program, events):
    target = program(
        """
        from ledgence.worker import get_logger
        def handle(event):
            print("printed")
            get_logger("shop").info("sold", extra={"attributes": {"n": event["data"]}})
            if event["data"] == 2:
                raise ValueError("not two")
        """
    )
    done = cli("run", target, "--events", events(1, 2), "--protocol", "2")
    lines = done.err.splitlines()
    for line in (
        "[run 1] printed",
        '[run 1] INFO shop: sold  {"n":1}',
        "[run 2] printed",
        '[run 2] INFO shop: sold  {"n":2}',
        "[run 2] Traceback (most recent call last):",
        "[run 2] ValueError: not two",
    ):
        assert lines.count(line) == 1, line
    assert "printed" not in done.out


def test_a_traceback_shows_the_authors_frames_only(program):
    done = cli("run", program("def handle(event):\n    1/0\n"))
    assert done.err.count("  File ") == 1
    assert "program.py" in done.err


def test_a_runners_own_frames_are_shown_under_verbose_only(program, tmp_path):
    runner = write_runner(
        tmp_path,
        """
        ready()
        frame = receive()
        say("Traceback (most recent call last):\\n")
        say('  File "%s", line 1, in call\\n' % __file__)
        say("    handler(event)\\nValueError: no\\n")
        result(frame)
        serve()
        """,
    )
    quiet = cli("run", program(ECHO), "--runner", runner)
    verbose = cli("run", program(ECHO), "--runner", runner, "-v")
    assert "fake_bootstrap" not in quiet.err
    assert "fake_bootstrap" in verbose.err
    assert "ValueError: no" in quiet.err


def test_output_during_the_import_is_said_even_when_the_start_succeeds(program):
    target = program("print('importing')\ndef handle(event): ...\n")
    assert "[run 1] importing" in cli("run", target).err


def test_a_flood_of_output_is_cut_and_counted(program):
    target = program("def handle(event):\n    print('x' * 1_000_000)\n    return 1\n")
    done = cli("run", target)
    assert done.code == 0
    assert len(done.err) < 70_000
    assert "934465 more bytes of output dropped" in done.err


def test_output_that_is_no_utf8_is_shown_all_the_same(program):
    target = program(
        "import os\ndef handle(event):\n    os.write(2, b'a\\xffb\\r\\nunfinished')\n"
    )
    done = cli("run", target)
    assert "[run 1] a\ufffdb\n[run 1] unfinished\n" in done.err


def test_multi_line_logs_are_marked_on_every_line(program):
    target = program(
        """
        from ledgence.worker import get_logger
        def handle(event):
            get_logger("x").warning("one\\ntwo")
        """
    )
    done = cli("run", target)
    assert "[run 1] WARNING x: one\n[run 1] two\n" in done.err


def test_a_child_that_outlives_the_handler_does_not_hold_the_command(program):
    target = program(
        """
        import subprocess, sys
        def handle(event):
            code = "import time; print('child', flush=True); time.sleep(600)"
            subprocess.Popen([sys.executable, "-c", code])
            return "done"
        """
    )
    done = cli("run", target)
    assert (done.code, done.results[0]["output"]) == (0, "done")


# Starts that fail.


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        pytest.param(
            "import nothing_like_it\ndef handle(e): ...",
            4,
            "ModuleNotFoundError: No module named 'nothing_like_it'",
            id="import-error",
        ),
        pytest.param(
            "def handle(e): ...\nraise SystemExit(9)", 4, "status 9", id="exits"
        ),
        pytest.param("def handle(:", 4, "SyntaxError", id="syntax-error"),
        pytest.param("handle = 5", 4, "start_refused", id="not-callable"),
        pytest.param(
            "while True: pass\ndef handle(e): ...",
            5,
            "deadline_exceeded",
            id="never-ready",
        ),
    ],
)
def test_a_program_that_does_not_start_is_told_once_and_ends_the_command(
    program, events, source, code, said
):
    path = events(1, 2, 3)
    done = cli("run", program(source), "--events", path, "--start-timeout", "3")
    assert done.code == code
    assert said in done.err
    (result,) = done.results
    assert (result["status"], result["error"]["phase"]) == ("failed", "startup")
    assert "1 runs: 0 succeeded, 1 did not; stopped before the end" in done.err
    assert "hint: " in done.err


def test_an_import_traceback_shows_the_authors_frames_only(program):
    done = cli("run", program("import nothing_like_it\ndef handle(e): ...\n"))
    assert "program.py" in done.err
    assert "importlib" not in done.err
    assert "bootstrap.py" not in done.err


def test_the_timeout_includes_the_start(program):
    target = program("import time\ntime.sleep(60)\ndef handle(e): ...\n")
    done = cli("run", target, "--timeout", "1")
    assert (done.code, done.results[0]["error"]["phase"]) == (5, "startup")


def test_an_async_handler_is_refused_by_protocol_2(program):
    target = program("async def handle(event): ...\n")
    assert cli("run", target, "--protocol", "2").code == 4


# The runner's own troubles.


@pytest.mark.parametrize(
    ("body", "code", "error"),
    [
        pytest.param("ready(); raw('x\\n'); forever()", 4, "frame", id="noise"),
        pytest.param(
            "ready(); receive(); raw('x\\n'); forever()",
            4,
            "line_json",
            id="noise-while-running",
        ),
        pytest.param("ready(pid=1); forever()", 4, "ready_pid", id="wrong-pid"),
        pytest.param(
            "ready(); receive(); raw('x' * 3_000_000); forever()",
            4,
            "line_limit",
            id="overlong",
        ),
    ],
)
def test_a_protocol_fault_is_exit_4(program, tmp_path, body, code, error):
    runner = write_runner(tmp_path, body)
    done = cli("run", program(ECHO), "--runner", runner)
    assert done.code == code
    if error != "frame":
        assert done.results[0]["error"]["code"] == error


def test_trouble_outside_any_run_is_noted_and_changes_no_result(program, tmp_path):
    runner = write_runner(
        tmp_path, "ready(); f = receive(); result(f); result(f); serve()"
    )
    done = cli("run", program(ECHO), "--runner", runner, "--data", "5")
    assert (done.code, done.results[0]["output"]) == (0, 5)
    assert "no run is affected" in done.err
    assert "frame_order" in done.err


def test_a_runner_that_ignores_the_end_is_killed(program, tmp_path):
    runner = write_runner(tmp_path, "ready(); result(receive()); forever()")
    done = cli("run", program(ECHO), "--runner", runner, "--data", "5")
    assert (done.code, done.results[0]["output"]) == (0, 5)
    assert "deadline_exceeded" in done.err


# Options.


def test_observations_are_shown_on_request(program):
    seen = cli("run", program(ECHO), "--observe").results[0]["observations"]
    assert seen["runtime_elapsed_us"] >= 0
    assert seen["local_steps"] == []


def test_pretty_results_are_indented(program):
    done = cli("run", program(ECHO), "--data", '{"a":"é"}', "--pretty")
    assert '  "output": {\n    "a": "é"\n  }\n' in done.out
    assert json.loads(done.out)["status"] == "success"


def test_verbose_shows_the_frames(program):
    done = cli("run", program(ECHO), "-v", "--data", json.dumps("x" * 9000))
    marks = [line.split(" {", 1)[0] for line in done.err.splitlines() if " {" in line]
    assert marks == [
        "[run 1] <",
        "[run 1] >",
        "[run 1] <",
        "[runner] >",
        "[runner] <",
    ]
    assert max(map(len, done.err.splitlines())) < 5000


def test_another_interpreter_can_be_named(program):
    target = program("import sys\ndef handle(event):\n    return sys.executable\n")
    done = cli("run", target, "--python", sys.executable)
    assert done.results[0]["output"] == sys.executable


def test_a_program_directory_is_run_by_its_manifest(tmp_path):
    write_program(tmp_path, ECHO)
    write_manifest(tmp_path)
    assert cli("run", tmp_path, "--data", "5").results[0]["output"] == 5


# Usage.


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(["rum"], "'run'", id="command"),
        pytest.param(["run"], "TARGET", id="no-target"),
        pytest.param(["run", "T", "--evnts", "x"], "--events", id="option"),
        pytest.param(
            ["run", "T", "--data", "1", "--data", "2"], "once", id="data-twice"
        ),
        pytest.param(
            ["run", "T", "--data", "1", "--events", "x"],
            "exclude",
            id="data-and-events",
        ),
        pytest.param(
            ["run", "T", "--events", "x", "--events", "y"], "once", id="events-twice"
        ),
        pytest.param(["run", "T", "--protocol", "4"], "'4'", id="protocol-4"),
        pytest.param(["run", "T", "--timeout", "0"], "0", id="timeout-0"),
        pytest.param(["run", "T", "--timeout", "nan"], "nan", id="timeout-nan"),
        pytest.param(["run", "T", "--timeout", "soon"], "soon", id="timeout-text"),
        pytest.param(
            ["run", "T", "--workflow", "--protocol", "2"],
            "protocol 3",
            id="workflow-protocol-2",
        ),
        pytest.param(["run", "T", "--data", "{"], "data_syntax", id="bad-json"),
        pytest.param(["run", "T", "--data", "@no.json"], "no.json", id="no-data-file"),
        pytest.param(["run", "T", "--events", "no.jsonl"], "no.jsonl", id="no-events"),
        pytest.param(["run", "T", "--python", "nopython"], "nopython", id="no-python"),
        pytest.param(["run", "program.py:hande"], "program.py:handle", id="function"),
        pytest.param(["run", "progam.py:handle"], "program.py", id="file"),
        pytest.param(["run", "."], "ledgence-program.json", id="no-manifest"),
    ],
)
def test_bad_usage_is_exit_2_with_advice_and_no_result(tmp_path, args, said):
    write_program(tmp_path, ECHO)
    args = ["program.py:handle" if one == "T" else one for one in args]
    done = cli(*args, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_help_has_examples_and_the_exit_codes():
    done = cli("run", "--help")
    assert done.code == 0
    for part in ('--data \'{"name": "Ada"}\'', "130  interrupted", "--timeout SECONDS"):
        assert part in done.out


def test_ctrl_c_in_any_command_is_exit_130():
    from click.testing import CliRunner

    from ledgence.local._commands._root import Root

    group = Root()

    @group.command()
    def stop():
        raise KeyboardInterrupt

    assert CliRunner().invoke(group, ["stop"]).exit_code == 130


def test_the_version_is_told():
    done = cli("--version")
    assert done.code == 0
    assert done.out.startswith("ledgence-local ")


def test_without_the_extra_the_command_says_what_to_install():
    import subprocess

    code = (
        "import sys; sys.modules['click'] = None\n"
        "from ledgence.local._cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env=environment(),
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "ledgence-worker[local]" in done.stderr


def test_the_command_loads_no_heavy_library_before_it_needs_it():
    import subprocess

    code = (
        "import sys; before = set(sys.modules)\n"
        "import ledgence.local._commands, ledgence.local._run\n"
        "heavy = {'rich', 'asyncio', 'http', 'ssl', 'ledgence.worker.workflow',"
        " 'sqlite3', 'unittest', 'email'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env=environment(),
        text=True,
        timeout=60,
    )
    assert done.stdout == "[]\n"
