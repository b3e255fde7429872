"""Activations in one process: payloads, a scripted host, and a run from end to end."""

import asyncio
import copy
import json

import pytest

from ledgence.worker import workflow
from ledgence.worker._profile import encode as profile_encode
from ledgence.worker.workflow import WorkflowContext, WorkflowError

ACTION = {"name": "program:refund", "version": "1", "arguments": {"amount": 50}}


def payload(**changes):
    """A minimal payload with some members changed; ``...`` takes one away."""
    base = {
        "v": 1,
        "workflow_id": "wf-1",
        "activation_id": "act-1",
        "revision": 0,
        "continuation": "start",
        "state": None,
        "inputs": {},
        "local_steps": [],
    }
    base.update(changes)
    return {name: value for name, value in base.items() if value is not ...}


def record(key="k", callable_="tests:f", input_=None, output=None):
    arguments = {} if input_ is None else input_
    return {"key": key, "callable": callable_, "input": arguments, "output": output}


def task_child(output=None, **changes):
    outcome = {
        "kind": "succeeded",
        "attempt_id": "a",
        "quiescence": "confirmed",
        "execution_may_have_started": True,
        "output": output,
    }
    return {"task_id": "t", "state": "succeeded", "outcome": outcome, **changes}


def workflow_child(output=None):
    outcome = {"kind": "succeeded", "output": output}
    return {
        "kind": "workflow",
        "workflow_id": "wf-2",
        "state": "succeeded",
        "outcome": outcome,
    }


def failed_child(failure, **evidence):
    outcome = {
        "kind": "failed",
        "attempt_id": "a",
        "quiescence": "confirmed",
        "execution_may_have_started": True,
        **evidence,
        "failure": failure,
    }
    return {"task_id": "t", "state": "failed", "outcome": outcome}


def snapshot(**changes):
    """The snapshot of an approved action, as it wakes revision 1 of act-1."""
    base = {
        "scope": {"tenant_id": "tenant", "namespace": "tests"},
        "workflow_id": "wf-1",
        "key": "refund",
        "activation_id": "act-0",
        "revision": 0,
        "action": copy.deepcopy(ACTION),
        "proposed_arguments": None,
        "created_at": 10,
        "deadline": 20,
        "status": "approved",
        "decision": decided(),
        "resumed_activation_id": "act-1",
    }
    base.update(changes)
    return {name: value for name, value in base.items() if value is not ...}


def decided(**changes):
    base = {
        "decision_id": "d-1",
        "decision": "approve",
        "reviewer": "alice",
        "reason": None,
        "decided_at": 11,
    }
    base.update(changes)
    return {name: value for name, value in base.items() if value is not ...}


def approval_payload(**changes):
    wake = {"kind": "approval", "approval": snapshot(**changes)}
    return payload(revision=1, wake=wake)


def external_event(**changes):
    base = {
        "specversion": "1.0",
        "id": "e-1",
        "source": "/external",
        "type": "doc.ready",
        "datacontenttype": "application/json",
        "data": {"ok": True},
    }
    base.update(changes)
    return {name: value for name, value in base.items() if value is not ...}


def event_payload(**changes):
    event = external_event(**changes)
    wake = {"kind": "event", "key": "doc", "event": event, "accepted_at": 1}
    return payload(wake=wake)


def acknowledgement(operation, request):
    if operation == "workflow.fork":
        keys = [branch["key"] for branch in request["branches"]]
        return {"committed": True, "key": request["key"], "branch_keys": keys}
    return {"committed": True}


class Host:
    """A scripted host: keeps the requests, answers with what it is told.

    ``replies`` holds one entry a request: a value is the result, an exception is
    raised, a callable is called with (operation, payload) and may be async. Missing
    entries acknowledge. ``turns`` lets other tasks run before every reply.
    """

    def __init__(self, *replies, turns=1):
        self.replies = list(replies)
        self.turns = turns
        self.requests = []
        self.under_way = 0

    async def __call__(self, operation, request):
        assert self.under_way == 0, "two exchanges at once"
        self.under_way += 1
        try:
            self.requests.append((operation, request))
            for _ in range(self.turns):
                await asyncio.sleep(0)
            reply = self.replies.pop(0) if self.replies else acknowledgement
            if isinstance(reply, BaseException):
                raise reply
            if callable(reply):
                reply = reply(operation, request)
                if asyncio.iscoroutine(reply):
                    reply = await reply
            return reply
        finally:
            self.under_way -= 1

    @property
    def committed(self):
        return [request for operation, request in self.requests]


class EncodedHost(Host):
    """A host that takes payloads as bytes; keeps them in ``lines``."""

    def __init__(self, *replies, **options):
        super().__init__(*replies, **options)
        self.lines = []

    async def send_encoded(self, operation, data):
        self.lines.append(data)
        return await self(operation, json.loads(data))


class Steps:
    """An observer of steps."""

    def __init__(self):
        self.seen = []

    def start(self, key, name):
        self.seen.append([key, name, None])
        return len(self.seen) - 1

    def finish(self, token, state):
        self.seen[token][2] = state


def play(handler, activation=None, host=None, steps=None):
    """Run a handler ``async (ctx)`` as an activation; return its decision."""

    async def main():
        ctx = WorkflowContext(
            payload() if activation is None else activation,
            Host() if host is None else host,
            steps,
        )
        token = workflow._workflow.set(ctx)
        try:
            value = await handler(ctx)
            await ctx._drain()
            decision = ctx._validate_decision(value)
        except BaseException:
            await ctx._finish(cancel=True)
            raise
        finally:
            workflow._workflow.reset(token)
        await ctx._finish()
        return decision

    return asyncio.run(main(), debug=False)


def within(call, activation=None, host=None):
    """Run ``call(ctx)`` in an activation and return its value."""
    found = []

    async def handler(ctx):
        value = call(ctx)
        if asyncio.iscoroutine(value):
            value = await value
        found.append(value)
        return ctx.fail("done", "")

    play(handler, activation, host)
    return found[0]


def refused(call, *args, **kwargs):
    """Return the WorkflowError that a call raises."""
    with pytest.raises(WorkflowError) as caught:
        call(*args, **kwargs)
    return caught.value


async def arefused(awaitable):
    with pytest.raises(WorkflowError) as caught:
        await awaitable
    return caught.value


async def until(predicate):
    """Let the loop turn until something is so."""
    for _ in range(10_000):
        if predicate():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never was so")


def canonical(value):
    return profile_encode(value, 10_000_000, max_depth=127)


def nest(depth, value=None):
    for _ in range(depth):
        value = [value]
    return value
