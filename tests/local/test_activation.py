import pytest

from ledgence.local._activation import FirstActivation
from ledgence.local._errors import CommitRefused
from ledgence.local._frames import Request

POLICY = {"max_attempts": 3, "retry_delay_ms": 5000}


def record(key="k", **changes):
    return {"key": key, "callable": "program:f", "input": {}, "output": 1, **changes}


def branch(key, **changes):
    base = {"key": key, "entrypoint": "side", "queue": "q", "data": None}
    return base | {"retry_policy": POLICY, "attempt_timeout_ms": 300_000} | changes


def commit(activation, payload):
    return activation.answer(Request(1, "local_step.commit", payload))


def fork(activation, key, *branches):
    payload = {"key": key, "branches": list(branches)}
    return activation.answer(Request(1, "workflow.fork", payload))


def refusal(call, *args):
    with pytest.raises(CommitRefused) as caught:
        call(*args)
    return caught.value.code


def test_a_commit_is_acknowledged():
    assert commit(FirstActivation(), record()) == {"committed": True}


def test_the_same_commit_again_is_acknowledged_in_any_member_order():
    activation = FirstActivation()
    commit(activation, record(output={"a": 1, "b": 2}))
    again = record(output={"b": 2, "a": 1})
    assert commit(activation, again) == {"committed": True}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"output": 1.0}, id="number-class"),
        pytest.param({"input": {"a": 1}}, id="input"),
        pytest.param({"callable": "program:g"}, id="callable"),
    ],
)
def test_another_record_under_a_key_is_a_conflict(other):
    activation = FirstActivation()
    commit(activation, record())
    assert refusal(commit, activation, record(**other)) == "commit_conflict"


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        pytest.param([], "request_shape", id="list"),
        pytest.param({"key": "k"}, "request_shape", id="members-missing"),
        pytest.param(record(more=1), "request_shape", id="member-too-many"),
        pytest.param(record(""), "commit_shape", id="empty-key"),
        pytest.param(record("k" * 129), "commit_shape", id="long-key"),
        pytest.param(record(callable="c" * 513), "commit_shape", id="long-callable"),
        pytest.param(record(output="x" * 131_072), "commit_size", id="large"),
    ],
)
def test_a_commit_of_another_shape_is_refused(payload, code):
    assert refusal(commit, FirstActivation(), payload) == code


def test_a_journal_holds_128_records():
    activation = FirstActivation()
    for number in range(128):
        commit(activation, record(f"k{number}"))
    assert refusal(commit, activation, record("one more")) == "journal_full"
    assert commit(activation, record("k0")) == {"committed": True}


def test_a_journal_holds_256_kib():
    activation = FirstActivation()
    overhead = len('{"callable":"program:f","input":{},"key":"a","output":""}')
    half = 131_072 - overhead - 2
    commit(activation, record("a", output="x" * half))
    # Two brackets, one comma: the second record may fill what is left.
    commit(activation, record("b", output="x" * (half + 1)))
    assert refusal(commit, activation, record("c", output="")) == "journal_full"


def test_a_journal_one_byte_too_large_is_refused():
    activation = FirstActivation()
    overhead = len('{"callable":"program:f","input":{},"key":"a","output":""}')
    half = 131_072 - overhead - 2
    commit(activation, record("a", output="x" * half))
    payload = record("b", output="x" * (half + 2))
    assert refusal(commit, activation, payload) == "journal_full"


def test_a_fork_is_acknowledged_with_its_branches_in_order():
    answer = fork(FirstActivation(), "f", branch("b2"), branch("b1"))
    assert answer == {"committed": True, "key": "f", "branch_keys": ["b2", "b1"]}


def test_the_same_fork_again_gets_the_same_answer_and_costs_nothing():
    activation = FirstActivation()
    many = [branch(f"b{number}") for number in range(64)]
    first = fork(activation, "f", *many)
    assert fork(activation, "f", *many) == first


@pytest.mark.parametrize(
    "branches",
    [
        pytest.param([branch("b2"), branch("b1")], id="order"),
        pytest.param([branch("b1")], id="fewer"),
        pytest.param([branch("b1"), branch("b2", data=0)], id="data"),
    ],
)
def test_other_branches_under_a_fork_key_are_a_conflict(branches):
    activation = FirstActivation()
    fork(activation, "f", branch("b1"), branch("b2"))
    assert refusal(fork, activation, "f", *branches) == "commit_conflict"


def test_a_branch_key_is_used_once():
    activation = FirstActivation()
    fork(activation, "f", branch("b"))
    assert refusal(fork, activation, "g", branch("b")) == "fork_conflict"


@pytest.mark.parametrize(
    ("key", "branches", "code"),
    [
        pytest.param("f", [], "fork_shape", id="none"),
        pytest.param("", [branch("b")], "fork_shape", id="empty-key"),
        pytest.param("f", [branch("b"), branch("b")], "fork_shape", id="key-twice"),
        pytest.param("f", [branch(f"b{n}") for n in range(65)], "fork_shape", id="65"),
        pytest.param("f", [branch("")], "fork_shape", id="empty-branch-key"),
        pytest.param("f", [branch(5)], "fork_shape", id="number-key"),
        pytest.param("f", [{"key": "b"}], "fork_shape", id="members-missing"),
        pytest.param("f", ["b"], "fork_shape", id="text"),
        pytest.param("f", [branch("b", data="x" * 131_072)], "fork_size", id="large"),
    ],
)
def test_a_fork_of_another_shape_is_refused(key, branches, code):
    assert refusal(fork, FirstActivation(), key, *branches) == code


def test_an_activation_has_64_new_children():
    activation = FirstActivation()
    fork(activation, "f", *[branch(f"a{number}") for number in range(63)])
    assert refusal(fork, activation, "g", branch("b1"), branch("b2")) == "fork_budget"
    fork(activation, "h", branch("b1"))


def test_an_operation_that_nobody_offers_is_refused():
    request = Request(1, "workflow.dance", {})
    assert refusal(FirstActivation().answer, request) == "unknown_operation"
