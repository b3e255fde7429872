"""The small rooms: what is installed, silent loggers, endings, frozen records."""

import dataclasses
import logging
import runpy
import sys
import types

import pytest

import ledgence.worker
from ledgence.worker import _logs, _process, _silent, _stdlib
from ledgence.worker._frozen import Frozen
from ledgence.worker._runner import channel as channel_module
from ledgence.worker._runner import handlers, invoke, session
from ledgence.worker._runner.channel import Channel, end_child


def test_the_module_says_what_is_installed(capsys):
    runpy.run_module("ledgence.worker", run_name="__main__")
    facts = dict(text.split(": ", 1) for text in capsys.readouterr().out.splitlines())
    assert facts["profile"] in {"native", "pure"}
    assert facts["protocols"] == "1, 2, 3"
    assert facts["frame bytes"].startswith("2097152")
    assert facts["python"].startswith(sys.version.split()[0])
    assert facts["workflow max state bytes"] == "65536"
    assert facts["workflow value depth"] == "64"


def test_the_module_works_where_nothing_is_installed(monkeypatch):
    from importlib import metadata

    from ledgence.worker import __main__ as entry

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert "not installed" in entry.describe().splitlines()[0]
    monkeypatch.setattr(metadata, "version", lambda name: "1.2.3")
    assert entry.describe().startswith("ledgence-worker: 1.2.3\n")


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0)])
def test_usage_and_help_touch_no_descriptor(arguments, status, capsys):
    assert session.main(arguments, -1, -1) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "usage: bootstrap.py" in shown.err


@pytest.fixture
def own_logger():
    logger = logging.getLogger("tests.own")
    yield logger
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


def test_a_logger_is_set_up_once_and_its_level_only_if_unset(own_logger):
    assert ledgence.worker.get_logger("tests.own") is own_logger
    assert ledgence.worker.get_logger("tests.own") is own_logger
    assert len(own_logger.handlers) == 1
    assert own_logger.level == logging.INFO
    own_logger.setLevel(logging.ERROR)
    ledgence.worker.get_logger("tests.own")
    assert own_logger.level == logging.ERROR


class Sink:
    protocol, limit = 2, 16384

    def __init__(self):
        self.frames, self.drops = [], 0

    def emit(self, frame):
        self.frames.append(frame)

    def drop(self):
        self.drops += 1


@pytest.fixture
def sink(monkeypatch):
    made = Sink()
    monkeypatch.setattr(_process, "sink", made)
    return made


def record(message="text", *args):
    return logging.LogRecord("a", logging.INFO, __file__, 1, message, args, None)


def test_a_record_is_taken_once_by_all_handlers(sink):
    one, other, made = _logs.LedgenceHandler(), _logs.LedgenceHandler(), record()
    assert one.handle(made)
    assert other.handle(made)
    assert len(sink.frames) == 1
    one.handle(record())
    assert len(sink.frames) == 2


def test_a_dropped_record_is_dropped_once(sink):
    handler, made = _logs.LedgenceHandler(), record("%d", "x")
    handler.handle(made)
    handler.handle(made)
    assert (sink.frames, sink.drops) == ([], 1)
    sink.limit = 10
    handler.handle(record())
    assert (sink.frames, sink.drops) == ([], 2)


def test_without_a_sink_a_record_stays_unmarked(monkeypatch):
    monkeypatch.setattr(_process, "sink", None)
    made = record()
    before = dict(made.__dict__)
    _logs.LedgenceHandler().handle(made)
    assert made.__dict__ == before


@pytest.mark.parametrize("verdict", [True, False, "replaced"])
def test_filters_have_their_say(sink, monkeypatch, verdict):
    """From Python 3.12 on a filter may also give another record."""
    handler = _logs.LedgenceHandler()
    passed = record("other") if verdict == "replaced" else verdict
    monkeypatch.setattr(handler, "filter", lambda made: passed)
    assert handler.handle(record("first")) is bool(verdict)
    messages = [b'"message":"first"', b'"message":"other"']
    found = [[m in frame for m in messages] for frame in sink.frames]
    wanted = {True: [[True, False]], False: [], "replaced": [[False, True]]}
    assert found == wanted[verdict]


def test_a_silent_logger_is_needed_where_logging_cannot_be_had(monkeypatch):
    assert not _silent.is_needed()
    monkeypatch.setattr(_stdlib, "is_shadowed", lambda name: True)
    assert _silent.is_needed()
    logger = ledgence.worker.get_logger("quiet")
    assert logger.name == "quiet"
    assert logger.warning("x", extra={}) is None
    assert not hasattr(logger, "__iter__")
    monkeypatch.undo()
    monkeypatch.setattr(_stdlib, "is_free", lambda name: True)
    assert not _silent.is_needed()
    monkeypatch.setitem(sys.modules, "logging", None)
    assert _silent.is_needed()


class Left(BaseException):
    def __init__(self, status):
        self.status = status


@pytest.fixture
def leaves(monkeypatch):
    def leave(status):
        raise Left(status)

    monkeypatch.setattr(channel_module.os, "_exit", leave)


def test_a_child_that_came_back_ends_with_70_and_says_why(leaves, capsys):
    with pytest.raises(Left) as left:
        end_child()
    assert left.value.status == 70
    assert "a forked child came back" in capsys.readouterr().err


def test_a_child_without_a_standard_error_ends_all_the_same(leaves, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(Left):
        end_child()


def test_a_channel_is_closed_in_a_child(monkeypatch, leaves):
    hooks, closed, called = [], [], []
    monkeypatch.setattr(
        channel_module.os,
        "register_at_fork",
        lambda **hook: hooks.extend(hook.values()),
    )
    channel = Channel(41, 42)
    channel.when_forked.append(lambda: called.append(channel.forked))
    channel.stop_child()
    monkeypatch.setattr(channel_module.os, "close", closed.append)
    hooks[0]()
    assert (closed, called) == ([41, 42], [True])
    assert (channel.source, channel.sink) == (-1, -1)
    with pytest.raises(Left):
        channel.stop_child()
    hooks[0]()  # a child of the child
    assert closed == [41, 42]


def test_a_callback_is_registered_once(monkeypatch):
    monkeypatch.setattr(_process, "shutdown_callbacks", [])

    @ledgence.worker.register_shutdown
    def callback():
        pass

    assert ledgence.worker.register_shutdown(callback) is callback
    assert _process.shutdown_callbacks == [callback]
    with pytest.raises(TypeError, match="NoneType"):
        ledgence.worker.register_shutdown(None)


class Point(Frozen):
    x: int
    y: int = 2

    def __init__(self, x, y=2):
        self.__dict__.update(x=x, y=y)


def test_a_record_is_frozen_without_dataclasses():
    point = Point(1)
    assert repr(point) == "Point(x=1, y=2)"
    assert point == Point(1, 2)
    assert point != Point(1, 3)
    assert point != (1, 2)
    assert hash(point) == hash(Point(1))
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        point.x = 5
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        del point.x
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert "__dataclass_fields__" not in Point.__dict__


def test_the_first_look_makes_a_dataclass():
    class Here(Frozen):
        x: int

        def __init__(self, x):
            self.__dict__["x"] = x

    class Sub(Here):
        pass

    assert [field.name for field in dataclasses.fields(Sub)] == ["x"]
    assert "__dataclass_fields__" in Here.__dict__
    assert dataclasses.replace(Here(1), x=2) == Here(2)
    assert not dataclasses.is_dataclass(Frozen)


class Method:
    async def method(self):
        pass

    def plain(self):
        pass


async def coroutine_function():
    pass


def generator_function():
    yield


@pytest.mark.parametrize(
    "handler",
    [
        print,
        int,
        coroutine_function,
        generator_function,
        Method().method,
        Method().plain,
        Method,
        lambda: None,
        types.coroutine(generator_function),
    ],
    ids=[
        "builtin",
        "class",
        "async",
        "generator",
        "async method",
        "method",
        "own class",
        "lambda",
        "marked generator",
    ],
)
def test_coroutine_functions_are_told_as_inspect_tells_them(handler):
    import inspect

    wanted = inspect.iscoroutinefunction(handler)
    assert handlers.is_coroutine_function(handler) is wanted


def test_awaitables_are_told_as_inspect_tells_them():
    import inspect

    coroutine = coroutine_function()
    old_style = types.coroutine(generator_function)()
    values = [
        coroutine,
        old_style,
        generator_function(),
        1,
        "x",
        [],
        {},
        None,
        object(),
    ]
    for value in values:
        assert invoke.needs_await(value) is inspect.isawaitable(value)
    coroutine.close()
