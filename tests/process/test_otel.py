"""The OpenTelemetry bridge against the real API and SDK, shipped by the program."""

import importlib.util
from pathlib import Path

import pytest

from tests.support.runner import TRACEPARENT, invocation

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
# What the SDK consists of; the rest of what it imports is standard.
PACKAGES = ["opentelemetry", "typing_extensions.py"]

PROGRAM = """
import asyncio
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from ledgence.worker import get_logger
from ledgence.worker.otel import enable_context

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("tests")
log = get_logger("traced")
# A span that is current while importing must not be seen in an invocation.
context.attach(trace.set_span_in_context(tracer.start_span("importing")))
enable_context()
enable_context()
log.info("while importing")

def finished():
    spans = exporter.get_finished_spans()
    exporter.clear()
    return [[s.name, format(s.context.trace_id, "032x"),
             format(s.context.span_id, "016x"),
             s.parent and format(s.parent.span_id, "016x"),
             s.parent and s.parent.is_remote,
             s.parent and s.parent.trace_state.to_header()] for s in spans]

{handler}
"""
SYNC = """
def handle(event):
    log.info("before")
    with tracer.start_as_current_span("work"):
        log.info("inside")
        if event["data"] == "raise":
            raise ValueError("failed")
    if event["data"] == "leak":
        context.attach(baggage.set_baggage("leaked", "yes"))
    return [finished(), baggage.get_baggage("leaked"),
            trace.get_current_span().get_span_context().is_valid]
"""
ASYNC = SYNC.replace("def handle", "async def handle").replace(
    "    with tracer", "    await asyncio.sleep(0)\n    with tracer"
)


@pytest.fixture
def traced(launch, artifact):
    """A runner over an artifact that ships OpenTelemetry."""
    origin = importlib.util.find_spec("opentelemetry").submodule_search_locations[0]
    site = Path(origin).parent

    def start(handler, protocol):
        folder = artifact({})
        for name in PACKAGES:
            if (site / name).exists() and not (folder / name).exists():
                copy(site / name, folder / name)
        for metadata in site.glob("opentelemetry*.dist-info"):
            copy(metadata, folder / metadata.name)
        return launch(PROGRAM.replace("{handler}", handler), protocol).ready()

    return start


def copy(source, target):
    import shutil

    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target, ignore=ignored)
    else:
        shutil.copyfile(source, target)


CARRIER = {"traceparent": TRACEPARENT, "tracestate": "vendor=value"}
CASES = [(2, SYNC), (3, SYNC), (3, ASYNC)]


@pytest.mark.parametrize(("protocol", "handler"), CASES, ids=["2", "3", "3 async"])
def test_spans_and_records_belong_to_the_trace_of_the_frame(traced, protocol, handler):
    runner = traced(handler, protocol)
    spans, baggage, valid = runner.output("ok", processing_context=CARRIER)
    (name, trace_id, span_id, parent, remote, state) = spans[0]
    assert (name, trace_id, parent, remote) == ("work", TRACE_ID, SPAN_ID, True)
    assert state == "vendor=value"
    assert (baggage, valid) == (None, True)
    importing, before, inside = runner.await_logs(3)
    assert importing["trace_id"] not in {TRACE_ID, ""}
    assert (before["trace_id"], before["span_id"]) == (TRACE_ID, SPAN_ID)
    assert (inside["trace_id"], inside["span_id"]) == (TRACE_ID, span_id)
    runner.shut_down()


@pytest.mark.parametrize(("protocol", "handler"), CASES, ids=["2", "3", "3 async"])
def test_without_a_carrier_a_trace_begins_anew(traced, protocol, handler):
    runner = traced(handler, protocol)
    runner.send(invocation(protocol, "raise", processing_context=CARRIER))
    assert runner.control()["status"] == "error"
    runner.output("leak", 2, processing_context=CARRIER)
    spans, baggage, valid = runner.output("ok", 3)
    (name, trace_id, _, parent, _, _) = spans[-1]
    assert name == "work"
    assert trace_id != TRACE_ID
    assert parent is None
    assert (baggage, valid) == (None, False)
    before, inside = runner.await_logs(7)[-2:]
    assert "trace_id" not in before
    assert inside["trace_id"] == trace_id
    runner.shut_down()


def test_protocol_1_enables_the_bridge_to_no_effect_but_an_empty_context(traced):
    handler = SYNC.replace("return [finished()", "return [finished()")
    runner = traced(handler, 1)
    spans, _, valid = runner.output("ok", processing_context=CARRIER)
    assert spans[0][1] != TRACE_ID
    assert valid is False


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_without_the_api_enabling_is_an_import_error_and_nothing_else(launch, protocol):
    program = """
    import sys
    from ledgence.worker import otel
    try:
        otel.enable_context()
        FOUND = "enabled"
    except ImportError as error:
        FOUND = error.name
    def handle(event):
        return [FOUND, "opentelemetry" in sys.modules]
    """
    runner = launch(program, protocol).ready()
    assert runner.output(processing_context=CARRIER) == ["opentelemetry", False]


class Span:
    def __init__(self, valid):
        self.is_valid, self.trace_id, self.span_id = valid, 0xABC, 0x123

    def get_span_context(self):
        return self


def test_ids_are_lower_case_hexadecimal_of_full_length(monkeypatch):
    from opentelemetry import trace

    from ledgence.worker import _process, otel

    monkeypatch.setattr(_process, "bridge", None)
    otel.enable_context()
    bridge = _process.bridge
    otel.enable_context()
    assert _process.bridge is bridge
    monkeypatch.setattr(trace, "get_current_span", lambda: Span(True))
    assert bridge.span_ids() == ("0" * 29 + "abc", "0" * 13 + "123")
    monkeypatch.setattr(trace, "get_current_span", lambda: Span(False))
    assert bridge.span_ids() is None


@pytest.mark.parametrize("carrier", [None, {"traceparent": TRACEPARENT}, CARRIER,
                                     CARRIER | {"tracestate": None}])  # fmt: skip
def test_a_carrier_is_attached_over_an_empty_context_and_detached(carrier):
    from opentelemetry import baggage, context, trace

    from ledgence.worker.otel import Bridge

    bridge = Bridge()
    outer = context.attach(baggage.set_baggage("outer", "yes"))
    try:
        token = bridge.attach(carrier)
        assert baggage.get_baggage("outer") is None
        span = trace.get_current_span().get_span_context()
        assert span.is_valid == (carrier is not None)
        if carrier:
            assert span.trace_state.to_header() == (carrier.get("tracestate") or "")
        bridge.detach(token)
        assert baggage.get_baggage("outer") == "yes"
    finally:
        context.detach(outer)
