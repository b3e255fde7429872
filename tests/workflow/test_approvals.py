"""Approvals: actions and views."""

import dataclasses

import pytest

from ledgence.worker.workflow import (
    Approval,
    ApprovalAction,
    ApprovalDecision,
    ApprovalStatus,
)
from tests.support.ids import stable
from tests.support.workflow import (
    approval_payload,
    canonical,
    decided,
    nest,
    payload,
    refused,
    within,
)

HERE = __name__


def refund(amount, currency="USD"):
    return {"refunded": amount, "currency": currency}


def action(arguments=None, name="a", version="1"):
    return ApprovalAction(name, version=version, arguments=arguments or {})


# ApprovalAction


def test_an_action_has_a_name_a_version_and_arguments():
    found = action({"x": (1, 2), "b": None})
    assert (found.name, found.version, found.arguments) == (
        "a",
        "1",
        {"b": None, "x": [1, 2]},
    )
    assert found.to_dict() == {
        "name": "a",
        "version": "1",
        "arguments": found.arguments,
    }
    assert list(found.to_dict()) == ["arguments", "name", "version"]
    assert found.arguments is not found.arguments
    assert repr(found) == "ApprovalAction('a', version='1')"


FRAME = len(canonical({"name": "a", "version": "1", "arguments": {"x": ""}}))


@pytest.mark.parametrize(
    ("name", "version", "arguments"),
    [
        ("x" * 512, "x" * 128, {}),
        ("a", "1", {"x": nest(63)}),
        ("a", "1", {"x": "x" * (32_768 - FRAME)}),
        ("no colon needed", " ", {"x": (1, 2)}),
    ],
    ids=["names", "deepest", "largest", "any"],
)
def test_an_action_at_its_limits_is_taken(name, version, arguments):
    assert ApprovalAction(name, version=version, arguments=arguments)


@pytest.mark.parametrize(
    ("name", "version", "arguments", "argument"),
    [
        ("", "1", {}, "name"),
        ("x" * 513, "1", {}, "name"),
        ("a\n", "1", {}, "name"),
        (None, "1", {}, "name"),
        ("a", "", {}, "version"),
        ("a", "x" * 129, {}, "version"),
        ("a", None, {}, "version"),
        ("a", "1", [], "arguments"),
        ("a", "1", None, "arguments"),
        ("a", "1", type("D", (dict,), {})(), "arguments"),
        ("a", "1", {"x": float("nan")}, "arguments"),
        ("a", "1", {1: 1}, "arguments"),
        ("a", "1", {"x": nest(64)}, "arguments"),
        ("a", "1", {"x": "x" * (32_768 - FRAME + 1)}, "arguments"),
        ("a", "1", {"x": "x" * 32_768}, "arguments"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_an_action_beyond_them_is_refused(name, version, arguments, argument):
    error = refused(ApprovalAction, name, version=version, arguments=arguments)
    assert error.argument == argument


def test_the_call_shape_of_an_action_is_pythons():
    with pytest.raises(TypeError):
        ApprovalAction("a", "1", {})
    with pytest.raises(TypeError):
        ApprovalAction("a", version="1")


def test_an_action_is_frozen_at_the_call_and_immutable():
    arguments = {"x": [1]}
    found = action(arguments)
    arguments["x"].append(2)
    found.arguments["x"].append(3)
    assert found.arguments == {"x": [1]}
    for name in ("name", "arguments", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, name, "b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        del found.name


def test_actions_are_compared_by_their_exact_json():
    assert action({"a": 1, "b": 2}) == action({"b": 2, "a": 1})
    assert len({action({"x": 1}), action({"x": 1})}) == 1
    for other in ({"x": 1.0}, {"x": True}, {"x": 2}):
        assert action({"x": 1}) != action(other)
    assert action({"x": 0.0}) != action({"x": -0.0})
    assert action({"x": 1}) != action({"x": 1}).to_dict()


class Methods:
    def method(self, a, *, b=(1, 2)):
        return None


def rest(a, **rest):
    return None


def star(*args, a=1):
    return None


def positional(a, /):
    return None


@pytest.mark.parametrize(
    ("fn", "arguments", "name", "wanted"),
    [
        (refund, {"amount": 5}, "refund", {"amount": 5, "currency": "USD"}),
        (refund, {"amount": 5, "currency": "EUR"}, "refund", None),
        (Methods().method, {"a": 1}, "Methods.method", {"a": 1, "b": [1, 2]}),
        (rest, {"a": 1, "z": 2}, "rest", None),
        (star, {}, "star", {"a": 1}),
        (lambda: None, {}, "<lambda>", {}),
    ],
    ids=["default", "given", "method", "rest", "star", "lambda"],
)
def test_an_action_of_a_callable_has_its_effective_arguments(
    fn, arguments, name, wanted
):
    found = ApprovalAction.for_callable(fn, version="1", arguments=arguments)
    assert type(found) is ApprovalAction
    assert found.name == f"{HERE}:{name}"
    assert found.arguments == (wanted or arguments)


@pytest.mark.parametrize(
    ("fn", "arguments"),
    [
        (refund, {}),
        (refund, {"amount": 1, "x": 2}),
        (positional, {"a": 1}),
        (None, {}),
        ("refund", {}),
        (refund, []),
        (refund, {"amount": object()}),
        (len, {"obj": 1}),
    ],
    ids=stable,
)
def test_an_action_of_what_cannot_be_called_so_is_refused(fn, arguments):
    refused(ApprovalAction.for_callable, fn, version="1", arguments=arguments)
    assert (
        refused(
            ApprovalAction.for_callable, refund, version="", arguments={"amount": 1}
        ).argument
        == "version"
    )


# The view.


def test_the_statuses_are_in_their_order():
    names = [status.name for status in ApprovalStatus]
    assert names == ["PENDING", "APPROVED", "REJECTED", "EXPIRED", "CANCELLED"]
    assert [status.value for status in ApprovalStatus] == [n.lower() for n in names]


def test_an_approved_wake_can_be_viewed():
    activation = approval_payload(proposed_arguments={"amount": 100})

    def call(ctx):
        found = ctx.approval
        assert type(found) is Approval
        assert found.status is ApprovalStatus.APPROVED
        assert found.action == ApprovalAction(
            "program:refund", version="1", arguments={"amount": 50}
        )
        assert found.decision == ApprovalDecision("d-1", "approve", "alice", None, 11)
        assert found.decision.reviewer == "alice"
        assert (found.key, found.workflow_id) == ("refund", "wf-1")
        assert found.scope == {"tenant_id": "tenant", "namespace": "tests"}
        assert (found.activation_id, found.revision) == ("act-0", 0)
        assert found.resumed_activation_id == "act-1"
        assert found.proposed_arguments == {"amount": 100}
        assert (found.created_at, found.deadline) == (10, 20)
        assert found.to_dict() == activation["wake"]["approval"] == ctx.wake["approval"]
        assert found == ctx.approval
        assert found is not ctx.approval
        assert hash(found) == hash(ctx.approval)
        assert found != found.to_dict()
        assert repr(found) == "Approval('refund', approved)"

    within(call, activation)


def test_a_rejected_and_an_expired_wake_can_be_viewed():
    rejected = approval_payload(
        status="rejected", decision=decided(decision="reject", reason="no")
    )
    found = within(lambda ctx: ctx.approval, rejected)
    assert (found.status, found.decision.reason) == (ApprovalStatus.REJECTED, "no")
    expired = approval_payload(status="expired", decision=None)
    found = within(lambda ctx: ctx.approval, expired)
    assert (found.status, found.decision) == (ApprovalStatus.EXPIRED, None)
    assert found.proposed_arguments is None


def test_without_an_approval_wake_there_is_no_approval():
    wake = {"kind": "timer", "key": "k", "deadline": 1}
    for activation in (payload(), payload(wake=wake)):
        assert within(lambda ctx: ctx.approval, activation) is None


def test_a_view_and_its_decision_cannot_be_changed():
    def call(ctx):
        for owner, name in (
            (ctx.approval, "status"),
            (ctx.approval.decision, "reviewer"),
        ):
            with pytest.raises(AttributeError):
                setattr(owner, name, "x")
            with pytest.raises(AttributeError):
                delattr(owner, name)
        ctx.approval.scope["tenant_id"] = "x"
        ctx.approval.action.arguments["amount"] = 2
        ctx.approval.to_dict()["action"]["arguments"]["amount"] = 3
        ctx.wake["approval"]["action"]["arguments"]["amount"] = 4
        assert ctx.approval.scope["tenant_id"] == "tenant"
        assert ctx.approval.action.arguments == {"amount": 50}

    within(call, approval_payload())
