import pytest

from ledgence.local._limits import TIMESTAMP_MS
from ledgence.local._observations import keep_observations

STEP = {
    "key": "k",
    "callable": "m:f",
    "started_at_ms": 1,
    "elapsed_us": 2,
    "state": "returned",
}
GOOD = {
    "runtime_started_at_ms": 1,
    "runtime_elapsed_us": 2,
    "process_cpu_user_us": None,
    "process_cpu_system_us": 0,
    "process_lifetime_peak_rss_bytes": 4096,
    "local_steps": [STEP],
    "local_steps_truncated": False,
}


def steps(*changes):
    return {**GOOD, "local_steps": [{**STEP, **change} for change in changes]}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(GOOD, id="usual"),
        pytest.param(
            {**GOOD, "runtime_started_at_ms": TIMESTAMP_MS}, id="last-timestamp"
        ),
        pytest.param({**GOOD, "runtime_elapsed_us": 2**64 - 1}, id="longest"),
        pytest.param(steps(), id="no-steps"),
        pytest.param(steps(*[{"key": f"k{n}"} for n in range(128)]), id="most-steps"),
        pytest.param(
            steps(*[{"key": n, "state": n} for n in ("failed", "cancelled")]),
            id="states",
        ),
        pytest.param(steps({"key": "k" * 128, "callable": "c" * 512}), id="long-names"),
    ],
)
def test_usable_observations_are_kept_unchanged(value):
    assert keep_observations(value) == value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="list"),
        pytest.param({**GOOD, "more": 1}, id="unknown-member"),
        pytest.param({k: v for k, v in GOOD.items() if k != "local_steps"}, id="less"),
        pytest.param(
            {**GOOD, "runtime_started_at_ms": TIMESTAMP_MS + 1}, id="late-timestamp"
        ),
        pytest.param({**GOOD, "runtime_started_at_ms": -1}, id="early-timestamp"),
        pytest.param({**GOOD, "runtime_started_at_ms": None}, id="null-timestamp"),
        pytest.param({**GOOD, "runtime_elapsed_us": 1.0}, id="float"),
        pytest.param({**GOOD, "runtime_elapsed_us": True}, id="boolean"),
        pytest.param({**GOOD, "process_cpu_user_us": "1"}, id="text"),
        pytest.param({**GOOD, "local_steps_truncated": 0}, id="number-as-boolean"),
        pytest.param({**GOOD, "local_steps": {}}, id="steps-no-list"),
        pytest.param(steps(*[{"key": f"k{n}"} for n in range(129)]), id="too-many"),
        pytest.param(steps({}, {}), id="key-twice"),
        pytest.param(steps({"key": "k" * 129}), id="long-key"),
        pytest.param(steps({"key": ""}), id="empty-key"),
        pytest.param(steps({"key": "a\tb"}), id="control-in-key"),
        pytest.param(steps({"callable": "c" * 513}), id="long-callable"),
        pytest.param(steps({"state": "lost"}), id="unknown-state"),
        pytest.param(steps({"state": ["returned"]}), id="list-state"),
        pytest.param(steps({"x": 1}), id="step-member"),
        pytest.param({**GOOD, "local_steps": [None]}, id="null-step"),
    ],
)
def test_unusable_observations_are_left_out(value):
    assert keep_observations(value) is None


def test_observations_have_a_size_limit():
    # 128 steps of the longest names stay below it, escapes do not.
    plain = [{"key": f"{n:0128}", "callable": "c" * 512} for n in range(128)]
    assert keep_observations(steps(*plain)) is not None
    escaped = [{**step, "callable": "\\" * 512} for step in plain]
    assert keep_observations(steps(*escaped)) is None
