import pytest

from ledgence.local._limits import LOG_LINE_BYTES
from ledgence.local._logs import DroppedLog, Log, keep_log

INVOCATION = {
    "event_id": "e",
    "attempt_id": "a",
    "source": "urn:x",
    "tenant_id": "t",
    "namespace": "n",
    "run_id": "r",
    "task_id": "k",
    "attempt_no": 1,
}
LOG = {
    "v": 2,
    "type": "log",
    "time": "2026-11-29T16:01:07.409544+00:00",
    "severity": "INFO",
    "logger": "billing",
    "message": "Invoice issued",
    "attributes": {"invoice.id": "INV-1"},
}
TRACE = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7"}
WORKFLOW = {"workflow_id": "w", "activation_id": "k"}
LINEAGE = {"parent_workflow_id": "p", "root_workflow_id": "q"}


def keep(changes, *, protocol=2, size=200, less=()):
    frame = {k: v for k, v in {**LOG, **changes}.items() if k not in less}
    return keep_log(frame, protocol=protocol, size=size)


def nested(depth):
    value = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="least"),
        pytest.param({"time": "2026-11-29T16:01:07Z"}, id="zulu"),
        pytest.param({"time": "2026-11-29t16:01:07z"}, id="lower-case"),
        pytest.param({"time": "2026-11-29T16:01:07." + "1" * 43 + "Z"}, id="64-bytes"),
        pytest.param({"severity": "S" * 32}, id="severity-32"),
        pytest.param({"severity": "é" * 16}, id="severity-32-bytes"),
        pytest.param({"logger": "l" * 1024}, id="logger-1024"),
        pytest.param({"message": ""}, id="empty-message"),
        pytest.param({"attributes": {}}, id="no-attributes"),
        pytest.param({"attributes": nested(63)}, id="deepest"),
        pytest.param(TRACE, id="trace"),
        pytest.param({"invocation": INVOCATION}, id="invocation"),
    ],
)
def test_a_good_record_is_kept(changes):
    assert isinstance(keep(changes), Log)


def test_what_is_kept_is_what_was_sent():
    kept = keep({**TRACE, "invocation": INVOCATION})
    assert kept.attributes == {"invoice.id": "INV-1"}
    assert kept.trace == (TRACE["trace_id"], TRACE["span_id"])
    assert kept.invocation == INVOCATION
    assert (kept.severity, kept.logger, kept.message) == (
        "INFO",
        "billing",
        "Invoice issued",
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"extra": 1}, "members", id="unknown-member"),
        pytest.param({"attributes": []}, "attributes", id="list"),
        pytest.param({"attributes": None}, "attributes", id="null"),
        pytest.param({"time": "2026-11-29 16:01:07Z"}, "time", id="blank"),
        pytest.param({"time": "2026-11-29T16:01:07"}, "time", id="no-offset"),
        pytest.param({"time": "2026-13-29T16:01:07Z"}, "time", id="month-13"),
        pytest.param(
            {"time": "2026-11-29T16:01:07." + "1" * 44 + "Z"}, "time", id="65-bytes"
        ),
        pytest.param({"time": 5}, "time", id="number"),
        pytest.param({"severity": ""}, "severity", id="empty-severity"),
        pytest.param({"severity": "S" * 33}, "severity", id="severity-33"),
        pytest.param({"severity": "é" * 17}, "severity", id="severity-34-bytes"),
        pytest.param({"logger": "l" * 1025}, "text", id="logger-1025"),
        pytest.param({"message": None}, "text", id="null-message"),
        pytest.param({"message": "m" * 16385}, "text", id="message-16385"),
        pytest.param({"attributes": nested(64)}, "depth", id="too-deep"),
        pytest.param({"trace_id": TRACE["trace_id"]}, "trace", id="no-span"),
        pytest.param({"span_id": TRACE["span_id"]}, "trace", id="no-trace"),
        pytest.param({**TRACE, "trace_id": "0" * 32}, "trace", id="zero-trace"),
        pytest.param({**TRACE, "span_id": "F" * 16}, "trace", id="upper-case"),
        pytest.param({"invocation": None}, "invocation", id="null-invocation"),
        pytest.param(
            {"invocation": {**INVOCATION, "attempt_no": 0}},
            "invocation",
            id="attempt-0",
        ),
        pytest.param(
            {"invocation": {**INVOCATION, "attempt_no": True}},
            "invocation",
            id="attempt-true",
        ),
        pytest.param(
            {"invocation": {**INVOCATION, "run_id": ""}}, "invocation", id="empty-run"
        ),
        pytest.param(
            {"invocation": {**INVOCATION, **WORKFLOW}}, "invocation", id="workflow-in-2"
        ),
    ],
)
def test_another_record_is_dropped_with_the_reason(changes, reason):
    assert keep(changes) == DroppedLog(reason, 200)


@pytest.mark.parametrize(
    "name", ["time", "severity", "logger", "message", "attributes"]
)
def test_a_record_without_a_required_member_is_dropped(name):
    assert keep({}, less=(name,)) == DroppedLog("members", 200)


@pytest.mark.parametrize("name", list(INVOCATION))
def test_an_invocation_names_all_of_its_identities(name):
    less = {key: value for key, value in INVOCATION.items() if key != name}
    assert isinstance(keep({"invocation": less}), DroppedLog)


def test_the_line_has_a_limit():
    assert isinstance(keep({}, size=LOG_LINE_BYTES), Log)
    assert keep({}, size=LOG_LINE_BYTES + 1).reason == "line"


@pytest.mark.parametrize(
    ("more", "good"),
    [
        pytest.param(WORKFLOW, True, id="activation"),
        pytest.param({"workflow_id": "w"}, True, id="child-task"),
        pytest.param({**WORKFLOW, **LINEAGE}, True, id="owned"),
        pytest.param({"activation_id": "k"}, False, id="activation-alone"),
        pytest.param({**WORKFLOW, "root_workflow_id": "q"}, False, id="half-lineage"),
        pytest.param({**WORKFLOW, "other": "q"}, False, id="unknown"),
        pytest.param({**WORKFLOW, "workflow_id": 5}, False, id="number"),
    ],
)
def test_protocol_3_may_name_the_workflow(more, good):
    kept = keep({"invocation": {**INVOCATION, **more}}, protocol=3)
    assert isinstance(kept, Log) is good
