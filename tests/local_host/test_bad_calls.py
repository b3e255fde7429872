"""Calls whose arguments mean nothing: refused with a code, and nothing changes."""

import pytest

from ledgence.local import LocalHost
from ledgence.local._engine import InvalidInput
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
