"""Tracebacks read as the standard module writes them, without the runner's frames."""

import sys
import traceback

import pytest

from ledgence.worker._runner import tracebacks


def caught(function):
    try:
        function()
    except BaseException as error:  # noqa: BLE001 - whatever it is, is the case
        return error
    raise AssertionError("nothing was raised")


def plain():
    raise ValueError("no such invoice")


def empty():
    raise ValueError


def chained():
    try:
        plain()
    except ValueError as error:
        raise KeyError("order") from error


def while_handling():
    try:
        plain()
    except ValueError:
        {}["missing"]


def suppressed():
    try:
        plain()
    except ValueError:
        raise KeyError("order") from None


def noted():
    error = ValueError("with notes")
    error.add_note("a note")
    raise error


def grouped():
    raise ExceptionGroup("several", [ValueError(1), KeyError(2)])


def misspelled():
    return sys.modulse


def syntax():
    compile("a b", "f.py", "exec")


def recursive(depth=0):
    recursive(depth + 1)


def cycle():
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first
    raise first


class Custom(Exception):
    pass


class Mute(Exception):
    def __str__(self):
        raise RuntimeError


def custom():
    raise Custom("text")


CASES = [
    plain,
    empty,
    chained,
    while_handling,
    suppressed,
    noted,
    grouped,
    misspelled,
    syntax,
    cycle,
    custom,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_text_is_that_of_the_standard_module(case):
    error = caught(case)
    wanted = "".join(traceback.format_exception(error))
    assert tracebacks.render(error) == wanted
    assert tracebacks.render(error) == wanted  # once more, from the cache


def test_repeated_lines_are_told_by_their_number():
    error = caught(recursive)
    text = tracebacks.render(error)
    assert "[Previous line repeated " in text
    assert len(text) < 2000
    assert text == "".join(traceback.format_exception(error))


@pytest.mark.parametrize("depth", [2, 3, 4, 5])
def test_repetition_begins_after_three(depth):
    def descend(left):
        if left:
            descend(left - 1)
        raise ValueError

    error = caught(lambda: descend(depth))
    assert tracebacks.render(error) == "".join(traceback.format_exception(error))


def test_an_exception_without_a_traceback_is_one_line():
    assert tracebacks.render(ValueError("bare")) == "ValueError: bare\n"


def test_an_exception_that_has_no_text_is_still_shown():
    assert "Mute: <exception str() failed>" in tracebacks.render(Mute())


def test_frames_of_the_runner_come_not_first(monkeypatch):
    monkeypatch.setattr(tracebacks, "_OURS", __file__)
    error = caught(lambda: compile("a b", "f.py", "exec"))
    assert "test_tracebacks" in tracebacks.render(error)  # or there would be nothing
    monkeypatch.undo()

    def ours():
        plain()

    error = caught(ours)
    inner = error.__traceback__.tb_next.tb_frame.f_code.co_filename
    assert inner == __file__


def test_frames_of_the_runner_are_skipped_up_to_the_programs_first():
    from ledgence.worker._runner.invoke import describe
    from ledgence.worker._runner.writer import write_all

    error = caught(lambda: write_all("no descriptor", b""))
    # Within our own code: shown from the first frame that is not ours.
    assert "in <lambda>" in tracebacks.render(error)
    assert describe(error)


def test_places_do_not_pile_up():
    for number in range(300):
        scope = {}
        exec(f"def f():\n    raise ValueError({number})", scope)
        tracebacks.render(caught(scope["f"]))
    assert len(tracebacks._places) <= 256


def test_a_report_is_one_write_and_never_fails(monkeypatch):
    writes = []

    class Stream:
        def write(self, text):
            writes.append(text)

        def flush(self):
            raise ValueError("closed")

    monkeypatch.setattr(sys, "stderr", Stream())
    tracebacks.report(caught(plain))
    assert len(writes) == 1
    assert writes[0].endswith("ValueError: no such invoice\n")
    monkeypatch.setattr(sys, "stderr", None)
    tracebacks.report(caught(plain))
