"""Frames: what is read is checked, what is written has its members in order."""

import json

import pytest

from ledgence.worker._profile import ProfileError
from ledgence.worker._runner import frames
from ledgence.worker._runner.channel import ProtocolFault
from tests.support.runner import TRACEPARENT, activation, event, invocation, line

EMPTY = len(
    b'{"v":1,"type":"result","event_id":"evt-1","attempt_id":"attempt-1",'
    b'"status":"error","error":{"kind":"business_error","message":""}}\n'
)


def read(frame, version):
    data = frame if isinstance(frame, bytes) else line(frame)
    return frames.read(data, version)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_invoke_frame_becomes_a_call(version):
    call = read(invocation(version, {"z": 1, "a": 2}, observe=True), version)
    assert (call.event_id, call.attempt_id) == ("evt-1", "attempt-1")
    assert call.event == event({"z": 1, "a": 2})
    assert list(call.event["data"]) == ["z", "a"]
    assert (call.carrier, call.extension, call.observe) == (None, None, True)
    assert call.failure_status == "error"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_shutdown_frame_is_none_whatever_else_it_has(version):
    assert read({"type": "shutdown", "v": version, "why": [1]}, version) is None


@pytest.mark.parametrize("observe", [False, None, 1, "true", [True]])
def test_only_true_asks_for_observations(observe):
    assert not read(invocation(1, observe=observe), 1).observe
    assert not read(invocation(1), 1).observe


@pytest.mark.parametrize("extension", [False, 0, [], "", {}])
def test_any_extension_but_null_is_an_activation_in_protocol_3(extension):
    call = read(invocation(3, extension=extension), 3)
    assert call.extension == extension
    assert call.failure_status == "runtime_error"
    assert read(invocation(3, extension=None), 3).extension is None
    for version in (1, 2):
        frame = invocation(version, extension=extension)
        assert read(frame, version).extension is None


def test_the_carrier_is_passed_on_from_protocol_2_on():
    carrier = {"traceparent": TRACEPARENT, "tracestate": "a=b"}
    assert read(invocation(1, processing_context=carrier), 1).carrier is None
    assert read(invocation(2, processing_context=carrier), 2).carrier == carrier


@pytest.mark.parametrize("context", [..., "nonsense", {"traceparent": 1}])
def test_protocol_1_ignores_the_processing_context(context):
    assert read(invocation(1, processing_context=context), 1).carrier is None


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("context", [..., "nonsense", {"traceparent": 1}, {}, False])
def test_later_protocols_refuse_a_processing_context(version, context):
    with pytest.raises(ProtocolFault, match="processing_context"):
        read(invocation(version, processing_context=context), version)


FAULTS = {
    "not JSON": b"{\n",
    "nothing": b"\n",
    "trailing text": b'{"v":1,"type":"shutdown"} x\n',
    "not UTF-8": b'{"v":1,"type":"shutdown","x":"\xff"}\n',
    "a constant": b'{"v":1,"type":"shutdown","x":NaN}\n',
    "an array": b"[]\n",
    "a text": b'"shutdown"\n',
    "no version": {"type": "shutdown"},
    "another version": {"v": 2, "type": "shutdown"},
    "a version as text": {"v": "1", "type": "shutdown"},
    "no type": {"v": 1},
    "another type": {"v": 1, "type": "ready"},
    "a reply": {"v": 1, "type": "runtime_reply"},
    "a type that is no text": {"v": 1, "type": ["invoke"]},
    "no event_id": invocation(1, event_id=...),
    "an empty event_id": invocation(1, event_id=""),
    "a number as event_id": invocation(1, event_id=1),
    "a lone surrogate in event_id": invocation(1, event_id="\\ud800"),
    "no attempt_id": invocation(1, attempt_id=...),
    "an empty attempt_id": invocation(1, attempt_id=""),
    "null as attempt_id": invocation(1, attempt_id=None),
    "no event": invocation(1, event=...),
    "an event that is no object": invocation(1, event=[1]),
}


@pytest.mark.parametrize("frame", FAULTS.values(), ids=FAULTS)
def test_anything_else_is_a_protocol_fault(frame):
    data = frame if isinstance(frame, bytes) else line(frame)
    with pytest.raises(ProtocolFault):
        frames.read(data.replace(b"\\\\", b"\\"), 1)


@pytest.mark.parametrize(
    "changes",
    [{"id": "evt-2"}, {"id": None}, {"ldgattemptid": "x"}, {"ldgattemptid": 1}],
    ids=str,
)
def test_an_event_of_another_identity_is_a_fault_that_says_so(changes):
    frame = invocation(1, event=event() | changes)
    with pytest.raises(ProtocolFault, match="identity"):
        read(frame, 1)


def test_an_event_without_its_identity_is_a_fault():
    with pytest.raises(ProtocolFault, match="identity"):
        read(invocation(1, event={"id": "evt-1"}), 1)


def test_identities_may_hold_any_scalar_text():
    name = "é😀\x00\u2028"
    frame = invocation(1, event_id=name, event=event() | {"id": name})
    call = read(frame, 1)
    assert call.event_id == name
    result = frames.success(call, None, 4096)
    assert json.loads(result)["event_id"] == name


def test_large_lines_are_decoded_with_the_collector_as_it_was():
    import gc

    frame = line(invocation(1, "x" * 70_000))
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    try:
        gc.enable()
        assert frames.read(frame, 1).event["data"] == "x" * 70_000
        assert gc.isenabled()
        gc.disable()
        frames.read(frame, 1)
        assert not gc.isenabled()
        with pytest.raises(ProtocolFault):
            frames.read(frame[:-2], 1)
    finally:
        gc.enable()
        gc.callbacks.pop()


def test_a_fault_in_a_large_line_turns_the_collector_on_again():
    import gc

    with pytest.raises(ProtocolFault):
        frames.read(line(invocation(1, "x" * 70_000))[:-3], 1)
    assert gc.isenabled()


def call_of(version=1, frame=None):
    return read(frame or invocation(version), version)


def test_a_success_has_its_members_in_order():
    assert frames.success(call_of(2), {"z": 1, "a": (2,)}, 4096) == (
        b'{"v":2,"type":"result","event_id":"evt-1","attempt_id":"attempt-1",'
        b'"status":"success","output":{"z":1,"a":[2]}}\n'
    )


def test_a_success_fits_its_limit_exactly():
    size = len(frames.success(call_of(), "é", 4096))
    assert len(frames.success(call_of(), "é", size)) == size
    with pytest.raises(ProfileError) as caught:
        frames.success(call_of(), "é", size - 1)
    assert caught.value.reason == "bytes"


@pytest.mark.parametrize(("depth", "fits"), [(63, True), (64, True), (65, False)])
def test_an_output_has_at_most_64_levels(depth, fits):
    value = 0
    for _ in range(depth):
        value = [value]
    if fits:
        frames.success(call_of(), value, 4096)
    else:
        with pytest.raises(ProfileError) as caught:
            frames.success(call_of(), value, 4096)
        assert caught.value.reason == "depth"


def test_a_failure_has_its_members_in_order():
    assert frames.failure(call_of(), "business_error", "no", 4096) == (
        b'{"v":1,"type":"result","event_id":"evt-1","attempt_id":"attempt-1",'
        b'"status":"error","error":{"kind":"business_error","message":"no"}}\n'
    )
    call = call_of(3, activation())
    assert frames.failure(call, "workflow_error", "no", 4096) == (
        b'{"v":3,"type":"result","event_id":"evt-1","attempt_id":"attempt-1",'
        b'"status":"runtime_error","error":{"kind":"workflow_error","message":"no"}}\n'
    )


@pytest.mark.parametrize(
    ("message", "kept"), [("x", 124), ('"', 62), ("\x01", 20), ("😀", 31)]
)
def test_a_message_is_cut_between_characters(message, kept):
    frame = frames.failure(call_of(), "business_error", message * 300, 256)
    assert len(frame) <= 256
    assert json.loads(frame)["error"]["message"] == message * kept


@pytest.mark.parametrize("padding", [0, 100, 200])
@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_the_room_for_a_failure_is_checked_exactly(padding, spare):
    name = "é" * padding + "x"
    call = call_of(frame=invocation(1, event_id=name, event=event() | {"id": name}))
    size = EMPTY - len("evt-1") + len(name.encode())
    limit = max(size, 256) + spare
    if limit >= size:
        frames.check_room(call, limit)
    else:
        with pytest.raises(ProtocolFault, match="no room"):
            frames.check_room(call, limit)


def test_an_activation_needs_room_for_its_longer_status():
    size = EMPTY - len("error") + len("runtime_error")
    frames.check_room(call_of(3, activation()), size)
    with pytest.raises(ProtocolFault):
        frames.check_room(call_of(3, activation()), size - 1)


def test_a_decision_is_spliced_as_it_is():
    call = call_of(3, activation())
    frame = frames.decided(call, b'{"kind":"complete"}', 4096)
    assert frame == (
        b'{"v":3,"type":"result","event_id":"evt-1","attempt_id":"attempt-1",'
        b'"status":"success","output":{"kind":"complete"}}\n'
    )
    assert frames.decided(call, b'{"kind":"complete"}', len(frame)) == frame
    with pytest.raises(frames.ExchangeError, match="does not fit"):
        frames.decided(call, b'{"kind":"complete"}', len(frame) - 1)


def test_observations_come_last_or_not_at_all():
    frame = frames.success(call_of(), 1, 4096)
    longer = frames.with_observations(frame, b'{"a":1}', 4096)
    assert longer == frame[:-2] + b',"observations":{"a":1}}\n'
    assert frames.with_observations(frame, b'{"a":1}', len(longer)) == longer
    assert frames.with_observations(frame, b'{"a":1}', len(longer) - 1) == frame


def requests(limit=4096, frame=None):
    return frames.Requests(call_of(3, frame or activation()), limit)


def test_requests_are_numbered_from_1():
    made = requests()
    first = made.encode("local_step.commit", {"z": 1, "a": (2, 3)})
    assert first == (
        b'{"v":3,"event_id":"evt-1","attempt_id":"attempt-1","type":"runtime_request",'
        b'"id":1,"operation":"local_step.commit","payload":{"z":1,"a":[2,3]}}\n'
    )
    second = made.splice("workflow.fork", b'{"key":"f"}')
    assert second == (
        b'{"v":3,"event_id":"evt-1","attempt_id":"attempt-1","type":"runtime_request",'
        b'"id":2,"operation":"workflow.fork","payload":{"key":"f"}}\n'
    )


def test_both_ways_to_a_request_give_the_same_bytes():
    payload = {"key": "é", "input": [1.5, None]}
    text = line(payload)[:-1]
    assert requests().encode("o", payload) == requests().splice("o", text)


def test_a_request_fits_its_limit_exactly_and_else_takes_no_number():
    size = len(requests().splice("o", b'{"k":"vvvvvvvvvv"}'))
    for limit, fits in ((size, True), (size - 1, False)):
        made = requests(limit)
        if fits:
            made.splice("o", b'{"k":"vvvvvvvvvv"}')
            continue
        with pytest.raises(frames.ExchangeError, match="too large"):
            made.splice("o", b'{"k":"vvvvvvvvvv"}')
        with pytest.raises(ProfileError):
            made.encode("o", {"k": "vvvvvvvvvv"})
        assert made.number == 0


REPLY = {
    "v": 3,
    "type": "runtime_reply",
    "event_id": "evt-1",
    "attempt_id": "attempt-1",
    "id": 1,
    "result": {"committed": True},
}


def test_a_reply_is_taken_in_any_order_and_spacing():
    made = requests()
    made.splice("o", b"{}")
    text = json.dumps(dict(reversed(REPLY.items())), indent=1).replace("\n", " ")
    assert made.check_reply(f" {text}\r\n".encode()) == {"committed": True}
    assert made.check_reply(line(REPLY | {"result": None})) is None


WRONG_REPLIES = {
    "not JSON": b"{\n",
    "a constant": line(REPLY).replace(b"true", b"NaN"),
    "a repeated member": line(REPLY).replace(b'{"v":3', b'{"v":3,"v":3'),
    "a repeated member inside": line(REPLY)
    .replace(b"{}", b"{}")
    .replace(b'{"committed":true}', b'{"committed":true,"committed":true}'),
    "an array": b"[]\n",
    "no result": line({k: v for k, v in REPLY.items() if k != "result"}),
    "another member": line(REPLY | {"x": 1}),
    "another member for one": line(
        {k: v for k, v in REPLY.items() if k != "result"} | {"x": 1}
    ),
    "no id": line({k: v for k, v in REPLY.items() if k != "id"} | {"x": 1}),
    "another id": line(REPLY | {"id": 2}),
    "true as id": line(REPLY | {"id": True}),
    "a float as id": line(REPLY | {"id": 1.0}),
    "a text as id": line(REPLY | {"id": "1"}),
    "another version": line(REPLY | {"v": 2}),
    "a float as version": line(REPLY | {"v": 3.0}),
    "another type": line(REPLY | {"type": "reply"}),
    "another event": line(REPLY | {"event_id": "evt-2"}),
    "another attempt": line(REPLY | {"attempt_id": None}),
}


@pytest.mark.parametrize("text", WRONG_REPLIES.values(), ids=WRONG_REPLIES)
def test_any_other_reply_fails_the_exchange(text):
    made = requests()
    made.splice("o", b"{}")
    with pytest.raises(frames.ExchangeError):
        made.check_reply(text)
