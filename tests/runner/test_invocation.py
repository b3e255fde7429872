"""The public records, and the invocation that code belongs to."""

import contextvars
import copy
import dataclasses
import pickle
import subprocess
import sys
import threading

import pytest

import ledgence.worker
from ledgence.worker import (
    InvocationContext,
    TraceContext,
    _invocation,
    current_invocation,
)
from tests.support.places import PACKAGE
from tests.support.runner import TRACEPARENT, event

FIELDS = [
    "event_id",
    "attempt_id",
    "source",
    "tenant_id",
    "namespace",
    "run_id",
    "task_id",
    "attempt_no",
    "processing_context",
    "workflow_id",
    "activation_id",
    "parent_workflow_id",
    "root_workflow_id",
]


def fresh(code):
    """Run code in an interpreter in which nobody has looked at the fields yet."""
    done = subprocess.run(
        [sys.executable, "-c", "from ledgence.worker import *\n" + code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_public_names_are_frozen():
    names = [
        "InvocationContext",
        "TraceContext",
        "current_invocation",
        "get_logger",
        "register_shutdown",
    ]
    assert ledgence.worker.__all__ == names
    for name in names:
        assert getattr(ledgence.worker, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_like_that"):
        ledgence.worker.nothing_like_that  # noqa: B018 - the access is the test


def test_the_records_have_their_fields_in_order():
    fields = dataclasses.fields(InvocationContext)
    assert [field.name for field in fields] == FIELDS
    assert [field.default for field in fields[2:]] == [None] * 11
    assert [f.default for f in fields[:2]] == [dataclasses.MISSING] * 2
    assert [field.name for field in dataclasses.fields(TraceContext)] == [
        "traceparent",
        "tracestate",
    ]
    assert InvocationContext.__dataclass_params__.frozen
    assert InvocationContext.__match_args__ == tuple(FIELDS)


USES = {
    "fields": "print(len(dataclasses.fields(c)))",
    "fields of the class": "print(len(dataclasses.fields(InvocationContext)))",
    "is_dataclass": "print(dataclasses.is_dataclass(c), dataclasses.is_dataclass(t))",
    "asdict": "print(dataclasses.asdict(c))",
    "astuple": "print(dataclasses.astuple(c))",
    "replace": "print(dataclasses.replace(c, run_id='r'))",
    "equality": "print(c == InvocationContext('e', 'a', processing_context=t), c == t)",
    "hash": "print(hash(c) == hash(InvocationContext('e', 'a', processing_context=t)))",
    "repr": "print(c)",
    "match": "match c:\n    case InvocationContext(e, a): print(e, a)",
    "subclass": (
        "@dataclasses.dataclass(frozen=True)\n"
        "class Mine(TraceContext):\n    more: int = 3\n"
        "print(Mine('x'), [f.name for f in dataclasses.fields(Mine)])"
    ),
    "plain subclass": (
        "class Mine(TraceContext): pass\n"
        "print([f.name for f in dataclasses.fields(Mine)], Mine('x'))"
    ),
    "no dataclass": "print(dataclasses.is_dataclass(TraceContext.__bases__[0]))",
    "frozen": (
        "try: c.event_id = 1\n"
        "except dataclasses.FrozenInstanceError as e: print(e)\n"
        "try: del c.event_id\n"
        "except dataclasses.FrozenInstanceError as e: print(e)"
    ),
}
REAL = """
import dataclasses
t = TraceContext("tp", "ts")
c = InvocationContext("e", "a", processing_context=t)
"""
ON_PATH = """
import sys
sys.path.insert(0, sys.argv[1])
from ledgence.worker import *
"""
LOOKED_AT = "dataclasses.fields(InvocationContext), dataclasses.fields(TraceContext)\n"


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_record_behaves_the_same_before_and_after_somebody_looked(use):
    assert fresh(REAL + use) == fresh(REAL + LOOKED_AT + use)


def test_the_records_cost_no_import_of_dataclasses():
    code = (
        "c = InvocationContext('e', 'a'); repr(c), hash(c), c == c\n"
        "import sys; print('dataclasses' in sys.modules, 'inspect' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ON_PATH + code, PACKAGE.parent],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "False False\n", done.stderr


def test_a_record_can_be_pickled_and_copied():
    context = InvocationContext("e", "a", processing_context=TraceContext(TRACEPARENT))
    assert pickle.loads(pickle.dumps(context)) == context
    assert copy.copy(context) == context
    assert copy.deepcopy(context) == context


def test_a_record_differs_in_any_field():
    one = TraceContext("tp")
    assert one != TraceContext("tp", "x")
    assert one != "tp"
    assert len({one, TraceContext("tp"), TraceContext("tq")}) == 2
    assert repr(one) == "TraceContext(traceparent='tp', tracestate=None)"


def inside(function, *args, **attributes):
    """Call a function in a context of its own, with an invocation."""

    def enter_and_call():
        _invocation.enter(
            _invocation.Invocation("evt-1", "attempt-1", event(**attributes))
        )
        return function(*args)

    return contextvars.Context().run(enter_and_call)


def test_the_values_are_those_of_the_event_when_it_began():
    received = event(ldgworkflowid="wf", ldgactivationid="act", ldgtenantid={"odd": 1})
    carrier = {"traceparent": TRACEPARENT, "tracestate": None}
    invocation = _invocation.Invocation("e", "a", received, carrier)
    received.clear()
    assert dataclasses.asdict(invocation.context) == {
        "event_id": "e",
        "attempt_id": "a",
        "source": "urn:example:tests",
        "tenant_id": {"odd": 1},
        "namespace": "default",
        "run_id": "run-a",
        "task_id": "task-1",
        "attempt_no": 1,
        "processing_context": {"traceparent": TRACEPARENT, "tracestate": None},
        "workflow_id": "wf",
        "activation_id": "act",
        "parent_workflow_id": None,
        "root_workflow_id": "wf",
    }


@pytest.mark.parametrize(
    ("attributes", "root"),
    [
        ({}, None),
        ({"ldgworkflowid": "w"}, "w"),
        ({"ldgworkflowid": "w", "ldgrootworkflowid": "r"}, "r"),
        ({"ldgworkflowid": "w", "ldgrootworkflowid": None}, None),
    ],
)
def test_the_root_is_the_workflow_itself_unless_the_event_names_one(attributes, root):
    invocation = _invocation.Invocation("e", "a", attributes)
    assert invocation.context.root_workflow_id == root


def test_nothing_is_active_outside_an_invocation():
    with pytest.raises(RuntimeError, match="no invocation is active"):
        current_invocation()
    assert _invocation.lookup(None) is None


def test_an_invocation_is_seen_in_its_context_and_in_copies_of_it():
    seen = []

    def body():
        seen.append(current_invocation())
        copied = contextvars.copy_context()
        for target in (body_of_thread, lambda: copied.run(body_of_thread)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    def body_of_thread():
        try:
            seen.append(current_invocation())
        except RuntimeError:
            seen.append(None)

    inside(body)
    first, plain, copied = seen
    assert first.event_id == "evt-1"
    assert plain is None
    assert copied is first  # one record per invocation
