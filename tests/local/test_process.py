"""The life of one supervised process: starting, serving, idling, closing, stopping."""

import os
import time
from pathlib import Path

import pytest

from ledgence.local._activation import FirstActivation
from ledgence.local._errors import (
    DeadlineExceeded,
    InputError,
    Interrupted,
    ProcessGone,
    ProtocolFault,
    RunFailure,
    StartRefused,
)
from ledgence.local._launch import describe_exit
from tests.support.supervised import (
    HERE,
    PATIENCE,
    SERVE,
    invocation,
    soon,
)

# A good life.


def test_one_process_serves_many_invocations_and_closes(runner):
    process = runner(SERVE)
    process.start(deadline=soon())
    for number in range(5):
        result = process.invoke(invocation(number), deadline=soon())
        assert result.output == number
        assert process.reusable
    process.close()
    assert process.trouble is None
    assert not process.reusable


@pytest.mark.parametrize(
    ("protocol", "option"), [(1, []), (2, ["--protocol-version", "2"])]
)
def test_the_command_line_is_the_workers(launch, protocol, option):
    argv = launch("", protocol=protocol).argv()
    assert argv[1:4] == ["-I", "-S", "-B"]
    assert argv[5:] == [
        "--package-root",
        argv[6],
        "--handler",
        "program:handle",
        "--python-version",
        HERE,
        "--max-input-bytes",
        "2097152",
        "--max-output-bytes",
        "2097152",
        *option,
    ]


def test_a_process_has_its_own_group_and_an_empty_private_directory(runner):
    process = runner(
        """
        ready()
        frame = receive()
        result(frame, output=[os.getpgrp() == os.getpid(), os.getcwd(), os.listdir()])
        serve()
        """
    )
    process.start(deadline=soon())
    own, directory, entries = process.invoke(invocation(), deadline=soon()).output
    assert (own, entries) == (True, [])
    assert Path(directory).is_dir()
    process.close()
    assert not Path(directory).exists()


def test_a_frame_of_two_mebibytes_goes_both_ways(runner):
    process = runner(SERVE)
    process.start(deadline=soon())
    data = "x" * (2_097_152 - 400)
    assert process.invoke(invocation(data), deadline=soon()).output == data


def test_a_frame_over_the_limit_leaves_the_process_as_it_was(runner):
    process = runner(SERVE)
    process.start(deadline=soon())
    with pytest.raises(InputError):
        process.invoke(invocation("x" * 2_097_152), deadline=soon())
    assert process.reusable
    assert process.invoke(invocation(1), deadline=soon()).output == 1


def test_an_activations_requests_are_answered(runner):
    process = runner(
        """
        ready()
        frame = receive()
        request(frame)
        reply = receive()
        result(frame, output=reply["result"])
        serve()
        """
    )
    process.start(deadline=soon())
    result = process.invoke(
        invocation(activation=True), deadline=soon(), answer=FirstActivation().answer
    )
    assert result.output == {"committed": True}


def test_a_runtime_error_retires_the_process(runner):
    process = runner(
        """
        ready()
        result(receive(), status="runtime_error", error={"kind": "k", "message": "m"})
        serve()
        """
    )
    process.start(deadline=soon())
    result = process.invoke(invocation(activation=True), deadline=soon())
    assert result.error == ("k", "m")
    assert not process.reusable
    process.close()
    assert process.trouble is None


def test_an_error_leaves_the_process_reusable(runner):
    process = runner(
        """
        ready()
        result(receive(), status="error", error={"kind": "k", "message": ""})
        serve()
        """
    )
    process.start(deadline=soon())
    assert process.invoke(invocation(), deadline=soon()).error == ("k", "")
    assert process.reusable


# Starting.


@pytest.mark.parametrize(
    ("body", "error", "code"),
    [
        pytest.param("sys.exit(70)", StartRefused, "start_refused", id="exits"),
        pytest.param("", StartRefused, "start_refused", id="ends-quietly"),
        pytest.param("1/0", StartRefused, "start_refused", id="raises"),
        pytest.param(
            "os.close(1); forever()",
            StartRefused,
            "start_refused",
            id="closes-its-output",
        ),
        pytest.param("ready(pid=os.getppid())", ProtocolFault, "ready_pid", id="pid"),
        pytest.param("ready(v=V-1)", ProtocolFault, "frame_version", id="version"),
        pytest.param(
            "ready(python_version='3.0')",
            ProtocolFault,
            "ready_python_version",
            id="python",
        ),
        pytest.param("ready(extra=1)", ProtocolFault, "ready_members", id="extra"),
        pytest.param(
            "raw('hello\\n'); forever()", ProtocolFault, "line_json", id="print"
        ),
        pytest.param(
            "log('early'); ready(); serve()",
            ProtocolFault,
            "frame_order",
            id="log-first",
        ),
        pytest.param(
            "raw(b'x' * 3_000_000); forever()",
            ProtocolFault,
            "line_limit",
            id="endless-line",
        ),
        pytest.param(
            'raw(\'{"v":3,"type":"rea\')',
            StartRefused,
            "start_refused",
            id="half-a-frame",
        ),
    ],
)
def test_a_start_that_fails_is_told_and_nothing_stays(runner, body, error, code):
    process = runner(body)
    with pytest.raises(error) as caught:
        process.start(deadline=soon())
    assert (caught.value.code, caught.value.phase) == (code, "startup")
    assert not process.reusable


def test_a_process_that_never_gets_ready_is_killed_at_the_deadline(runner):
    process = runner("forever()")
    with pytest.raises(DeadlineExceeded) as caught:
        process.start(deadline=soon(0.5))
    assert caught.value.phase == "startup"
    assert process.exit_status == -9


def test_an_interpreter_that_is_no_program_is_a_refused_start(runner, tmp_path):
    process = runner("", python=str(tmp_path))
    with pytest.raises(StartRefused) as caught:
        process.start(deadline=soon())
    assert caught.value.code == "cannot_start"
    assert process.pid is None


def test_the_exit_status_of_a_refused_start_is_told(runner, heard):
    process = runner("say('why\\n'); sys.exit(70)")
    with pytest.raises(StartRefused) as caught:
        process.start(deadline=soon())
    assert caught.value.exit_status == 70
    assert heard.raw == b"why\n"


# Between invocations.


def test_a_process_that_dies_while_idle_is_noticed(runner):
    process = runner("ready(); result(receive()); os._exit(4)")
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    process.idle(until=soon())
    assert not process.reusable
    assert (process.trouble.exit_status, process.trouble.phase) == (4, "cleanup")


def test_an_end_right_after_the_result_is_noticed_when_closing(runner):
    process = runner("ready(); result(receive()); os._exit(4)")
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    while process.reusable:
        process.idle(until=soon())
    process.close()
    assert process.trouble.exit_status == 4


def test_an_unasked_frame_retires_an_idle_process(runner):
    process = runner("ready(); f = receive(); result(f); result(f); serve()")
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    process.idle(until=soon())
    assert not process.reusable
    assert process.trouble.code == "frame_order"


def test_idling_ends_when_a_descriptor_is_ready_and_hears_meanwhile(runner, heard):
    process = runner("ready(); result(receive()); log('idle'); serve()")
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    reader, writer = os.pipe()
    try:
        while not heard.logs:
            process.idle(until=time.monotonic() + 0.01)
        os.write(writer, b"x")
        process.idle(readable=reader)
        assert process.reusable
    finally:
        os.close(reader)
        os.close(writer)


def test_an_idle_process_may_wait_for_a_regular_file(runner, tmp_path):
    process = runner(SERVE)
    process.start(deadline=soon())
    with (tmp_path / "fake_bootstrap.py").open() as file:
        process.idle(readable=file.fileno())
    assert process.reusable


# Closing.


@pytest.mark.parametrize(
    ("body", "error", "code"),
    [
        pytest.param(
            "receive(); forever()",
            DeadlineExceeded,
            "deadline_exceeded",
            id="ignores-it",
        ),
        pytest.param("receive(); sys.exit(3)", ProcessGone, "process_gone", id="exits"),
        pytest.param(
            "receive(); send(v=V, type='closing', x=1)",
            ProtocolFault,
            "closing_members",
            id="extra-member",
        ),
        pytest.param("receive(); raw('x\\n')", ProtocolFault, "line_json", id="noise"),
    ],
)
def test_a_bad_closing_is_noted_and_ends_the_group(runner, body, error, code):
    process = runner(f"ready(); {body}; forever()")
    process.start(deadline=soon())
    process.close(timeout=0.5 if error is DeadlineExceeded else PATIENCE)
    assert isinstance(process.trouble, error)
    assert (process.trouble.code, process.trouble.phase) == (code, "cleanup")


def test_logs_may_precede_the_closing_frame(runner, heard):
    process = runner("ready(); receive(); log('bye'); send(v=V, type='closing')")
    process.start(deadline=soon())
    process.close(timeout=PATIENCE)
    assert process.trouble is None
    assert [log.message for log in heard.logs] == ["bye"]


def test_closing_and_killing_can_be_repeated(runner):
    process = runner(SERVE)
    process.close()
    process.start(deadline=soon())
    process.close()
    process.close()
    process.kill()
    assert process.trouble is None


# Stopping.


def begin(process, body):
    if "ready" in body:
        process.invoke(invocation(), deadline=soon())
    else:
        process.start(deadline=soon())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("forever()", id="starting"),
        pytest.param("ready(); receive(); say('x'); forever()", id="running"),
    ],
)
def test_a_cancelled_wait_ends_with_the_group_killed(runner, token, heard, body):
    process = runner(body)
    heard.stderr = lambda _data: token.cancel(2)
    if "ready" in body:
        process.start(deadline=soon())
    else:
        token.cancel(2)
    with pytest.raises(Interrupted) as caught:
        begin(process, body)
    assert caught.value.signal == 2
    assert process.exit_status == -9


def test_a_cancelled_process_is_not_asked_to_close(runner, token, heard):
    process = runner("ready(); forever()")
    process.start(deadline=soon())
    token.cancel()
    process.close()
    assert ">" not in [direction for direction, _ in heard.frames]
    assert process.exit_status == -9


def test_an_exception_of_the_listener_does_not_leave_the_process_behind(runner, heard):
    process = runner("ready(); receive(); say('x'); forever()")
    process.start(deadline=soon())

    def fail(_data):
        raise OSError("nobody listens")

    heard.stderr = fail
    with pytest.raises(OSError, match="nobody listens"):
        process.invoke(invocation(), deadline=soon())
    assert not process.reusable


def test_a_context_manager_ends_the_process(runner):
    with runner(SERVE) as process:
        process.start(deadline=soon())
    assert process.exit_status == -9


def test_failures_are_errors_of_a_run_with_code_kind_and_phase():
    failure = RunFailure("It went.", code="c", details={"line": 3}, hint="Look.")
    assert str(failure) == "It went. [c]\n  line: 3\n  hint: Look."
    assert (failure.kind, failure.phase, failure.exit_status) == (
        "runtime",
        "execution",
        None,
    )


@pytest.mark.parametrize(
    ("status", "text"),
    [
        pytest.param(0, "ended with status 0", id="zero"),
        pytest.param(70, "ended with status 70", id="seventy"),
        pytest.param(-11, "was ended by SIGSEGV", id="signal"),
        pytest.param(-250, "was ended by signal 250", id="unknown-signal"),
        pytest.param(None, "is still there", id="alive"),
    ],
)
def test_an_exit_status_has_words(status, text):
    assert describe_exit(status) == text


@pytest.mark.parametrize("missing", ["pidfd_open", "waitid"])
def test_systems_without_some_calls_see_the_end_too(runner, monkeypatch, missing):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.delattr(os, missing, raising=False)
    process = runner(
        """
        ready()
        receive()
        if os.fork() == 0:
            forever()
        os._exit(5)
        """
    )
    process.start(deadline=soon())
    with pytest.raises(ProcessGone) as caught:
        process.invoke(invocation(), deadline=soon())
    assert caught.value.exit_status == 5
