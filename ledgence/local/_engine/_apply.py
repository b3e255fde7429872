"""Applying a decision to its run: one transaction, all or nothing (section 9).

What is found before application starts makes the decision *invalid*; the rest makes
its *application fail*. Either way nothing of it stays and the run fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._engine._activations import Refused, schedule
from ledgence.local._engine._children import (
    owned_by,
    register,
    same_work,
    trouble_with_workflows,
)
from ledgence.local._engine._decision import Command, Decision, parse_decision
from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._rows import Activation, Checkpoint, Child, Workflow
from ledgence.local._engine._runs import begin_failing, finish
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import pack, unpack
from ledgence.local._engine._waits import install
from ledgence.local._engine._work import Descriptor, Program, Trace
from ledgence.worker.workflow._limits import MAX_COMMANDS, MAX_DECISION_BYTES

__all__ = ["UnknownPrograms", "apply_decision"]

INVALID = "decision_invalid"
FAILED = "decision_application_failed"


class UnknownPrograms(Exception):
    """A program has to be looked up before the decision can be applied."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A decision and the run that it is for."""

    turn: Turn
    workflow: Workflow
    activation: Activation
    decision: Decision
    trace: Trace


def apply_decision(
    turn: Turn, workflow: Workflow, output: object, trace: Trace
) -> Workflow:
    """Apply the output of the current activation, or let the run fail.

    Args:
        turn: The turn; its ``programs`` are those that were looked up.
        workflow: The run, ``running``.
        output: What the controller returned.
        trace: The processing trace of the deciding attempt.

    Raises:
        UnknownPrograms: Nothing was done; look the programs up and call again.
    """
    activation = turn.rows.need(Activation, workflow.activation_id)
    try:
        decision = _read(workflow, output)
        with turn.all_or_nothing():
            return _apply(_Case(turn, workflow, activation, decision, trace))
    except Refused as refusal:
        turn.rows.change(activation, applied_at=turn.now, error_kind=refusal.kind)
        _log(turn, activation, "decision_refused", refusal.kind)
        return begin_failing(turn, workflow, refusal.kind, refusal.message)


def _log(turn: Turn, activation: Activation, reason: str, subject: str) -> None:
    workflow_id, activation_id = activation.workflow_id, activation.activation_id
    turn.rows.log(workflow_id, turn.now, reason, activation_id, subject)


def _read(workflow: Workflow, output: object) -> Decision:
    try:
        decision = parse_decision(output)
    except InvalidInput as error:
        raise Refused(INVALID, error.summary) from error
    if decision.activation_id != workflow.activation_id:
        raise Refused(INVALID, "the decision names another activation")
    return decision


def _apply(case: _Case) -> Workflow:
    turn, rows, decision = case.turn, case.turn.rows, case.decision
    workflow_id = case.workflow.workflow_id
    known = _known_children(case)
    new = [command for command in decision.commands if command.key not in known]
    descriptors = _resolve(turn, new)
    # From here on the application has started.
    if decision.revision != case.workflow.revision:
        message = f"revision {decision.revision}, the run has {case.workflow.revision}"
        raise Refused(FAILED, message)
    if decision.kind == "complete" and rows.has_unfinished_child(workflow_id):
        raise Refused(FAILED, "complete with unfinished children")
    _compare_work(case, known)
    _register(case, new, descriptors)
    rows.consume(workflow_id, unpack(case.activation.input_keys))
    rows.change(case.activation, applied_at=turn.now, decision=decision.kind)
    workflow = rows.change(case.workflow, revision=case.workflow.revision + 1)
    _log(turn, case.activation, "decision_applied", decision.kind)
    return _go_on(case, workflow)


def _known_children(case: _Case) -> dict[str, Child]:
    """Return the children that the commands name; refuse changed ones."""
    commands = {command.key: command for command in case.decision.commands}
    children = case.turn.rows.children(case.workflow.workflow_id, commands)
    for child in children:
        if _other_program(case.turn, child, commands[child.key]):
            message = f"child {child.key!r} exists with another kind or program"
            raise Refused(INVALID, message)
    return {child.key: child for child in children}


def _other_program(turn: Turn, child: Child, command: Command) -> bool:
    # A branch is never matched; that is refused later, when the work is compared.
    if child.kind == "branch":
        return False
    target = owned_by(turn, child)
    pinned = Program(target.program_id, target.program_version)
    return child.kind != command.kind or pinned != command.program


def _resolve(turn: Turn, new: list[Command]) -> dict[Program, Descriptor]:
    found: dict[Program, Descriptor] = {}
    for command in new:
        if command.program not in turn.programs:
            raise UnknownPrograms
        descriptor = turn.programs[command.program]
        if descriptor is None:
            program = command.program
            message = f"program {program.id}/{program.version} does not exist"
            raise Refused(INVALID, message)
        found[command.program] = descriptor
    return found


def _compare_work(case: _Case, known: dict[str, Child]) -> None:
    for command in case.decision.commands:
        child = known.get(command.key)
        if child is None:
            continue
        if child.kind == "branch":
            raise Refused(FAILED, f"child {command.key!r} is a branch of a fork")
        target = owned_by(case.turn, child)
        if not same_work(case.turn.rows, target, command.work):
            message = f"child {command.key!r} exists with other data, queue or policy"
            raise Refused(FAILED, message)


def _register(
    case: _Case, new: list[Command], descriptors: dict[Program, Descriptor]
) -> None:
    if not new:
        return
    turn, workflow, trace = case.turn, case.workflow, case.trace
    activation_id = case.activation.activation_id
    branches = turn.rows.fork_usage(activation_id).branches
    if branches + len(new) > MAX_COMMANDS:
        message = f"more than {MAX_COMMANDS} new children in one activation"
        raise Refused(FAILED, message)
    workflows = sum(command.kind == "workflow" for command in new)
    trouble = trouble_with_workflows(turn, workflow, workflows)
    if trouble is not None:
        raise Refused(FAILED, trouble)
    if trace.traceparent is None:
        trace = Trace(workflow.traceparent, workflow.tracestate)
    for command in new:
        register(
            turn,
            workflow,
            key=command.key,
            kind=command.kind,
            work=command.work,
            descriptor=descriptors[command.program],
            activation_id=activation_id,
            trace=trace,
        )


def _go_on(case: _Case, workflow: Workflow) -> Workflow:
    """Carry the decision out; ``workflow`` has the new revision."""
    turn, decision = case.turn, case.decision
    if decision.kind == "complete":
        return finish(turn, workflow, "succeeded", decision.output.data)
    if decision.kind == "fail":
        return begin_failing(turn, workflow, *decision.error)
    if decision.wait is not None:
        install(turn, workflow, case.activation, decision, decision.wait)
        return workflow
    if decision.kind == "suspend":
        return _suspend(case, workflow)
    return schedule(
        turn,
        workflow,
        continuation=decision.continuation,
        state=decision.state.data,
        children=turn.rows.finished_children(workflow.workflow_id, MAX_COMMANDS),
    )


def _suspend(case: _Case, workflow: Workflow) -> Workflow:
    turn, decision = case.turn, case.decision
    children = turn.rows.children(workflow.workflow_id, decision.until)
    known = {child.key for child in children}
    for key in decision.until:
        if key not in known:
            raise Refused(FAILED, f"until names {key!r}, which is no child")
    missing = sum(child.terminal_at is None for child in children)
    if not missing:
        return schedule(
            turn,
            workflow,
            continuation=decision.continuation,
            state=decision.state.data,
            children=children,
        )
    checkpoint = Checkpoint(
        workflow_id=workflow.workflow_id,
        activation_id=case.activation.activation_id,
        continuation=decision.continuation,
        state=decision.state.data,
        until=pack(list(decision.until), MAX_DECISION_BYTES).data,
        missing=missing,
        wait_key=None,
    )
    turn.rows.add(checkpoint)
    _log(turn, case.activation, "waiting", f"{missing} children")
    return turn.rows.change(workflow, state="waiting", activation_id=None)
