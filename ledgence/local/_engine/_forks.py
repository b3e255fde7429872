"""Forks: ``workflow.fork`` (orchestrator.md, section 13)."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from ledgence.local._engine._authority import Owner, owned, require_activation
from ledgence.local._engine._check import array, record, text
from ledgence.local._engine._children import register, trouble_with_workflows
from ledgence.local._engine._errors import Conflict, InvalidInput, OwnershipLost
from ledgence.local._engine._limits import FORKED_BYTES, FORKS
from ledgence.local._engine._rows import Attempt, Fork, Workflow
from ledgence.local._engine._status import descriptor_of
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, pack
from ledgence.local._engine._work import NO_TRACE, Trace, Work
from ledgence.worker.workflow._limits import (
    ENVELOPE_DEPTH,
    MAX_COMMANDS,
    MAX_FORK_BYTES,
)

__all__ = ["Branch", "ForkRequest", "fork"]


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch: an owned workflow on the parent's program."""

    key: str
    entrypoint: str
    work: Work


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A fork, checked.

    Attributes:
        size: The size that counts against the activation's budget.
        digest: Identifies key, branches and their order; the trace does not count.
    """

    key: str
    branches: tuple[Branch, ...]
    size: int
    digest: str
    trace: Trace = NO_TRACE

    @classmethod
    def parse(cls, value: object, *, trace: Trace = NO_TRACE) -> ForkRequest:
        """Read the payload of ``workflow.fork``.

        Raises:
            InvalidInput: The shape is another, keys repeat, or it is too large.
        """
        found = record(value, ("key", "branches"))
        key = text(found["key"], path="$.key")
        items = array(found["branches"], 1, MAX_COMMANDS, path="$.branches")
        size = pack(found, MAX_FORK_BYTES, depth=ENVELOPE_DEPTH).size
        branches = tuple(
            _parse_branch(item, f"$.branches[{index}]")
            for index, item in enumerate(items)
        )
        keys = [branch.key for branch in branches]
        if len(set(keys)) != len(keys):
            raise InvalidInput.at("$.branches", "distinct keys", "a repeated key")
        return cls(key, branches, size, _identity(key, branches), trace)

    @property
    def branch_keys(self) -> list[str]:
        """The keys in the order of the request."""
        return [branch.key for branch in self.branches]


def _parse_branch(value: object, path: str) -> Branch:
    found = record(
        value,
        ("key", "entrypoint", "queue", "data"),
        ("retry_policy", "attempt_timeout_ms"),
        path=path,
    )
    return Branch(
        key=text(found["key"], path=f"{path}.key"),
        entrypoint=text(found["entrypoint"], path=f"{path}.entrypoint"),
        work=Work.parse(found, path=path, with_program=False, limit=MAX_FORK_BYTES),
    )


def _identity(key: str, branches: tuple[Branch, ...]) -> str:
    """Return the digest of what is compared, with all defaults filled in."""
    digest = sha256()

    def take(part: bytes) -> None:
        digest.update(b"%d:%b" % (len(part), part))

    take(key.encode())
    for branch in branches:
        work = branch.work
        for name in (branch.key, branch.entrypoint, work.queue):
            take(name.encode())
        take(work.data.data)
        for number in (work.max_attempts, work.retry_delay_ms, work.attempt_timeout_ms):
            take(b"%d" % number)
    return digest.hexdigest()


def fork(turn: Turn, owner: Owner, request: ForkRequest) -> JsonObject:
    """Register all branches of a fork, or recognise it.

    Returns:
        ``{"key", "branch_keys", "already_accepted"}``.

    Raises:
        OwnershipLost: The attempt may not fork (any more).
        Conflict: The fork key, or a branch key, stands for something else.
        InvalidInput: A limit of the activation or of the tree is reached.
    """
    task, _ = owned(turn, owner)
    if not task.activation or task.workflow_id is None:
        raise OwnershipLost("only an activation of a workflow can fork")
    known = turn.rows.get(Fork, task.workflow_id, request.key)
    if known is not None:
        _recognise(turn, owner, known, request)
        return _receipt(request, already_accepted=True)
    _, attempt, workflow = require_activation(turn, owner)
    _require_room(turn, owner.task_id, request)
    _require_new_keys(turn, workflow, request)
    trouble = trouble_with_workflows(turn, workflow, len(request.branches))
    if trouble is not None:
        raise InvalidInput(trouble, details={"fork": request.key})
    _register(turn, workflow, attempt, request)
    return _receipt(request, already_accepted=False)


def _receipt(request: ForkRequest, *, already_accepted: bool) -> JsonObject:
    return {
        "key": request.key,
        "branch_keys": request.branch_keys,
        "already_accepted": already_accepted,
    }


def _recognise(turn: Turn, owner: Owner, known: Fork, request: ForkRequest) -> None:
    if known.digest != request.digest:
        raise Conflict(
            f"fork {request.key!r} was accepted with other branches",
            details={"fork": request.key, "activation": known.activation_id},
            hint="a retry must fork with the same branches in the same order",
        )
    if known.attempt_id != owner.attempt_id:
        require_activation(turn, owner)


def _require_room(turn: Turn, activation_id: str, request: ForkRequest) -> None:
    usage = turn.rows.fork_usage(activation_id)
    if usage.count >= FORKS:
        raise InvalidInput(f"an activation may fork at most {FORKS} times")
    if usage.size + request.size > FORKED_BYTES:
        raise InvalidInput.at(
            "$",
            f"forks of at most {FORKED_BYTES} bytes in an activation",
            f"{usage.size + request.size} bytes with this one",
        )
    children = usage.branches + len(request.branches)
    if children > MAX_COMMANDS:
        raise InvalidInput.at(
            "$.branches",
            f"at most {MAX_COMMANDS} new children in an activation",
            f"{children} with these",
        )


def _require_new_keys(turn: Turn, workflow: Workflow, request: ForkRequest) -> None:
    taken = turn.rows.children(workflow.workflow_id, request.branch_keys)
    if taken:
        raise Conflict(
            f"branch key {taken[0].key!r} is a child of this workflow already",
            details={"fork": request.key, "key": taken[0].key},
            hint="give every branch a key that no other child of the workflow has",
        )


def _register(
    turn: Turn, workflow: Workflow, attempt: Attempt, request: ForkRequest
) -> None:
    trace = request.trace
    if trace.traceparent is None:
        trace = Trace(workflow.traceparent, workflow.tracestate)
    turn.rows.add(
        Fork(
            workflow_id=workflow.workflow_id,
            key=request.key,
            activation_id=attempt.task_id,
            attempt_id=attempt.attempt_id,
            accepted_at=turn.now,
            branches=len(request.branches),
            size=request.size,
            digest=request.digest,
            branch_keys=pack(request.branch_keys, MAX_FORK_BYTES).data,
        )
    )
    for branch in request.branches:
        register(
            turn,
            workflow,
            key=branch.key,
            kind="branch",
            work=branch.work,
            descriptor=descriptor_of(workflow),
            activation_id=attempt.task_id,
            trace=trace,
            entry=branch.entrypoint,
        )
    turn.rows.log(
        workflow.workflow_id, turn.now, "fork_accepted", attempt.task_id, request.key
    )
