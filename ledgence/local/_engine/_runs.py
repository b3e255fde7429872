"""The life of a workflow run: creation, activations, failing, cancelling, the end.

States and the rules of ``revision`` and ``activation_id``: orchestrator.md, section 6;
activations: section 7; failing, cancelling and trees: section 14. What is owned is
stopped by later passes (``_drain``); this module only marks that they are due.
"""

from __future__ import annotations

from collections.abc import Sequence

from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import (
    Activation,
    Approval,
    Checkpoint,
    Child,
    Payload,
    Task,
    Workflow,
    WorkflowState,
)
from ledgence.local._engine._status import child_input
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import (
    JsonObject,
    Packed,
    pack,
    unpack,
)
from ledgence.local._engine._work import NO_TRACE, Descriptor, Scope, Trace, Work
from ledgence.worker.workflow._fields import is_text
from ledgence.worker.workflow._limits import (
    ENVELOPE_DEPTH,
    MAX_DECISION_BYTES,
    MESSAGE_BYTES,
)

__all__ = [
    "Refused",
    "begin_cancelling",
    "begin_failing",
    "build_context",
    "child_ended",
    "create_task",
    "create_workflow",
    "finish",
    "resume",
    "schedule",
]

START = "start"


class Refused(Exception):
    """A decision, or its continuation, cannot be carried out; it is rolled back.

    Attributes:
        kind: The error kind of the run that now fails.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message


def create_task(
    turn: Turn,
    work: Work,
    descriptor: Descriptor,
    scope: Scope,
    *,
    trace: Trace = NO_TRACE,
    correlation_key: str | None = None,
    idempotency_key: str | None = None,
    owner: Workflow | None = None,
    child_key: str | None = None,
) -> Task:
    """Queue a new task, plain or owned by a workflow."""
    task = Task(
        task_id=turn.new_id("task"),
        run_id=turn.new_id("run"),
        tenant_id=scope.tenant_id,
        namespace=scope.namespace,
        queue=work.queue,
        correlation_key=correlation_key,
        idempotency_key=idempotency_key,
        program_id=descriptor.program.id,
        program_version=descriptor.program.version,
        digest=descriptor.digest,
        size=descriptor.size,
        max_attempts=work.max_attempts,
        retry_delay_ms=work.retry_delay_ms,
        attempt_timeout_ms=work.attempt_timeout_ms,
        traceparent=trace.traceparent,
        tracestate=trace.tracestate,
        workflow_id=None if owner is None else owner.workflow_id,
        activation=0,
        child_key=child_key,
        submitted_at=turn.now,
        available_at=turn.now,
    )
    turn.rows.add(task)
    turn.rows.add(Payload(task.task_id, work.data.data))
    turn.effects.runnable = True
    return task


def create_workflow(
    turn: Turn,
    work: Work,
    descriptor: Descriptor,
    scope: Scope,
    *,
    trace: Trace = NO_TRACE,
    correlation_key: str | None = None,
    idempotency_key: str | None = None,
    owner: Workflow | None = None,
    child_key: str | None = None,
    entry: str = START,
) -> Workflow:
    """Create a run, root or owned, together with its first activation."""
    workflow = Workflow(
        workflow_id=turn.new_id("wf"),
        tenant_id=scope.tenant_id,
        namespace=scope.namespace,
        queue=work.queue,
        correlation_key=correlation_key,
        idempotency_key=idempotency_key,
        program_id=descriptor.program.id,
        program_version=descriptor.program.version,
        digest=descriptor.digest,
        size=descriptor.size,
        max_attempts=work.max_attempts,
        retry_delay_ms=work.retry_delay_ms,
        attempt_timeout_ms=work.attempt_timeout_ms,
        traceparent=trace.traceparent,
        tracestate=trace.tracestate,
        parent_workflow_id=None if owner is None else owner.workflow_id,
        root_workflow_id=_root_of(owner),
        child_key=child_key,
        depth=0 if owner is None else owner.depth + 1,
        submitted_at=turn.now,
    )
    turn.rows.add(workflow)
    turn.rows.add(Payload(workflow.workflow_id, work.data.data))
    turn.rows.log(workflow.workflow_id, turn.now, "submitted")
    return schedule(turn, workflow, continuation=entry, state=b"null")


def _root_of(owner: Workflow | None) -> str | None:
    if owner is None:
        return None
    return owner.root_workflow_id or owner.workflow_id


def schedule(
    turn: Turn,
    workflow: Workflow,
    *,
    continuation: str,
    state: bytes,
    children: Sequence[Child] = (),
    wake: JsonObject | None = None,
    activation_id: str | None = None,
) -> Workflow:
    """Queue the next activation of a run; its context is frozen here.

    Raises:
        Refused: The inputs, or the whole context, are too large.
    """
    inputs = {child.key: child_input(turn.rows, child) for child in children}
    packed_inputs, packed_wake = _pack_inputs(inputs, wake)
    activation = Activation(
        activation_id=activation_id or turn.new_id("task"),
        workflow_id=workflow.workflow_id,
        revision=workflow.revision,
        scheduled_at=turn.now,
        continuation=continuation,
        state=state,
        inputs=packed_inputs.data,
        wake=None if packed_wake is None else packed_wake.data,
        input_keys=pack(list(inputs), MAX_DECISION_BYTES).data,
    )
    turn.rows.add(activation)
    turn.rows.add(_controller(turn, workflow, activation.activation_id))
    turn.rows.log(
        workflow.workflow_id,
        turn.now,
        "activation_scheduled",
        activation.activation_id,
        continuation,
    )
    turn.effects.runnable = True
    return turn.rows.change(
        workflow, state="running", activation_id=activation.activation_id
    )


def _pack_inputs(
    inputs: JsonObject, wake: JsonObject | None
) -> tuple[Packed, Packed | None]:
    # At most 64 children are listed or collected. State is at most 64 KiB and the
    # journal 256 KiB, so a context whose inputs and wake keep to their limit cannot
    # pass its own limit of 640 KiB.
    limit = MAX_DECISION_BYTES
    try:
        packed = pack(inputs, limit, path="$.inputs", depth=ENVELOPE_DEPTH)
        if wake is None:
            return packed, None
        both = {"inputs": inputs, "wake": wake}
        pack(both, limit, depth=ENVELOPE_DEPTH)
        return packed, pack(wake, limit, path="$.wake", depth=ENVELOPE_DEPTH)
    except InvalidInput as error:
        detail = f"the next context is too large: {error.summary}"
        raise Refused("decision_application_failed", detail) from error


def _controller(turn: Turn, workflow: Workflow, activation_id: str) -> Task:
    """Return the task of an activation, with an attempt budget of its own."""
    return Task(
        task_id=activation_id,
        run_id=turn.new_id("run"),
        tenant_id=workflow.tenant_id,
        namespace=workflow.namespace,
        queue=workflow.queue,
        correlation_key=workflow.correlation_key,
        idempotency_key=None,
        program_id=workflow.program_id,
        program_version=workflow.program_version,
        digest=workflow.digest,
        size=workflow.size,
        max_attempts=workflow.max_attempts,
        retry_delay_ms=workflow.retry_delay_ms,
        attempt_timeout_ms=workflow.attempt_timeout_ms,
        traceparent=workflow.traceparent,
        tracestate=workflow.tracestate,
        workflow_id=workflow.workflow_id,
        activation=1,
        child_key=None,
        submitted_at=turn.now,
        available_at=turn.now,
    )


def build_context(rows: Rows, workflow: Workflow, activation: Activation) -> JsonObject:
    """Return the payload of an activation with what its journal holds now."""
    journal = rows.journal(activation.activation_id)
    context: JsonObject = {
        "v": 1,
        "workflow_id": workflow.workflow_id,
        "activation_id": activation.activation_id,
        "revision": activation.revision,
        "continuation": activation.continuation,
        "state": unpack(activation.state),
        "inputs": unpack(activation.inputs),
        "local_steps": [unpack(step.record) for step in journal],
    }
    if activation.wake is not None:
        context["wake"] = unpack(activation.wake)
    if workflow.parent_workflow_id is not None:
        context["parent_workflow_id"] = workflow.parent_workflow_id
        context["root_workflow_id"] = workflow.root_workflow_id
    return context


def resume(
    turn: Turn,
    workflow: Workflow,
    *,
    wake: JsonObject | None = None,
    activation_id: str | None = None,
) -> Workflow:
    """Let a waiting run go on with a wake, or with the children it waited for.

    A context that is too large fails the run and schedules nothing.
    """
    checkpoint = turn.rows.need(Checkpoint, workflow.workflow_id)
    keys = () if checkpoint.until is None else unpack(checkpoint.until)
    try:
        with turn.all_or_nothing():
            turn.rows.remove(checkpoint)
            return schedule(
                turn,
                workflow,
                continuation=checkpoint.continuation,
                state=checkpoint.state,
                children=turn.rows.children(workflow.workflow_id, keys),
                wake=wake,
                activation_id=activation_id,
            )
    except Refused as refusal:
        return begin_failing(turn, workflow, refusal.kind, refusal.message)


def child_ended(turn: Turn, workflow_id: str, key: str | None) -> None:
    """Take notice that a child has become terminal."""
    child = turn.rows.need(Child, workflow_id, key)
    workflow = turn.rows.need(Workflow, workflow_id)
    turn.rows.change(child, terminal_at=turn.now)
    turn.rows.log(workflow_id, turn.now, "child_ended", None, key)
    if workflow.state in ("failing", "cancelling"):
        _drain_soon(turn, workflow)
    elif workflow.state == "waiting":
        _one_child_less(turn, workflow, child.key)


def _one_child_less(turn: Turn, workflow: Workflow, key: str) -> None:
    checkpoint = turn.rows.need(Checkpoint, workflow.workflow_id)
    if checkpoint.until is None or key not in unpack(checkpoint.until):
        return
    checkpoint = turn.rows.change(checkpoint, missing=checkpoint.missing - 1)
    if checkpoint.missing == 0:
        resume(turn, workflow)


def finish(
    turn: Turn, workflow: Workflow, state: WorkflowState, output: bytes | None = None
) -> Workflow:
    """Make a run terminal and tell its parent; nothing it owns is alive."""
    if output is not None:
        payload = turn.rows.need(Payload, workflow.workflow_id)
        turn.rows.change(payload, output=output)
    workflow = turn.rows.change(
        workflow,
        state=state,
        activation_id=None,
        terminal_at=turn.now,
        drain_at=None,
    )
    turn.rows.discard_events(workflow.workflow_id)
    turn.rows.log(workflow.workflow_id, turn.now, state)
    turn.effects.finished.append(workflow.workflow_id)
    if workflow.parent_workflow_id is not None:
        child_ended(turn, workflow.parent_workflow_id, workflow.child_key)
    return workflow


def begin_failing(turn: Turn, workflow: Workflow, kind: str, message: str) -> Workflow:
    """Let a running or waiting run fail; what it owns is stopped first."""
    workflow = turn.rows.change(
        workflow,
        state="failing",
        error_kind=kind if is_text(kind) else "application_error",
        error_message=_clip(message),
    )
    turn.rows.log(workflow.workflow_id, turn.now, "failing", None, workflow.error_kind)
    return _stop_waiting(turn, workflow)


def begin_cancelling(turn: Turn, workflow: Workflow) -> Workflow:
    """Let a run be cancelled; a terminal or cancelling one stays as it is."""
    if workflow.state not in ("running", "waiting", "failing"):
        return workflow
    workflow = turn.rows.change(
        workflow, state="cancelling", error_kind=None, error_message=None
    )
    turn.rows.log(workflow.workflow_id, turn.now, "cancelling")
    return _stop_waiting(turn, workflow)


def _stop_waiting(turn: Turn, workflow: Workflow) -> Workflow:
    rows = turn.rows
    wait = rows.open_wait(workflow.workflow_id)
    if wait is not None:
        rows.change(wait, open=0, closed_at=turn.now, ended="cancelled")
        approval = rows.get(Approval, workflow.workflow_id, wait.key)
        if approval is not None and approval.status == "pending":
            late = turn.now >= approval.deadline
            rows.change(approval, status="expired" if late else "cancelled")
    checkpoint = rows.get(Checkpoint, workflow.workflow_id)
    if checkpoint is not None:
        rows.remove(checkpoint)
    rows.discard_events(workflow.workflow_id)
    return _drain_soon(turn, workflow)


def _drain_soon(turn: Turn, workflow: Workflow) -> Workflow:
    turn.effects.due = True
    return turn.rows.change(workflow, drain_at=turn.now)


def _clip(message: str) -> str:
    """Return at most 4096 bytes of a message, in whole characters, never none."""
    text = message.encode(errors="replace")[:MESSAGE_BYTES].decode(errors="ignore")
    return text or "no message was given"
