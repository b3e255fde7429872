"""The size meter: warnings, the largest parts, and following a path."""

import logging
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.worker.workflow import _sizes
from tests.support.ids import stable
from tests.support.workflow import canonical, nest, payload, record, within

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=8), inner, max_size=5)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=20,
)


def sizes(value, limit=1000):
    return [(p["path"], p["size"], p["exact"]) for p in _sizes.largest(value, limit)]


def test_the_three_largest_parts_are_named_the_largest_first():
    value = {"d": 1, "b": "y" * 20, "a": "x" * 30, "c": [1, 2, 3]}
    assert sizes(value) == [("$.a", 32, True), ("$.b", 22, True), ("$.c", 7, True)]


def test_a_container_is_opened_while_a_part_is_a_quarter_of_it():
    value = {"orders": [{"note": "x" * 500, "id": 1}, {"id": 2}], "rest": "y" * 50}
    assert sizes(value)[:2] == [("$.orders[0].note", 502, True), ("$.rest", 52, True)]


def test_a_container_of_many_small_parts_is_named_itself():
    value = {"numbers": list(range(1000))}
    assert sizes(value, 10_000) == [("$.numbers", len(canonical(value)) - 12, True)]


def test_no_part_contains_another():
    value = {"a": ["x" * 100, "y" * 100, "z" * 100, "w" * 90]}
    assert [path for path, _, _ in sizes(value)] == ["$.a[0]", "$.a[1]", "$.a[2]"]


@pytest.mark.parametrize("value", ["x" * 50, 5, None, object(), 2**70], ids=stable)
def test_a_scalar_is_its_own_largest_part(value):
    assert [path for path, _, _ in sizes(value)] == ["$"]


def test_an_empty_container_is_named_itself():
    assert sizes([]) == [("$", 2, True)]


@given(value=JSON)
def test_every_named_size_is_that_of_the_canonical_bytes(value):
    for part in _sizes.largest(value, 100_000):
        found = _sizes.node_at(value, part["path"])
        if "..." not in part["path"]:
            assert part["exact"]
            assert part["size"] == len(canonical(found))


def test_a_walk_takes_at_most_four_times_the_limit():
    walk = _sizes._Walk(8)
    size, exact, _ = walk.measure([1] * 100)
    assert not exact
    assert size == 2 + 99 + 7  # the brackets, the commas and seven ones
    assert walk._left < 0


def test_a_text_beyond_the_budget_is_counted_at_least():
    value = {"a": "x" * 5000, "b": "y" * 100}
    assert sizes(value) == [("$.a", 5002, False), ("$.b", 102, True)]


def test_a_name_beyond_the_budget_is_counted_at_least():
    size, exact, _ = _sizes._Walk(4000).measure({"n" * 5000: 1})
    assert (size, exact) == (2 + 5002 + 1 + 1, False)


def test_shared_containers_end_within_the_budget():
    value = []
    for _ in range(60):
        value = [value, value]
    begin = time.process_time()
    assert len(sizes(value, 10_000)) == 3
    assert time.process_time() - begin < 10


def test_a_cycle_and_a_deep_value_end():
    loop = []
    loop.append(loop)
    assert sizes(loop) == [("$[0]", 0, False)]
    assert sizes(nest(1000), 10_000)


def test_a_large_text_is_never_copied():
    value = {"text": "x" * (8 << 20), "wide": "é" * (4 << 20)}
    tracemalloc.start()
    try:
        found = sizes(value, 131_072)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [path for path, _, _ in found] == ["$.text", "$.wide"]
    assert peak < 256 * 1024


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("$", {"a": [1, {"b c": 2}], "aa": 3}),
        ("$.a", [1, {"b c": 2}]),
        ("$.aa", 3),
        ('$.a[1]["b c"]', 2),
        ("$.a[7]", [1, {"b c": 2}]),
        ("$.zz", {"a": [1, {"b c": 2}], "aa": 3}),
        ("$.aa.more", 3),
    ],
)
def test_a_spelled_path_leads_to_its_node_or_the_last_one_on_the_way(path, wanted):
    value = {"a": [1, {"b c": 2}], "aa": 3}
    assert _sizes.node_at(value, path) == wanted


# Warnings.


def warnings_of(caplog):
    return [
        (
            r.levelname,
            r.attributes["resource"],
            r.attributes["size"],
            r.attributes["limit"],
        )
        for r in caplog.records
        if r.name == "ledgence.worker.workflow"
    ]


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO)
    return lambda: warnings_of(caplog)


@pytest.mark.parametrize(("size", "warns"), [(79, False), (80, True), (100, True)])
def test_a_warning_is_given_from_80_percent_on(size, warns, logged):
    _sizes.Meter().note("state", size, 100)
    assert bool(logged()) == warns


def test_a_warning_is_given_once_for_a_resource(logged):
    meter = _sizes.Meter()
    for size in (90, 95, 100):
        meter.note("state", size, 100)
    meter.note("inputs", 90, 100)
    assert [entry[1] for entry in logged()] == ["state", "inputs"]


def test_a_state_that_was_given_nearly_full_warns(logged):
    within(lambda ctx: ctx.state, payload(state="x" * 60_000))
    assert logged() == [("WARNING", "state", 60_002, 65_536)]


def test_a_journal_that_gets_nearly_full_warns_at_the_commit(logged):
    async def call(ctx):
        for key in "ab":
            await ctx.local(key, text, n=110_000)

    within(call)
    ((level, resource, size, limit),) = logged()
    assert (level, resource, limit) == ("WARNING", "journal", 262_144)
    assert size > 220_000


def text(n):
    return "x" * n


def test_commands_and_decisions_that_are_nearly_full_warn(logged):
    from tests.support.workflow import play

    async def handler(ctx):
        ctx.task("k", program="p", version="1", queue="q", data="x" * 220_000)
        return ctx.continue_(continuation="n", state="y" * 30_000)

    play(handler)
    assert [entry[1] for entry in logged()] == ["commands", "decision"]


def test_a_new_state_that_is_nearly_full_warns_when_it_is_returned(logged):
    from tests.support.workflow import play

    async def handler(ctx):
        ctx.continue_(continuation="n", state="y" * 60_000)
        return ctx.continue_(continuation="n", state="y" * 55_000)

    play(handler)
    assert logged() == [("WARNING", "state", 55_002, 65_536)]


def test_below_80_percent_nothing_is_logged(logged):
    records = [record(key=str(i), output="x" * 90_000) for i in range(2)]
    within(lambda ctx: None, payload(state="x" * 52_000, local_steps=records))
    assert logged() == []


def test_the_context_tells_how_much_of_every_limit_is_used():
    from tests.support.workflow import task_child

    def call(ctx):
        ctx.task("k", program="p", version="1", queue="q", data=None)
        return ctx.sizes(), ctx._commands

    activation = payload(state=[1], inputs={"c": task_child(5)}, local_steps=[record()])
    found, commands = within(call, activation)
    assert found == {
        "state": {"size": 3, "limit": 65_536},
        "inputs": {"size": len(canonical(activation["inputs"])), "limit": 262_144},
        "journal": {"size": len(canonical([record()])), "limit": 262_144},
        "commands": {"size": len(canonical(commands)), "limit": 262_144},
    }


def test_with_a_wake_the_inputs_are_counted_together_with_it():
    wake = {"kind": "timer", "key": "k", "deadline": 5}
    found = within(lambda ctx: ctx.sizes()["inputs"]["size"], payload(wake=wake))
    assert found == len(canonical({"inputs": {}, "wake": wake}))
