"""Approvals: the approved step and the request for a decision."""

import hashlib

import pytest

from ledgence.worker.workflow import (
    ApprovalAction,
)
from ledgence.worker.workflow._approvals import step_key
from tests.support.ids import stable
from tests.support.workflow import (
    Host,
    approval_payload,
    arefused,
    decided,
    nest,
    payload,
    play,
    record,
    refused,
    within,
)

HERE = __name__
NO_JSON = object()


def refund(amount, currency="USD"):
    return {"refunded": amount, "currency": currency}


def action(arguments=None, name="a", version="1"):
    return ApprovalAction(name, version=version, arguments=arguments or {})


# approved_local

CALLS = []


def pay(amount, currency="USD"):
    CALLS.append([amount, currency])
    return {"paid": amount, "currency": currency}


SAVED = {"amount": 50, "currency": "USD"}


def approved(arguments=None, name=f"{HERE}:pay", version="1", **changes):
    given = SAVED if arguments is None else arguments
    base = {"name": name, "version": version, "arguments": given}
    return approval_payload(action=base, **changes)


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


def test_the_approved_action_runs_once_under_a_derived_key():
    host = Host()

    async def call(ctx):
        first, second = (ctx.approved_local(pay, version="1") for _ in range(2))
        assert first is second
        return await ctx.gather(first, second, ctx.approved_local(pay, version="1"))

    assert within(call, approved(), host) == [{"paid": 50, "currency": "USD"}] * 3
    assert CALLS == [[50, "USD"]]
    (sent,) = host.committed
    assert sent == {
        "key": "_approval:" + hashlib.sha256(b"refund").hexdigest(),
        "callable": f"{HERE}:pay",
        "input": SAVED,
        "output": {"paid": 50, "currency": "USD"},
    }


@pytest.mark.parametrize("key", ["refund", "é", 'r"\U0001f600'])
def test_the_key_is_the_sha_256_of_the_utf_8_bytes(key):
    wanted = "_approval:" + hashlib.sha256(key.encode()).hexdigest()
    assert step_key(key) == wanted
    assert len(wanted) == 74


def test_without_a_private_sha_256_the_public_one_is_used(monkeypatch):
    import sys

    for name in ("_sha2", "_sha256"):
        monkeypatch.setitem(sys.modules, name, None)
    assert step_key("refund").endswith(hashlib.sha256(b"refund").hexdigest())
    monkeypatch.setitem(sys.modules, "hashlib", None)
    with pytest.raises(ImportError):
        step_key("refund")


def test_the_journal_answers_without_running():
    journal = [record(step_key("refund"), f"{HERE}:pay", SAVED, "saved")]
    activation = {**approved(), "local_steps": journal}

    async def call(ctx):
        return await ctx.approved_local(pay, version="1")

    assert within(call, activation) == "saved"
    assert CALLS == []


def approval_fault(activation, fn=pay, version="1"):
    return within(
        lambda ctx: refused(ctx.approved_local, fn, version=version), activation
    )


@pytest.mark.parametrize(
    "activation",
    [
        payload(),
        payload(wake={"kind": "timer", "key": "k", "deadline": 1}),
        approved(status="rejected", decision=decided(decision="reject")),
        approved(status="expired", decision=None),
    ],
    ids=["no wake", "timer", "rejected", "expired"],
)
def test_nothing_runs_without_an_approval(activation):
    assert approval_fault(activation).code == "not_approved"


def renamed(fn):
    fn.__module__, fn.__qualname__ = HERE, "pay"
    return fn


def other(amount, currency="USD"):
    raise AssertionError("it ran")


@renamed
def wider(amount, currency="USD", destination="new"):
    raise AssertionError("it ran")


@renamed
def no_json_default(amount, currency="USD", destination=NO_JSON):
    raise AssertionError("it ran")


@renamed
def narrower(amount):
    raise AssertionError("it ran")


@renamed
def impostor(amount, currency="USD"):
    raise AssertionError("it ran")


@pytest.mark.parametrize(
    ("fn", "version", "code"),
    [
        (pay, "2", "action_changed"),
        (pay, "", "invalid_text"),
        (pay, None, "invalid_text"),
        (other, "1", "action_changed"),
        (lambda amount, currency: None, "1", "action_changed"),
        (None, "1", "invalid_callable"),
        (wider, "1", "unreviewed_defaults"),
        (no_json_default, "1", "unreviewed_defaults"),
        (narrower, "1", "unbound_arguments"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_another_callable_version_or_signature_does_not_run(fn, version, code):
    assert approval_fault(approved(), fn, version).code == code
    assert CALLS == []


def test_a_default_that_nobody_reviewed_is_not_filled_in():
    error = approval_fault(approved({"amount": 50}))
    assert (error.code, error.key) == ("unreviewed_defaults", "refund")
    assert "defaults" in str(error)
    assert error.diff == (
        {"path": "$.currency", "expected": "(absent)", "got": '"USD"'},
    )


def test_a_saved_value_wins_over_a_changed_default(monkeypatch):
    monkeypatch.setattr(pay, "__defaults__", ("EUR",))

    async def call(ctx):
        return await ctx.approved_local(pay, version="1")

    assert within(call, approved()) == {"paid": 50, "currency": "USD"}


def test_only_the_object_that_was_given_before_runs_again():
    async def call(ctx):
        assert refused(ctx.approved_local, other, version="1").code == "action_changed"
        step = ctx.approved_local(pay, version="1")
        error = refused(ctx.approved_local, impostor, version="1")
        assert (error.code, error.argument) == ("callable_changed", "fn")
        await step

    within(call, approved())


def test_a_refused_callable_does_not_count_as_given():
    journal = [record(step_key("refund"), "other:name", SAVED)]
    activation = {**approved(), "local_steps": journal}

    def call(ctx):
        for fn in (impostor, pay):
            assert (
                refused(ctx.approved_local, fn, version="1").code == "binding_changed"
            )

    within(call, activation)


def test_a_failed_action_has_no_record():
    @renamed
    def boom(amount, currency):
        raise RuntimeError("provider")

    host = Host()

    async def call(ctx):
        with pytest.raises(RuntimeError, match="provider"):
            await ctx.approved_local(boom, version="1")

    within(call, approved(), host)
    assert host.requests == []


def test_arguments_may_be_called_key_fn_and_self():
    @renamed
    def fn(key, fn, **more):
        return [key, fn, more]

    arguments = {"key": 1, "fn": 2, "self": 3}

    async def call(ctx):
        return await ctx.approved_local(fn, version="1")

    assert within(call, approved(arguments)) == [1, 2, {"self": 3}]


def test_saved_arguments_may_be_longer_here():
    floats = [1e-08] * 6_000

    @renamed
    def fn(amount):
        return len(amount)

    async def call(ctx):
        return await ctx.approved_local(fn, version="1")

    assert within(call, approved({"amount": floats})) == 6_000


def test_the_call_shape_is_pythons():
    def call(ctx):
        with pytest.raises(TypeError):
            ctx.approved_local(pay, "1")
        with pytest.raises(TypeError):
            ctx.approved_local(pay, version="1", amount=1)

    within(call, approved())


# Requests.


def request(ctx, key="k", **changes):
    base = {"action": action(), "state": None, "timeout_ms": 1, "continuation": "n"}
    return ctx.request_approval(key, **{**base, **changes})


def test_a_request_is_a_wait_with_the_action():
    arguments = {"amount": 50}
    proposal = {"amount": 100}

    async def handler(ctx):
        made = ApprovalAction.for_callable(refund, version="1", arguments=arguments)
        decision = ctx.request_approval(
            "refund",
            action=made,
            proposed_arguments=proposal,
            resume="after",
            state=[1],
            timeout_ms=100,
        )
        arguments["amount"] = proposal["amount"] = 1
        return decision

    decision = play(handler)
    assert decision["continuation"] == "after"
    assert decision["wait"] == {
        "kind": "approval",
        "key": "refund",
        "action": {
            "name": f"{HERE}:refund",
            "version": "1",
            "arguments": {"amount": 50, "currency": "USD"},
        },
        "timeout_ms": 100,
        "proposed_arguments": {"amount": 100},
    }


def test_a_request_takes_a_dict_of_the_same_content():
    given = {"version": "v", "name": "any name", "arguments": {}}
    found = within(lambda ctx: request(ctx, action=given, proposed_arguments=None))
    assert found["wait"]["action"] == given
    assert "proposed_arguments" not in found["wait"]


def test_wait_approval_is_the_same():
    def call(ctx):
        found = ctx.wait_approval(
            "k", action=action(), continuation="n", state=None, timeout_ms=1
        )
        return found == request(ctx)

    assert within(call)


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"timeout_ms": None}, "timeout_ms"),
        ({"timeout_ms": True}, "timeout_ms"),
        ({"timeout_ms": -1}, "timeout_ms"),
        ({"timeout_ms": 1.0}, "timeout_ms"),
        ({"timeout_ms": 31_536_000_001}, "timeout_ms"),
        ({"continuation": None}, "continuation"),
        ({"resume": "n"}, "continuation"),
        ({"continuation": ""}, "continuation"),
        ({"continuation": None, "resume": ""}, "continuation"),
        ({"proposed_arguments": []}, "proposed_arguments"),
        ({"proposed_arguments": "x"}, "proposed_arguments"),
        ({"proposed_arguments": {"x": "x" * 32_768}}, "proposed_arguments"),
        ({"proposed_arguments": {1: 1}}, "proposed_arguments"),
        ({"proposed_arguments": {"x": nest(64)}}, "proposed_arguments"),
        ({"key": ""}, "key"),
        ({"key": None}, "key"),
        ({"key": "x" * 129}, "key"),
        ({"action": None}, "action"),
        ({"action": "a"}, "action"),
        ({"action": {}}, "action"),
        ({"action": {"name": "a", "version": "1"}}, "action"),
        ({"action": {**action().to_dict(), "more": 1}}, "action"),
        ({"action": {**action().to_dict(), "name": ""}}, "name"),
        ({"action": {**action().to_dict(), "arguments": []}}, "arguments"),
        ({"action": refund}, "action"),
        ({"state": "x" * 65_535}, "state"),
        ({"state": object()}, "state"),
    ],
    ids=lambda value: stable(value)[:50],
)
def test_a_request_beyond_the_rules_is_refused(changes, argument):
    assert within(lambda ctx: refused(request, ctx, **changes)).argument == argument


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"continuation": None, "resume": "n"},
        {"timeout_ms": 0},
        {"timeout_ms": 31_536_000_000},
        {"proposed_arguments": {}},
        {"proposed_arguments": {"x": nest(63)}},
        {"key": "_approval:x"},
    ],
    ids=stable,
)
def test_a_request_within_them_is_taken(changes):
    assert within(lambda ctx: request(ctx, **changes))["kind"] == "wait"


def test_a_timeout_is_required():
    def call(ctx):
        with pytest.raises(TypeError):
            ctx.request_approval("k", action=action(), state=None, continuation="n")

    within(call)


def test_an_approval_that_is_not_acknowledged_spoils_the_activation():
    async def handler(ctx):
        await arefused(ctx.approved_local(pay, version="1"))
        return ctx.state

    assert refused(play, handler, approved(), Host(None)).code == "activation_spoiled"
