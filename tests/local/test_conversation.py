import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.local._conversation import Conversation, Invocation, State
from ledgence.local._errors import InputError, ProtocolFault
from ledgence.local._frames import Closing, Ready, Request, Result
from ledgence.local._limits import EXTENSION_BYTES
from ledgence.local._logs import DroppedLog, Log

EVENT = {"id": "evt", "ldgattemptid": "att", "data": {"a": 1}}
EXTENSION = {"schema": "s", "payload": {"v": 1}}


def line(**frame):
    return json.dumps(frame).encode() + b"\n"


def ready(protocol=3, **changes):
    return line(
        **{"v": protocol, "type": "ready", "pid": 7, "python_version": "3.12"} | changes
    )


def result(protocol=3, **changes):
    base = {"v": protocol, "type": "result", "event_id": "evt", "attempt_id": "att"}
    return line(**base | {"status": "success", "output": 5} | changes)


def request(number, **changes):
    base = {"v": 3, "type": "runtime_request", "event_id": "evt", "attempt_id": "att"}
    return line(**base | {"id": number, "operation": "o", "payload": {}} | changes)


def log(protocol=3, **changes):
    base = {"v": protocol, "type": "log", "time": "2026-11-29T16:01:07Z"}
    texts = {"severity": "INFO", "logger": "l", "message": "m", "attributes": {}}
    return line(**base | texts | changes)


CLOSING = line(v=3, type="closing")


def conversation(*, protocol=3, limit=4096, started=True):
    talk = Conversation(protocol, 7, "3.12", limit)
    if started:
        hear(talk, ready(protocol))
    return talk


def hear(talk, data):
    talk.receive(data)
    found = []
    while (one := talk.next_line()) is not None:
        found.append(talk.understand(one))
    return found


def running(*, activation=False, **options):
    talk = conversation(**options)
    talk.invoke(Invocation(EVENT, EXTENSION if activation else None))
    return talk


def fault_of(talk, data):
    with pytest.raises(ProtocolFault) as caught:
        hear(talk, data)
    return caught.value


def test_a_whole_life_in_order():
    talk = conversation(started=False)
    assert hear(talk, ready()) == [Ready(7, "3.12")]
    frame = json.loads(talk.invoke(Invocation(EVENT)))
    assert frame == {
        "v": 3,
        "type": "invoke",
        "event_id": "evt",
        "attempt_id": "att",
        "event": EVENT,
        "processing_context": None,
        "observe": True,
    }
    assert hear(talk, result()) == [Result("success", 5, None, None)]
    assert json.loads(talk.shutdown()) == {"v": 3, "type": "shutdown"}
    assert hear(talk, CLOSING) == [Closing()]
    assert talk.state is State.CLOSED


def test_an_activation_asks_and_is_answered_in_turn():
    talk = running(activation=True)
    for number in (1, 2):
        assert hear(talk, request(number)) == [Request(number, "o", {})]
        assert json.loads(talk.reply({"committed": True})) == {
            "v": 3,
            "type": "runtime_reply",
            "event_id": "evt",
            "attempt_id": "att",
            "id": number,
            "result": {"committed": True},
        }
    assert hear(talk, result())[0].status == "success"


def test_numbering_of_requests_starts_again_with_each_invocation():
    talk = running(activation=True)
    hear(talk, request(1))
    talk.reply(None)
    hear(talk, result())
    talk.invoke(Invocation(EVENT, EXTENSION))
    assert hear(talk, request(1)) == [Request(1, "o", {})]


def test_logs_may_come_at_any_time_after_ready():
    talk = conversation()
    assert isinstance(hear(talk, log())[0], Log)
    talk.invoke(Invocation(EVENT))
    assert isinstance(hear(talk, log())[0], Log)
    hear(talk, result())
    assert isinstance(hear(talk, log())[0], Log)
    talk.shutdown()
    assert isinstance(hear(talk, log(time="never"))[0], DroppedLog)
    assert hear(talk, CLOSING) == [Closing()]


@pytest.mark.parametrize(
    ("talk", "data", "code", "phase"),
    [
        pytest.param(
            conversation(started=False),
            log(),
            "frame_order",
            "startup",
            id="log-before-ready",
        ),
        pytest.param(
            conversation(started=False),
            result(),
            "frame_order",
            "startup",
            id="result-before-ready",
        ),
        pytest.param(
            conversation(started=False),
            ready(pid=8),
            "ready_pid",
            "startup",
            id="wrong-pid",
        ),
        pytest.param(
            conversation(), ready(), "frame_order", "execution", id="ready-twice"
        ),
        pytest.param(
            conversation(), result(), "frame_order", "execution", id="result-while-idle"
        ),
        pytest.param(
            conversation(), CLOSING, "frame_order", "execution", id="closing-unasked"
        ),
        pytest.param(
            conversation(),
            line(v=3, type="new"),
            "frame_order",
            "execution",
            id="unknown-type",
        ),
        pytest.param(
            running(), CLOSING, "frame_order", "execution", id="closing-while-running"
        ),
        pytest.param(
            running(), request(1), "frame_order", "execution", id="request-of-a-task"
        ),
        pytest.param(
            running(activation=True),
            request(2),
            "request_id",
            "execution",
            id="request-out-of-turn",
        ),
        pytest.param(
            running(activation=True),
            request(1) + request(2),
            "frame_order",
            "execution",
            id="request-before-the-reply",
        ),
        pytest.param(
            running(activation=True),
            request(1) + result(),
            "frame_order",
            "execution",
            id="result-before-the-reply",
        ),
        pytest.param(
            running(),
            result() + result(),
            "frame_order",
            "execution",
            id="result-twice",
        ),
        pytest.param(
            running(protocol=1),
            log(1),
            "frame_order",
            "execution",
            id="log-in-protocol-1",
        ),
        pytest.param(
            running(protocol=2),
            result(3),
            "frame_version",
            "execution",
            id="other-version",
        ),
        pytest.param(running(), b"{half\n", "line_json", "execution", id="no-json"),
        pytest.param(running(), b"[]\n", "frame_object", "execution", id="no-object"),
        pytest.param(running(), b"\n", "line_json", "execution", id="empty-line"),
        pytest.param(running(), b"\xff\n", "line_json", "execution", id="no-utf8"),
        pytest.param(
            running(),
            log(attributes={"n": 2**64}),
            "line_json",
            "execution",
            id="integer-in-log-attributes",
        ),
        pytest.param(
            running(),
            result(output=-(2**63) - 1),
            "line_json",
            "execution",
            id="integer-in-output",
        ),
        pytest.param(
            running(),
            result(observations={"x": 2**64}),
            "line_json",
            "execution",
            id="integer-in-observations",
        ),
    ],
)
def test_what_does_not_fit_is_a_fault(talk, data, code, phase):
    fault = fault_of(talk, data)
    assert (fault.code, fault.phase, fault.kind) == (code, phase, "protocol")


@pytest.mark.parametrize("state", ["running", "idle"])
def test_a_line_over_the_limit_is_a_fault_before_its_end(state):
    talk = running() if state == "running" else conversation()
    assert fault_of(talk, b'{"v":3' + b" " * 4091).code == "line_limit"


def test_a_line_of_the_limit_is_taken():
    talk = running()
    bare = len(result(output=""))
    assert hear(talk, result(output="x" * (4096 - bare)))[0].status == "success"


def test_what_came_before_a_fault_is_delivered():
    talk = running()
    talk.receive(result() + b"rubbish\n")
    assert isinstance(talk.understand(talk.next_line()), Result)
    with pytest.raises(ProtocolFault):
        talk.understand(talk.next_line())


def test_a_fault_says_which_line_at_which_offset_and_how_it_began():
    talk = running()
    bad = b"x" * 500 + b"\n"
    fault = fault_of(talk, log() + bad)
    assert fault.details["line"] == 3
    assert fault.details["offset"] == len(ready()) + len(log())
    assert len(str(fault)) < 400


def test_an_invocation_over_the_limit_is_refused_and_nothing_has_happened():
    talk = conversation(limit=512)
    with pytest.raises(InputError) as caught:
        talk.invoke(Invocation({**EVENT, "data": "x" * 400}))
    assert caught.value.code == "invocation_bytes"
    assert talk.state is State.IDLE
    talk.invoke(Invocation(EVENT))


def test_an_invocation_may_fill_the_limit_exactly():
    free = 512 - len(conversation().invoke(Invocation({**EVENT, "data": ""})))
    frame = conversation(limit=512).invoke(Invocation({**EVENT, "data": "x" * free}))
    assert len(frame) == 512
    with pytest.raises(InputError):
        conversation(limit=512).invoke(Invocation({**EVENT, "data": "x" * (free + 1)}))


@pytest.mark.parametrize(
    ("size", "good"),
    [
        pytest.param(EXTENSION_BYTES, True, id="at-the-limit"),
        pytest.param(EXTENSION_BYTES + 1, False, id="one-above"),
    ],
)
def test_an_extension_payload_has_its_own_limit(size, good):
    talk = conversation(limit=2**21)
    extension = {"schema": "s", "payload": "x" * (size - 2)}
    if good:
        talk.invoke(Invocation(EVENT, extension))
    else:
        with pytest.raises(InputError) as caught:
            talk.invoke(Invocation(EVENT, extension))
        assert caught.value.code == "extension_bytes"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda talk: talk.invoke(Invocation(EVENT)), id="invoke"),
        pytest.param(lambda talk: talk.shutdown(), id="shutdown"),
        pytest.param(lambda talk: talk.reply(None), id="reply"),
    ],
)
def test_speaking_out_of_turn_is_a_mistake_of_the_caller(call):
    with pytest.raises(RuntimeError):
        call(running())


def test_the_end_returns_the_bytes_of_an_unfinished_frame():
    talk = running()
    talk.receive(b'{"v":3,"type"')
    assert talk.next_line() is None
    assert talk.end() == b'{"v":3,"type"'


@given(data=st.binary(max_size=200), sizes=st.lists(st.integers(1, 9), max_size=60))
def test_no_bytes_whatever_do_more_than_raise_a_fault(data, sizes):
    talk = running()
    text = ""
    try:
        for size in [*sizes, len(data)]:
            hear(talk, data[:size])
            data = data[size:]
    except ProtocolFault as fault:
        text = str(fault)
    assert len(text) < 1000


@given(st.lists(st.integers(1, 50), max_size=80))
def test_frames_split_anywhere_mean_the_same(sizes):
    data = ready() + log()
    talk = conversation(started=False)
    found = []
    for size in [*sizes, len(data)]:
        found += hear(talk, data[:size])
        data = data[size:]
    assert [type(one) for one in found] == [Ready, Log]
