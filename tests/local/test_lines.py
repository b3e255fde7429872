import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.local._lines import LineOverflow, Lines


def drain(lines):
    found = []
    while True:
        try:
            line = lines.next()
        except LineOverflow:
            found.append("overflow")
            return found
        if line is None:
            return found
        found.append(line)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"abc\n", [b"abc\n"], id="one-below"),
        pytest.param(b"abcd\n", [b"abcd\n"], id="at-the-limit"),
        pytest.param(b"abcde\n", ["overflow"], id="one-above"),
        pytest.param(b"abcde", [], id="unfinished-at-the-limit"),
        pytest.param(b"abcdef", ["overflow"], id="unfinished-above"),
        pytest.param(b"a\nbb\nabcdef", [b"a\n", b"bb\n", "overflow"], id="good-before"),
        pytest.param(b"\n\n", [b"\n", b"\n"], id="empty-lines"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_a_line_has_at_most_the_limit_with_its_newline(data, expected):
    lines = Lines(5)
    lines.feed(data)
    assert drain(lines) == expected


def test_after_an_overlong_line_nothing_more_is_taken_for_a_line():
    lines = Lines(3)
    lines.feed(b"toolong\nok\n")
    assert drain(lines) == ["overflow"]
    lines.feed(b"ok\n")
    assert drain(lines) == ["overflow"]


def test_resuming_lines_go_on_after_an_overlong_one():
    lines = Lines(3, resume=True)
    lines.feed(b"a\ntoo")
    lines.feed(b"long")
    lines.feed(b"\nb\n")
    assert [*drain(lines), *drain(lines)] == [b"a\n", "overflow", b"b\n"]


def test_an_overlong_line_is_not_kept_in_memory():
    lines = Lines(10)
    for _ in range(1000):
        lines.feed(b"x" * 1000)
    assert lines.rest() == b""


def test_the_rest_is_the_unfinished_line_once():
    lines = Lines(10)
    lines.feed(b"a\nrest")
    assert lines.next() == b"a\n"
    assert lines.rest() == b"rest"
    assert lines.rest() == b""


@given(st.binary(max_size=60), st.lists(st.integers(1, 7), max_size=30))
def test_how_the_bytes_arrive_makes_no_difference(data, sizes):
    whole = Lines(8, resume=True)
    whole.feed(data)
    pieces = Lines(8, resume=True)
    rest = data
    for size in sizes:
        pieces.feed(rest[:size])
        rest = rest[size:]
    pieces.feed(rest)

    def everything(lines):
        found = []
        for _ in range(100):
            try:
                line = lines.next()
            except LineOverflow:
                found.append(None)
                continue
            if line is None:
                break
            found.append(line)
        return found

    assert everything(whole) == everything(pieces)
