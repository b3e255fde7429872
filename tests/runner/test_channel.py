"""Lines from a descriptor, within a limit, however the bytes arrive."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.worker._runner import channel
from ledgence.worker._runner.channel import LineReader, ProtocolFault


class Source:
    """Stands in for the channel: a pipe whose other end the test has."""

    def __init__(self):
        self.source, self.end = os.pipe()

    def write(self, data):
        os.write(self.end, data)

    def close(self):
        os.close(self.end)


@pytest.fixture
def source():
    pipe = Source()
    yield pipe
    os.close(pipe.source)


def chunked(monkeypatch, chunks):
    """A reader whose reads give these chunks and then the end."""
    rest = iter([*chunks, b"", b"", b"", b""])
    monkeypatch.setattr(channel.os, "read", lambda fd, size: next(rest))
    return type("Chunks", (), {"source": 0})


def test_lines_come_one_at_a_time_and_the_end_stays_the_end(source):
    source.write(b"one\ntwo\n\nthree\n")
    source.close()
    lines = LineReader(source, 100)
    assert [lines.readline() for _ in range(6)] == [
        b"one\n", b"two\n", b"\n", b"three\n", b"", b"",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_it_does_not_matter_how_the_bytes_are_cut(monkeypatch, size):
    data = b"first line\nsecond\n\xc3\xa9\n"
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    lines = LineReader(chunked(monkeypatch, chunks), 100)
    assert [lines.readline() for _ in range(4)] == [
        b"first line\n", b"second\n", b"\xc3\xa9\n", b"",
    ]  # fmt: skip


@given(
    st.lists(st.binary(max_size=9), max_size=12),
    st.lists(st.integers(1, 12), min_size=1, max_size=8),
    st.integers(8, 12),
)
def test_lines_are_those_of_the_whole_text(parts, cuts, limit):
    data = b"\n".join(parts)
    chunks, rest, turn = [], data, 0
    while rest:
        size = cuts[turn % len(cuts)]
        chunks.append(rest[:size])
        rest, turn = rest[size:], turn + 1
    with pytest.MonkeyPatch.context() as patch:
        lines = LineReader(chunked(patch, chunks), limit)
        for text in [part + b"\n" for part in data.split(b"\n")[:-1]]:
            if len(text) > limit:
                with pytest.raises(ProtocolFault):
                    lines.readline()
                return
            assert lines.readline() == text
        if data.split(b"\n")[-1]:
            with pytest.raises(ProtocolFault):
                lines.readline()
        assert lines.readline() == b""


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("length", [9, 10, 11, 12])
def test_a_line_of_the_limit_passes_and_one_byte_more_does_not(
    monkeypatch, length, whole
):
    data = b"x" * (length - 1) + b"\n"
    chunks = [data] if whole else [data[i : i + 1] for i in range(length)]
    lines = LineReader(chunked(monkeypatch, chunks), 10)
    if length <= 10:
        assert lines.readline() == data
        return
    with pytest.raises(ProtocolFault, match="longer than 10 bytes"):
        lines.readline()


def test_an_endless_line_is_refused_at_one_byte_above_the_limit(source):
    lines = LineReader(source, 10)
    source.write(b"x" * 11)
    with pytest.raises(ProtocolFault):
        lines.readline()
    source.close()


def test_at_the_limit_the_newline_may_still_come(source):
    lines = LineReader(source, 10)
    source.write(b"x" * 9)
    lines.fill()
    assert lines.take() is None
    source.write(b"\n")
    lines.fill()
    assert lines.take() == b"x" * 9 + b"\n"
    source.close()


def test_the_rest_of_an_over_long_line_is_the_next_one(monkeypatch):
    chunks = [b"x" * 8, b"y" * 8 + b"\nnext\n"]
    lines = LineReader(chunked(monkeypatch, chunks), 10)
    with pytest.raises(ProtocolFault):
        lines.readline()
    assert lines.readline() == b"y" * 5 + b"\n"
    assert lines.readline() == b"next\n"
    assert lines.readline() == b""


def test_an_over_long_line_of_one_byte_too_many_leaves_nothing(monkeypatch):
    lines = LineReader(chunked(monkeypatch, [b"x" * 10 + b"\nnext\n"]), 10)
    with pytest.raises(ProtocolFault):
        lines.readline()
    assert lines.readline() == b"next\n"


def test_an_input_that_ends_inside_a_line_is_refused_once(source):
    source.write(b"whole\nhalf")
    source.close()
    lines = LineReader(source, 100)
    assert lines.readline() == b"whole\n"
    with pytest.raises(ProtocolFault, match="ended inside a line"):
        lines.readline()
    assert lines.readline() == b""


def test_discard_reads_to_the_end(source):
    source.write(b"a\nb\nc")
    lines = LineReader(source, 2)
    assert lines.readline() == b"a\n"
    source.write(b"more" * 100)
    source.close()
    lines.discard()
    lines.fill()
    assert lines.take() == b""
