"""Activations: scheduling the next one, and the context that it sees (section 7)."""

from __future__ import annotations

from collections.abc import Sequence

from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._ports import Rows
from ledgence.local._engine._rows import Activation, Child, Task, Workflow
from ledgence.local._engine._status import child_input
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, Packed, pack, unpack
from ledgence.worker.workflow._limits import ENVELOPE_DEPTH, MAX_DECISION_BYTES

__all__ = ["Refused", "build_context", "schedule"]


class Refused(Exception):
    """A decision, or its continuation, cannot be carried out; it is rolled back.

    Attributes:
        kind: The error kind of the run that now fails.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message


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
