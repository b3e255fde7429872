"""Calls whose arguments mean nothing: refused with a code, and nothing changes."""

import pytest

from ledgence.local import LocalHost
from ledgence.local._engine import InvalidInput, NotFound
from ledgence.local._errors import TargetError
from ledgence.local._store import StoreError
from ledgence.worker.workflow._limits import MAX_TIMESTAMP
from tests.support.ids import stable


@pytest.fixture(scope="module")
def host():
    with LocalHost() as host:
        host.stub("echo", lambda data: data)
        yield host


@pytest.mark.parametrize(
    "ms", [-1, 1.5, float("nan"), True, "1", None, 2**63, MAX_TIMESTAMP], ids=stable
)
def test_the_clock_moves_by_whole_milliseconds_within_the_range_of_times(host, ms):
    before = host.now_ms
    with pytest.raises(InvalidInput) as caught:
        host.advance(ms)
    assert caught.value.details["path"] == "$.ms"
    assert host.now_ms == before
    assert host.run_task("echo", 1) == 1


def test_the_clock_may_move_to_the_last_time_there_is():
    with LocalHost() as host:
        host.advance(MAX_TIMESTAMP - host.now_ms)
        assert host.now_ms == MAX_TIMESTAMP
        host.advance(0)
        with pytest.raises(InvalidInput):
            host.advance(1)


def test_an_option_that_does_not_exist_is_refused_with_what_is_near(host):
    with pytest.raises(InvalidInput) as caught:
        host.run_task("echo", 1, retry_polcy={"max_attempts": 1, "retry_delay_ms": 0})
    assert caught.value.details["path"] == "$.retry_polcy"
    assert "retry_policy" in caught.value.hint
    with pytest.raises(InvalidInput):
        host.start_workflow("echo", 1, idempotency_key="k")


@pytest.mark.parametrize("option", ["key", "version", "queue"])
def test_an_empty_text_is_a_text_and_refused(host, option):
    with pytest.raises(InvalidInput):
        host.submit_task("echo", 1, **{option: ""})


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        pytest.param({"a": b"x"}, "$.input.data.a", "bytes", id="bytes"),
        pytest.param({1: 2}, "$.input.data", "1", id="name"),
        pytest.param([2**64], "$.input.data[0]", "send it as a text", id="integer"),
        pytest.param({"s": {1}}, "$.input.data.s", "a sorted list", id="set"),
    ],
)
def test_a_value_that_is_no_json_is_named_with_its_type_and_what_to_do(
    host, value, path, words
):
    with pytest.raises(InvalidInput) as caught:
        host.submit_task("echo", value)
    assert caught.value.details["path"] == path
    assert words in caught.value.details["got"]


@pytest.mark.parametrize(
    ("options", "path"),
    [
        pytest.param({"slots": 0}, "$.slots", id="slots"),
        pytest.param({"slots": 1.5}, "$.slots", id="half-a-slot"),
        pytest.param({"time": "Real"}, "$.time", id="time"),
        pytest.param({"queues": "default"}, "$.queues", id="queues"),
        pytest.param({"queues": ["a", ""]}, "$.queues[1]", id="queue"),
        pytest.param({"scope": "ab"}, "$.scope", id="scope"),
        pytest.param({"scope": ("a", "")}, "$.scope[1]", id="namespace"),
        pytest.param({"crash": "x"}, "$.crash", id="crash"),
        pytest.param({"crash": 0}, "$.crash", id="no-frame"),
        pytest.param({"wait_seconds": float("nan")}, "$.wait_seconds", id="nan"),
        pytest.param({"wait_seconds": -1}, "$.wait_seconds", id="negative"),
        pytest.param({"wait_seconds": "1"}, "$.wait_seconds", id="text"),
    ],
)
def test_an_option_of_a_host_that_means_nothing_is_named(options, path):
    with pytest.raises(InvalidInput) as caught:
        LocalHost(**options)
    assert caught.value.details["path"] == path


@pytest.mark.parametrize("timeout", [float("nan"), -0.1, True, "1"], ids=stable)
def test_a_timeout_is_a_number_of_seconds(host, timeout):
    run = host.submit_task("echo", 1)
    with pytest.raises(InvalidInput):
        host.result(run, timeout=timeout)


@pytest.mark.parametrize(
    "timeout", [float("inf"), 1e300, 10**400], ids=["inf", "1e300", "integer"]
)
def test_a_timeout_may_be_as_long_as_anybody_waits(host, timeout):
    assert host.run_task("echo", 1, timeout=timeout) == 1


@pytest.mark.parametrize(
    "place", ["", ".", ":memory:", "a\0b", "x" * 300, "/dev/null/s.db"], ids=stable
)
def test_a_place_where_no_file_can_be_is_refused(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as caught, LocalHost(place):
        pass
    assert caught.value.code == "store_unusable"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", None, "a/b", "A"], ids=stable)
def test_a_name_that_no_program_can_have_is_refused(host, name):
    with pytest.raises(TargetError) as caught:
        host.add_program(name, "program.py:handle")
    assert caught.value.code == "program_name"


def test_a_version_that_is_empty_is_refused():
    with pytest.raises(TargetError), LocalHost(programs={"e@": __file__ + ":host"}):
        pass


def test_a_target_whose_name_is_too_long_is_not_found(host):
    with pytest.raises(TargetError) as caught:
        host.add_program("long", "e" * 300 + ".py:handle")
    assert caught.value.code == "target_not_found"


def test_what_a_run_waits_for_is_asked_of_a_run_that_exists(host):
    with pytest.raises(NotFound):
        host.awaited("task_00000000-0000-0000-0000-000000000000")
