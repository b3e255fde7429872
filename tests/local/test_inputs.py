import os
import threading

import pytest

from ledgence.local._errors import InputError
from ledgence.local._inputs import one_value, open_events
from ledgence.local._limits import DATA_BYTES


def read(path):
    inputs = open_events(str(path))
    return [
        (one.line, one.problem.code if one.problem else one.data)
        for one in inputs.read(lambda _descriptor: None)
    ]


def events(tmp_path, data):
    path = tmp_path / "events.jsonl"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="empty-file"),
        pytest.param(b"\n \n\t\r\n", [], id="blank-lines-only"),
        pytest.param(b"1\n2\n", [(1, 1), (2, 2)], id="two"),
        pytest.param(b"1\n2", [(1, 1), (2, 2)], id="last-without-newline"),
        pytest.param(b"1\r\n2\r\n", [(1, 1), (2, 2)], id="crlf"),
        pytest.param(b"1\n\n\n4\n", [(1, 1), (4, 4)], id="blank-lines-count"),
        pytest.param(
            b'1\n{"a"\n3\n',
            [(1, 1), (2, "data_syntax"), (3, 3)],
            id="malformed-between",
        ),
        pytest.param(
            b'1\n"\xff"\n3\n', [(1, 1), (2, "data_utf8"), (3, 3)], id="not-utf8"
        ),
        pytest.param(b"null\n", [(1, None)], id="null"),
        pytest.param('{"é":"\u2028"}\n'.encode(), [(1, {"é": "\u2028"})], id="unicode"),
        pytest.param(b"1 2\n", [(1, "data_syntax")], id="two-values-in-a-line"),
    ],
)
def test_one_value_a_line_with_its_number(tmp_path, data, expected):
    assert read(events(tmp_path, data)) == expected


def test_a_huge_line_is_refused_and_the_next_is_read(tmp_path):
    data = b'"' + b"x" * (8 * DATA_BYTES) + b'"\n2\n'
    assert read(events(tmp_path, data)) == [(1, "data_bytes"), (2, 2)]


def test_data_over_the_limit_is_refused_and_the_next_is_read(tmp_path):
    data = b'"' + b"x" * (DATA_BYTES - 1) + b'"\n2\n'
    assert read(events(tmp_path, data)) == [(1, "data_bytes"), (2, 2)]


def test_blanks_around_a_value_do_not_count_as_data(tmp_path):
    data = b" " * DATA_BYTES + b"1\n"
    assert read(events(tmp_path, data)) == [(1, 1)]


def test_a_problem_names_its_line_first(tmp_path):
    inputs = open_events(str(events(tmp_path, b"1\n\n{\n")))
    problem = list(inputs.read(lambda _descriptor: None))[-1].problem
    assert next(iter(problem.details.items())) == ("line", 3)


def test_a_regular_file_has_a_size_and_the_position_grows(tmp_path):
    data = b"1\n" * 50_000
    inputs = open_events(str(events(tmp_path, data)))
    positions = [one.position for one in inputs.read(lambda _descriptor: None)]
    assert inputs.size == positions[-1] == len(data)
    assert positions == sorted(positions)


def open_descriptors():
    found = set()
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.add(number)
    return found


def test_the_file_is_closed_when_reading_stops_early(tmp_path):
    before = open_descriptors()
    reading = open_events(str(events(tmp_path, b"1\n2\n"))).read(lambda _fd: None)
    next(reading)
    reading.close()
    assert open_descriptors() == before


@pytest.mark.parametrize("name", ["missing.jsonl", "no/such/place.jsonl", "."])
def test_a_file_that_cannot_be_read_is_told_at_once(tmp_path, name):
    with pytest.raises(InputError) as caught:
        open_events(str(tmp_path / name))
    assert caught.value.code == "input_unreadable"


def test_events_may_come_through_a_pipe(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"1\n2",))
    writer.start()
    assert read(path) == [(1, 1), (2, 2)]
    writer.join(10)


def test_data_may_be_json_itself():
    (one,) = one_value('{"a": 1}').read(lambda _descriptor: None)
    assert (one.data, one.line) == ({"a": 1}, None)


def test_data_may_be_a_file(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{\n "a": 1\n}\n')
    (one,) = one_value(f"@{path}").read(lambda _descriptor: None)
    assert one.data == {"a": 1}


def test_a_file_without_its_at_sign_is_recognised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text("1")
    with pytest.raises(InputError) as caught:
        one_value("x.json")
    assert "--data @x.json" in caught.value.hint


@pytest.mark.parametrize("text", ["", "{", "@", "@missing", "\udcff"])
def test_unusable_data_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        one_value(text)


def test_an_endless_file_is_not_read_to_its_end():
    with pytest.raises(InputError) as caught:
        one_value("@/dev/zero")
    assert caught.value.code == "data_bytes"
