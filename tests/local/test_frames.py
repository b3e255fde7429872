import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.local._frames import (
    Closing,
    FrameFault,
    Identity,
    Ready,
    Request,
    check_closing,
    check_ready,
    check_request,
    check_result,
    frame_type,
)
from ledgence.local._limits import REQUEST_BYTES

ME = Identity("evt", "att")
READY = {"v": 2, "type": "ready", "pid": 7, "python_version": "3.12"}
SUCCESS = {
    "v": 3,
    "type": "result",
    "event_id": "evt",
    "attempt_id": "att",
    "status": "success",
    "output": None,
}
ERROR = {
    **{name: SUCCESS[name] for name in ("v", "type", "event_id", "attempt_id")},
    "status": "error",
    "error": {"kind": "business_error", "message": "no"},
}
REQUEST = {
    "v": 3,
    "type": "runtime_request",
    "event_id": "evt",
    "attempt_id": "att",
    "id": 1,
    "operation": "local_step.commit",
    "payload": {"key": "k"},
}


def nested(depth):
    value = None
    for _ in range(depth):
        value = [value]
    return value


def without(frame, name):
    return {key: value for key, value in frame.items() if key != name}


def rule_of(check, *args, **kwargs):
    with pytest.raises(FrameFault) as caught:
        check(*args, **kwargs)
    return caught.value.rule


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        pytest.param([], "frame_object", id="array"),
        pytest.param("text", "frame_object", id="text"),
        pytest.param({}, "frame_version", id="no-version"),
        pytest.param({"v": 1, "type": "x"}, "frame_version", id="other-version"),
        pytest.param({"v": True, "type": "x"}, "frame_version", id="boolean-version"),
        pytest.param({"v": 2.0, "type": "x"}, "frame_version", id="float-version"),
        pytest.param({"v": "2", "type": "x"}, "frame_version", id="text-version"),
        pytest.param({"v": 2}, "frame_type", id="no-type"),
        pytest.param({"v": 2, "type": None}, "frame_type", id="null-type"),
    ],
)
def test_every_frame_is_an_object_of_the_version_with_a_type(value, rule):
    assert rule_of(frame_type, value, protocol=2) == rule


def test_a_good_envelope_gives_frame_and_type():
    assert frame_type(READY, protocol=2) == (READY, "ready")


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        pytest.param(without(READY, "pid"), "ready_members", id="no-pid"),
        pytest.param({**READY, "extra": 1}, "ready_members", id="extra-member"),
        pytest.param({**READY, "pid": 8}, "ready_pid", id="other-pid"),
        pytest.param({**READY, "pid": 7.0}, "ready_pid", id="float-pid"),
        pytest.param({**READY, "pid": "7"}, "ready_pid", id="text-pid"),
        pytest.param(
            {**READY, "python_version": "3.11"}, "ready_python_version", id="version"
        ),
        pytest.param(
            {**READY, "python_version": "3.12.1"}, "ready_python_version", id="patch"
        ),
    ],
)
def test_a_ready_frame_that_differs_is_refused(frame, rule):
    assert rule_of(check_ready, frame, pid=7, python_version="3.12") == rule


def test_the_right_ready_frame_is_taken():
    assert check_ready(READY, pid=7, python_version="3.12") == Ready(7, "3.12")


def test_a_boolean_is_no_pid_even_when_equal():
    frame = {**READY, "pid": True}
    assert rule_of(check_ready, frame, pid=1, python_version="3.12") == "ready_pid"


def test_closing_has_exactly_two_members():
    assert check_closing({"v": 2, "type": "closing"}) == Closing()
    frame = {"v": 2, "type": "closing", "x": None}
    assert rule_of(check_closing, frame) == "closing_members"


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        pytest.param({**SUCCESS, "event_id": "e"}, "result_identity", id="event"),
        pytest.param({**SUCCESS, "attempt_id": "a"}, "result_identity", id="attempt"),
        pytest.param(without(SUCCESS, "event_id"), "result_identity", id="no-event"),
        pytest.param({**SUCCESS, "event_id": ["evt"]}, "result_identity", id="list"),
        pytest.param({**SUCCESS, "status": "ok"}, "result_status", id="unknown"),
        pytest.param({**SUCCESS, "status": []}, "result_status", id="list-status"),
        pytest.param(without(SUCCESS, "status"), "result_status", id="no-status"),
        pytest.param(without(SUCCESS, "output"), "result_members", id="no-output"),
        pytest.param({**SUCCESS, "more": 1}, "result_members", id="extra"),
        pytest.param({**SUCCESS, "error": None}, "result_members", id="both"),
        pytest.param({**ERROR, "output": 1}, "result_members", id="error-and-output"),
        pytest.param(without(ERROR, "error"), "result_members", id="no-error"),
        pytest.param({**ERROR, "error": None}, "result_error", id="null-error"),
        pytest.param({**ERROR, "error": {"kind": "k"}}, "result_error", id="bare-kind"),
        pytest.param(
            {**ERROR, "error": {"kind": "", "message": "m"}}, "result_error", id="empty"
        ),
        pytest.param(
            {**ERROR, "error": {"kind": 1, "message": "m"}}, "result_error", id="number"
        ),
        pytest.param(
            {**ERROR, "error": {"kind": "k", "message": None}},
            "result_error",
            id="null-message",
        ),
        pytest.param(
            {**ERROR, "error": {"kind": "k", "message": "", "x": 1}},
            "result_error",
            id="error-extra",
        ),
    ],
)
def test_a_result_that_differs_is_refused(frame, rule):
    assert rule_of(check_result, frame, identity=ME, activation=True) == rule


def test_an_error_may_have_an_empty_message():
    frame = {**ERROR, "error": {"kind": "k", "message": ""}}
    found = check_result(frame, identity=ME, activation=False)
    assert found.error == ("k", "")


@pytest.mark.parametrize(
    ("depth", "activation", "good"),
    [
        pytest.param(63, False, True, id="task-one-below"),
        pytest.param(64, False, True, id="task-at-the-limit"),
        pytest.param(65, False, False, id="task-one-above"),
        pytest.param(95, True, True, id="activation-one-below"),
        pytest.param(96, True, True, id="activation-at-the-limit"),
        pytest.param(97, True, False, id="activation-one-above"),
    ],
)
def test_an_output_is_only_so_deep(depth, activation, good):
    frame = {**SUCCESS, "output": nested(depth)}
    if good:
        found = check_result(frame, identity=ME, activation=activation)
        assert found.output == nested(depth)
    else:
        rule = rule_of(check_result, frame, identity=ME, activation=activation)
        assert rule == "result_output"


def test_only_an_activation_may_report_a_runtime_error():
    frame = {**ERROR, "status": "runtime_error"}
    assert check_result(frame, identity=ME, activation=True).status == "runtime_error"
    assert rule_of(check_result, frame, identity=ME, activation=False) == (
        "result_status"
    )


def test_unusable_observations_do_no_harm():
    frame = {**SUCCESS, "observations": {"nonsense": True}}
    found = check_result(frame, identity=ME, activation=False)
    assert (found.status, found.observations) == ("success", None)


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        *[
            pytest.param(without(REQUEST, name), "request_members", id=f"no-{name}")
            for name in ("event_id", "id", "operation", "payload")
        ],
        pytest.param({**REQUEST, "x": 1}, "request_members", id="extra"),
        pytest.param({**REQUEST, "event_id": "e"}, "request_identity", id="event"),
        pytest.param({**REQUEST, "attempt_id": "a"}, "request_identity", id="attempt"),
        pytest.param({**REQUEST, "id": 0}, "request_id", id="zero"),
        pytest.param({**REQUEST, "id": 2}, "request_id", id="jump"),
        pytest.param({**REQUEST, "id": 1.0}, "request_id", id="float"),
        pytest.param({**REQUEST, "id": True}, "request_id", id="boolean"),
        pytest.param({**REQUEST, "operation": ""}, "request_operation", id="empty"),
        pytest.param({**REQUEST, "operation": "a\n"}, "request_operation", id="Cc"),
        pytest.param({**REQUEST, "operation": 5}, "request_operation", id="number"),
        pytest.param(
            {**REQUEST, "payload": nested(97)}, "request_payload", id="too-deep"
        ),
        pytest.param(
            {**REQUEST, "payload": "x" * (REQUEST_BYTES - 1)},
            "request_payload",
            id="too-large",
        ),
    ],
)
def test_a_request_that_differs_is_refused(frame, rule):
    assert rule_of(check_request, frame, identity=ME, number=1) == rule


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(nested(96), id="deepest"),
        pytest.param("x" * (REQUEST_BYTES - 2), id="largest"),
        pytest.param("x" * (REQUEST_BYTES - 3), id="one-below"),
    ],
)
def test_a_request_at_the_limits_is_taken(payload):
    frame = {**REQUEST, "payload": payload}
    found = check_request(frame, identity=ME, number=1)
    assert found == Request(1, "local_step.commit", payload)


def fault_of(check):
    try:
        check()
    except FrameFault as fault:
        return fault
    return None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from([*SUCCESS, *REQUEST, "error", "observations", "pid", "x"])


@given(base=st.sampled_from([SUCCESS, ERROR, REQUEST, READY]), name=NAMES, value=JSON)
def test_a_changed_frame_is_taken_whole_or_refused_with_a_rule(base, name, value):
    frame = {**base, name: value}
    for check in (
        lambda: check_result(frame, identity=ME, activation=True),
        lambda: check_request(frame, identity=ME, number=1),
        lambda: check_ready(frame, pid=7, python_version="3.12"),
        lambda: check_closing(frame),
    ):
        fault = fault_of(check)
        # Bounded, however large the frame was.
        assert fault is None or (fault.rule and len(str(fault.got)) < 200)
