"""The supervision of one process, against runners that misbehave on purpose."""

import os
import time

import pytest

from ledgence.local._activation import FirstActivation
from ledgence.local._capture import Allowance
from ledgence.local._errors import (
    CommitRefused,
    DeadlineExceeded,
    ProcessGone,
    ProtocolFault,
)
from tests.support.supervised import (
    SERVE,
    group_is_gone,
    invocation,
    soon,
)

# Failing while an invocation runs.


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param("raw('not json\\n')", "line_json", id="no-json"),
        pytest.param("raw(b'\\xff\\n')", "line_json", id="no-utf8"),
        pytest.param("raw(b'x' * 3_000_000)", "line_limit", id="endless-line"),
        pytest.param("result(frame, event_id='other')", "result_identity", id="event"),
        pytest.param("result(frame, attempt_id='x')", "result_identity", id="attempt"),
        pytest.param("result(frame, more=1)", "result_members", id="extra-member"),
        pytest.param("result(frame, output=2**64)", "line_json", id="large-integer"),
        pytest.param(
            "log('x', attributes={'n': -2**63-1}); result(frame)",
            "line_json",
            id="large-integer-in-a-log",
        ),
        pytest.param(
            "result(frame, status='runtime_error',"
            " error={'kind': 'k', 'message': 'm'})",
            "result_status",
            id="runtime-error-of-a-task",
        ),
        pytest.param("request(frame)", "frame_order", id="request-of-a-task"),
        pytest.param("ready()", "frame_order", id="ready-again"),
        pytest.param("send(v=V, type='closing')", "frame_order", id="closing"),
        pytest.param("send(v=V, type='result')", "result_identity", id="bare-result"),
    ],
)
def test_a_fault_ends_the_process(runner, body, code):
    process = runner(f"ready(); frame = receive(); {body}; forever()")
    process.start(deadline=soon())
    with pytest.raises(ProtocolFault) as caught:
        process.invoke(invocation(), deadline=soon())
    assert (caught.value.code, caught.value.phase) == (code, "execution")
    assert not process.reusable
    assert process.exit_status == -9


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param("sys.exit(3)", 3, id="exit-3"),
        pytest.param("os._exit(0)", 0, id="exit-0"),
        pytest.param("os.kill(os.getpid(), signal.SIGSEGV)", -11, id="segfault"),
        pytest.param("raw('{\"v\":3,'); os._exit(1)", 1, id="half-a-frame"),
        pytest.param("os.close(1); forever()", None, id="closes-its-output"),
    ],
)
def test_a_process_that_goes_is_told_with_its_status(runner, body, status):
    process = runner(f"ready(); receive(); {body}")
    process.start(deadline=soon())
    with pytest.raises(ProcessGone) as caught:
        process.invoke(invocation(), deadline=soon())
    assert (caught.value.exit_status, caught.value.kind) == (status, "runtime")


def test_a_half_frame_is_counted(runner):
    process = runner("ready(); receive(); raw('{\"v\":3,'); os._exit(1)")
    process.start(deadline=soon())
    with pytest.raises(ProcessGone) as caught:
        process.invoke(invocation(), deadline=soon())
    assert caught.value.details["unfinished_frame_bytes"] == 7


def test_a_process_that_does_not_answer_is_killed_at_the_deadline(runner):
    process = runner("ready(); receive(); forever()")
    process.start(deadline=soon())
    with pytest.raises(DeadlineExceeded) as caught:
        process.invoke(invocation(), deadline=soon(0.3))
    assert (caught.value.phase, caught.value.kind) == ("execution", "timed_out")
    assert process.exit_status == -9


def test_a_process_that_does_not_read_is_killed_at_the_deadline(runner):
    process = runner("ready(); forever()")
    process.start(deadline=soon())
    with pytest.raises(DeadlineExceeded):
        process.invoke(invocation("x" * 2_000_000), deadline=soon(0.3))


def test_a_flood_of_logs_does_not_push_the_deadline_away(runner):
    process = runner(
        """
        ready()
        receive()
        while True:
            log("x" * 1000)
        """
    )
    process.start(deadline=soon())
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        process.invoke(invocation(), deadline=soon(0.5))
    assert time.monotonic() - began < 10


def test_a_process_that_ignores_signals_is_killed_all_the_same(runner):
    process = runner(
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        ready()
        receive()
        forever()
        """
    )
    process.start(deadline=soon())
    with pytest.raises(DeadlineExceeded):
        process.invoke(invocation(), deadline=soon(0.3))


def test_children_of_the_process_do_not_outlive_it(runner):
    process = runner(
        """
        ready()
        frame = receive()
        if os.fork() == 0:
            forever()
        result(frame)
        serve()
        """
    )
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    process.close()
    assert process.trouble is None
    assert group_is_gone(process.pid)


def test_a_child_that_holds_the_pipe_does_not_hide_the_end(runner):
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
    assert group_is_gone(process.pid)


def test_a_child_that_left_the_group_cannot_hold_the_parent(runner, tmp_path):
    process = runner(
        f"""
        ready()
        receive()
        if os.fork() == 0:
            os.setsid()
            open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
            forever()
        while not os.path.exists({str(tmp_path / "pid")!r}):
            pass
        os._exit(5)
        """
    )
    process.start(deadline=soon())
    with pytest.raises(ProcessGone):
        process.invoke(invocation(), deadline=soon())
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_a_result_before_the_frame_was_read_does_not_confuse_the_next(runner):
    process = runner(
        """
        ready()
        for _ in range(2):
            os.read(0, 1000)
            send(v=V, type="result", event_id="evt", attempt_id="att",
                 status="success", output=1)
        forever()
        """
    )
    process.start(deadline=soon())
    for _ in range(2):
        assert process.invoke(invocation("x" * 2_000_000), deadline=soon()).output == 1


def test_a_result_written_before_the_end_counts(runner):
    process = runner("ready(); result(receive()); os._exit(9)")
    process.start(deadline=soon())
    assert process.invoke(invocation(7), deadline=soon()).output == 7


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param({"id": 2}, "request_id", id="out-of-turn"),
        pytest.param({"operation": "a\x00"}, "request_operation", id="control"),
        pytest.param({"event_id": "x"}, "request_identity", id="identity"),
        pytest.param({"extra": 1}, "request_members", id="extra"),
    ],
)
def test_a_bad_request_ends_the_process(runner, change, code):
    process = runner(f"ready(); request(receive(), **{change!r}); forever()")
    process.start(deadline=soon())
    with pytest.raises(ProtocolFault) as caught:
        process.invoke(
            invocation(activation=True),
            deadline=soon(),
            answer=FirstActivation().answer,
        )
    assert caught.value.code == code


def test_a_refused_request_is_not_answered_and_ends_the_process(runner):
    process = runner("ready(); request(receive(), operation='x'); receive(); forever()")
    process.start(deadline=soon())
    with pytest.raises(CommitRefused):
        process.invoke(
            invocation(activation=True),
            deadline=soon(),
            answer=FirstActivation().answer,
        )
    assert process.exit_status == -9


def test_a_request_that_nobody_answers_is_a_fault(runner):
    process = runner("ready(); request(receive()); forever()")
    process.start(deadline=soon())
    with pytest.raises(ProtocolFault):
        process.invoke(invocation(activation=True), deadline=soon())


# What the program says.


def test_stderr_is_passed_on_before_the_result_is_returned(runner, heard):
    process = runner("ready(); f = receive(); say('said\\n'); result(f); serve()")
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    assert heard.raw == b"said\n"


def test_a_flood_on_stderr_is_drained_and_bounded(runner, heard):
    process = runner(
        """
        ready()
        frame = receive()
        for _ in range(64):
            say("x" * 65536)
        result(frame)
        serve()
        """,
        allowance=Allowance(1000),
    )
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    assert heard.raw == b"x" * 1000
    assert process.allowance.dropped_bytes == 64 * 65536 - 1000


def test_logs_are_passed_on_and_bad_ones_counted(runner, heard):
    process = runner(
        """
        ready()
        frame = receive()
        log("one"); log("two", time="never"); log("three")
        result(frame)
        serve()
        """
    )
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    assert [log.message for log in heard.logs] == ["one", "three"]
    assert process.allowance.dropped_logs == 1


def test_logs_that_follow_the_result_are_heard_before_closing(runner, heard):
    process = runner(
        """
        ready()
        result(receive())
        log("late")
        serve()
        """
    )
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    process.close()
    assert [log.message for log in heard.logs] == ["late"]
    assert process.trouble is None


def test_every_frame_is_shown_to_the_listener(runner, heard):
    process = runner(SERVE)
    process.start(deadline=soon())
    process.invoke(invocation(), deadline=soon())
    process.close()
    assert [direction for direction, _ in heard.frames] == ["<", ">", "<", ">", "<"]
