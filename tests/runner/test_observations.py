"""Observations: bounds, and never a failure of their own."""

import json

import pytest

from ledgence.worker import _observations
from ledgence.worker._observations import Observation, StepRecorder

MEMBERS = [
    "runtime_started_at_ms",
    "runtime_elapsed_us",
    "process_cpu_user_us",
    "process_cpu_system_us",
    "process_lifetime_peak_rss_bytes",
    "local_steps",
    "local_steps_truncated",
]
STEP = ["key", "callable", "started_at_ms", "elapsed_us", "state"]


def test_an_observation_has_its_members_in_order():
    observed = json.loads(Observation().encode())
    assert list(observed) == MEMBERS
    for name in MEMBERS[:5]:
        assert type(observed[name]) is int, name
        assert observed[name] >= 0
    assert observed["runtime_started_at_ms"] > 1_700_000_000_000
    assert observed["process_lifetime_peak_rss_bytes"] > 2**20
    assert (observed["local_steps"], observed["local_steps_truncated"]) == ([], False)


def test_the_elapsed_time_is_monotonic(monkeypatch):
    ticks = iter([1_000_000, 3_500_999])
    monkeypatch.setattr(_observations, "monotonic_ns", lambda: next(ticks))
    assert json.loads(Observation().encode())["runtime_elapsed_us"] == 2500


def test_processor_time_is_what_was_used_meanwhile(monkeypatch):
    usages = iter([(1.5, 2.25, 10), (1.75, 2.25, 11)])
    monkeypatch.setattr(_observations, "_usage", lambda: next(usages))
    observed = json.loads(Observation().encode())
    assert observed["process_cpu_user_us"] == 250_000
    assert observed["process_cpu_system_us"] == 0


def test_a_counter_that_went_backwards_is_null(monkeypatch):
    usages = iter([(1.5, 2.5, 10), (1.4, 2.4, 11)])
    monkeypatch.setattr(_observations, "_usage", lambda: next(usages))
    observed = json.loads(Observation().encode())
    assert observed["process_cpu_user_us"] is None
    assert observed["process_cpu_system_us"] is None


def test_a_platform_without_counters_says_null(monkeypatch):
    monkeypatch.setattr(_observations, "_resource", None)
    observed = json.loads(Observation().encode())
    assert [observed[name] for name in MEMBERS[2:5]] == [None, None, None]


@pytest.mark.parametrize(
    ("platform", "text"), [("linux", b"2048"), ("darwin", b"2"), ("win32", b"null")]
)
def test_the_peak_of_memory_is_in_bytes(platform, text):
    assert _observations._peak((0.0, 0.0, 2), platform) == text


def test_resource_is_not_needed(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(_observations._stdlib, "load", absent)
    assert _observations._load_resource() is None


def steps_of(recorder, limit=131_072):
    observed = json.loads(recorder.encode(b'{"local_steps":[', limit))
    return observed["local_steps"], observed["local_steps_truncated"]


def test_steps_come_in_the_order_of_their_starts_with_their_states():
    recorder = StepRecorder()
    first = recorder.start("a", "program:first")
    second = recorder.start("b", "program:second")
    recorder.finish(second, "returned")
    recorder.finish(first, "failed")
    recorder.start("c", "program:third")
    steps, truncated = steps_of(recorder)
    assert [list(step) for step in steps] == [STEP] * 3
    assert [(s["key"], s["callable"], s["state"]) for s in steps] == [
        ("a", "program:first", "failed"),
        ("b", "program:second", "returned"),
        ("c", "program:third", "cancelled"),
    ]
    assert not truncated


def test_a_key_occurs_once():
    recorder = StepRecorder()
    token = recorder.start("a", "f")
    again = recorder.start("a", "g")
    recorder.finish(again, "failed")
    recorder.finish(token, "returned")
    steps, truncated = steps_of(recorder)
    assert [(s["callable"], s["state"]) for s in steps] == [("f", "returned")]
    assert not truncated


@pytest.mark.parametrize(("count", "kept"), [(127, 127), (128, 128), (129, 128)])
def test_there_are_at_most_128_steps(count, kept):
    recorder = StepRecorder()
    for number in range(count):
        recorder.finish(recorder.start(f"k{number}", "f"), "returned")
    steps, truncated = steps_of(recorder)
    assert (len(steps), truncated) == (kept, count > kept)


def test_steps_are_left_out_from_the_end_until_the_bound_is_kept():
    recorder = StepRecorder()
    for number in range(3):
        recorder.start(f"k{number}", "f")
    size = len(recorder.encode(b'{"local_steps":[', 10_000))
    assert steps_of(recorder, size) != ([], True)
    assert len(steps_of(recorder, size)[0]) == 3
    steps, truncated = steps_of(recorder, size - 1)
    assert ([s["key"] for s in steps], truncated) == (["k0", "k1"], True)
    assert steps_of(recorder, 0) == ([], True)


def test_the_whole_member_is_bounded():
    observation = Observation()
    for number in range(128):
        name = f"{number:03}" + "\x01" * 125
        observation.steps.start(name, "é" * 256)
    assert 130_000 < len(observation.encode()) <= 131_072


def test_a_step_that_cannot_be_written_is_left_out():
    recorder = StepRecorder()
    recorder.start("\ud800", "f")
    recorder.start("b", "f")
    steps, truncated = steps_of(recorder)
    assert ([s["key"] for s in steps], truncated) == (["b"], True)
