"""Contextual logs through the real process."""

import time

import pytest

from tests.support.runner import TRACEPARENT, await_true, event, invocation

LOG = """
import logging, threading, time
from ledgence.worker import get_logger
log = get_logger("billing")
log.info("while importing")
def handle(event):
    log.info("order %d", 7, extra={"attributes": {"warehouse": "north"}})
    if event["data"]:
        raise ValueError(event["data"])
    return 1
"""


@pytest.mark.parametrize("protocol", [2, 3])
def test_records_follow_ready_and_carry_their_invocation(launch, protocol):
    runner = launch(LOG, protocol).ready()
    carrier = {"traceparent": TRACEPARENT}
    attributes = {"ldgworkflowid": "w", "ldgparentworkflowid": "p"}
    assert runner.output(processing_context=carrier) == 1
    runner.invoke("failed", 2, event=event("failed", 2, **attributes))
    first, second, third = runner.await_logs(3)
    assert (first["message"], "invocation" in first) == ("while importing", False)
    assert list(second) == [
        "v", "type", "time", "severity", "logger", "message", "attributes",
        "invocation", "trace_id", "span_id",
    ]  # fmt: skip
    assert second["v"] == protocol
    assert second["attributes"] == {"warehouse": "north"}
    assert second["invocation"]["event_id"] == "evt-1"
    assert third["invocation"]["event_id"] == "evt-2"
    assert "trace_id" not in third
    assert ("parent_workflow_id" in third["invocation"]) == (protocol == 3)
    runner.shut_down()


def test_protocol_1_logs_into_nothing(launch):
    runner = launch(LOG).ready()
    assert runner.output() == 1
    runner.shut_down()
    assert runner.logs == []
    assert runner.errors() == ""


FLOOD = """
import os
from ledgence.worker import get_logger
log = get_logger("flood")
def handle(event):
    count, size = event["data"]
    for number in range(count):
        log.info("%d " + "x" * size, number)
    os.write(2, b"emitted\\n")
    return "done"
"""


def flood_unread(runner, data):
    """Be a parent that reads nothing until all is emitted and the result waits."""
    runner.send(invocation(runner.protocol, data))
    await_true(lambda: "emitted" in runner.errors())
    time.sleep(0.1)


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_parent_that_stops_reading_loses_records_and_no_result(launch, protocol):
    runner = launch(FLOOD, protocol).ready()
    flood_unread(runner, [500, 4000])
    assert runner.control()["output"] == "done"
    before = len(runner.logs)
    runner.send(invocation(protocol, [0, 0], number=2))
    assert runner.control()["output"] == "done"
    # What the pipe held, one under way; then the result; then at most 64 that waited.
    assert before < 40
    numbers = [int(f["message"].split()[0]) for f in runner.await_logs(64)]
    assert numbers == sorted(numbers)
    assert runner.finish() == ([], 0)
    assert len(runner.logs) <= 64 + before


def test_a_result_overtakes_what_waits(launch):
    runner = launch(FLOOD, 2).ready()
    flood_unread(runner, [60, 12_000])
    assert runner.control()["output"] == "done"
    assert len(runner.logs) < 20
    assert len(runner.await_logs(60)) == 60


def test_records_of_a_reading_parent_all_arrive(launch):
    runner = launch(FLOOD, 2).ready()
    for number in range(1, 21):
        assert runner.output([20, 10], number) == "done"
    assert len(runner.await_logs(400)) == 400
    runner.shut_down()


def test_a_background_thread_may_log_while_the_process_is_idle(launch):
    program = """
    import threading, time
    from ledgence.worker import get_logger
    log = get_logger("background")
    def run():
        while True:
            for _ in range(20):
                log.info("idle " * 100)
            time.sleep(0.001)
    threading.Thread(target=run, daemon=True).start()
    def handle(event):
        return event["id"]
    """
    runner = launch(program, 2).ready()
    for number in range(1, 6):
        assert runner.output(None, number) == f"evt-{number}"
    assert runner.logs
    assert "invocation" not in runner.logs[0]
    runner.shut_down()


SETUP = """
import json, logging, time
from ledgence.worker import get_logger
explicit = logging.getLogger("explicit")
explicit.setLevel(logging.ERROR)
seen = []
class Own(logging.Handler):
    def emit(self, record):
        json.dumps(record.__dict__)
        seen.append(record.getMessage())
logging.getLogger().addHandler(Own())
app, deep = get_logger("app"), get_logger("app.deep")
assert get_logger("app") is app
get_logger("explicit"), get_logger("")
logging.addLevelName(35, "é" * 40)
def handle(event):
    deep.info("once")
    deep.info("once")
    record = deep.makeRecord("app.deep", 20, __file__, 1, "again", (), None)
    deep.handle(record)
    logging.getLogger().handle(record)
    explicit.warning("hidden")
    explicit.error("shown")
    app.debug("hidden")
    app.log(35, "named")
    logging.getLogger().info("hidden")
    return [seen, explicit.level, app.level, logging.getLogger().level, app.propagate,
            [len(logging.getLogger(n).handlers) for n in ("", "app", "app.deep")]]
"""


def test_one_frame_per_record_and_nothing_else_is_touched(launch):
    runner = launch(SETUP, 2).ready()
    seen, *levels, handlers = runner.output()
    assert seen == ["once", "once", "again", "again", "shown", "named"]
    assert levels == [40, 20, 30, True]
    assert handlers == [2, 1, 1]
    logs = runner.await_logs(5)
    assert [f["message"] for f in logs] == ["once", "once", "again", "shown", "named"]
    assert logs[-1]["severity"] == "é" * 16
    runner.shut_down()


def test_a_filter_may_refuse_or_replace_a_record(launch):
    program = """
    import logging, sys
    from ledgence.worker import get_logger
    log = get_logger("filtered")
    def choose(record):
        if record.msg == "no":
            return False
        if sys.version_info >= (3, 12):
            return logging.makeLogRecord(record.__dict__ | {"msg": "replaced"})
        record.msg = "replaced"
        return True
    log.handlers[0].addFilter(choose)
    def handle(event):
        log.info("no")
        log.info("yes")
    """
    runner = launch(program, 2).ready()
    runner.output()
    assert [f["message"] for f in runner.await_logs(1)] == ["replaced"]
    runner.shut_down()


def test_a_record_that_cannot_be_made_is_dropped_in_silence(launch):
    program = """
    from ledgence.worker import get_logger
    log = get_logger("a")
    class Mute:
        def __str__(self):
            raise ValueError
    def handle(event):
        log.info("%d", "no number")
        log.info(Mute())
        log.info(chr(0xd800))
        log.info("x", extra={"attributes": {"a": float("nan")}})
        log.info("good", extra={"attributes": "no dict"})
        return 1
    """
    runner = launch(program, 2).ready()
    assert runner.output() == 1
    assert [f["message"] for f in runner.await_logs(1)] == ["good"]
    runner.shut_down()
    assert runner.errors() == ""


def test_identities_that_leave_no_room_drop_every_record(launch):
    runner = launch(LOG, 2).ready()
    name = "x" * 17_000
    changed = event() | {"id": name}
    result = runner.invoke(event=changed, event_id=name)
    assert result["status"] == "success"
    runner.shut_down()
    assert [f["message"] for f in runner.logs] == ["while importing"]


def test_a_signal_handler_may_log_at_any_moment(launch):
    program = """
    import os, signal
    from ledgence.worker import get_logger
    log = get_logger("signals")
    caught = []
    def note(number, frame):
        caught.append(number)
        log.info("from the handler")
    signal.signal(signal.SIGALRM, note)
    def handle(event):
        # The timer is set again by each record and not by the handler: however slow
        # the machine is, the program goes on.
        for number in range(3000):
            signal.setitimer(signal.ITIMER_REAL, 0.00001 * (number % 10 + 1))
            log.info("from the program")
        signal.setitimer(signal.ITIMER_REAL, 0)
        return len(caught) > 0
    """
    runner = launch(program, 2).ready()
    assert runner.output() is True
    assert {f["message"] for f in runner.logs} <= {
        "from the handler",
        "from the program",
    }
    runner.shut_down()


def test_a_snapshot_shows_no_later_change(launch):
    program = """
    import contextvars, threading
    from ledgence.worker import get_logger
    log = get_logger("a")
    go, done = threading.Event(), threading.Event()
    def later():
        go.wait(20)
        log.info("late")
        done.set()
    def handle(event):
        attributes = {"a": [1]}
        log.info("early", extra={"attributes": attributes})
        attributes["a"].append(2)
        if event["id"] == "evt-1":
            copied = contextvars.copy_context()
            threading.Thread(target=copied.run, args=(later,), daemon=True).start()
        else:
            go.set()
            done.wait(20)
    """
    runner = launch(program, 2).ready()
    runner.output()
    runner.output(None, 2)
    logs = runner.await_logs(3)
    assert [f["attributes"] for f in logs[:2]] == [{"a": [1]}] * 2
    assert (logs[2]["message"], logs[2]["invocation"]["event_id"]) == ("late", "evt-1")
    runner.shut_down()
