"""The journal of an activation: ``local_step.commit`` (orchestrator.md, section 8)."""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._engine._authority import Owner, owned, require_activation
from ledgence.local._engine._check import record, text
from ledgence.local._engine._errors import Conflict, InvalidInput
from ledgence.local._engine._rows import LocalStep
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, Packed, pack
from ledgence.worker.workflow._limits import (
    MAX_RECORD_BYTES,
    MAX_RECORDS_BYTES,
    MAX_STEPS,
    NAME_BYTES,
    VALUE_DEPTH,
)

__all__ = ["Record", "commit_step"]


@dataclass(frozen=True, slots=True)
class Record:
    """A record to commit, checked."""

    key: str
    callable: str
    packed: Packed

    @classmethod
    def parse(cls, value: object) -> Record:
        """Read the payload of ``local_step.commit``.

        Raises:
            InvalidInput: The shape is another, or it is larger than 128 KiB.
        """
        found = record(value, ("key", "callable", "input", "output"))
        key = text(found["key"], path="$.key")
        callable_name = text(found["callable"], NAME_BYTES, path="$.callable")
        # One level more than the values inside: the record itself.
        packed = pack(found, MAX_RECORD_BYTES, depth=VALUE_DEPTH + 1)
        return cls(key, callable_name, packed)


def commit_step(turn: Turn, owner: Owner, step: Record) -> JsonObject:
    """Store a record, or recognise it.

    Returns:
        ``{"key", "already_accepted"}``.

    Raises:
        OwnershipLost: The attempt may not store it (any more).
        Conflict: The key holds another record.
        InvalidInput: The journal is full.
    """
    owned(turn, owner)
    known = turn.rows.get(LocalStep, owner.task_id, step.key)
    if known is not None:
        _recognise(turn, owner, known, step)
        return {"key": step.key, "already_accepted": True}
    _, attempt, workflow = require_activation(turn, owner)
    _require_room(turn, owner.task_id, step)
    turn.rows.add(
        LocalStep(
            activation_id=owner.task_id,
            key=step.key,
            callable=step.callable,
            attempt_id=attempt.attempt_id,
            accepted_at=turn.now,
            size=step.packed.size,
            record=step.packed.data,
        )
    )
    turn.rows.log(
        workflow.workflow_id, turn.now, "step_committed", owner.task_id, step.key
    )
    return {"key": step.key, "already_accepted": False}


def _recognise(turn: Turn, owner: Owner, known: LocalStep, step: Record) -> None:
    if known.record != step.packed.data:
        raise Conflict(
            f"the journal has another record under {step.key!r}",
            details={"activation": owner.task_id, "key": step.key},
            hint="give every step a key of its own; arguments are part of a record",
        )
    # The attempt that stored it may hear so at any time; others must be alive.
    if known.attempt_id != owner.attempt_id:
        require_activation(turn, owner)


def _require_room(turn: Turn, activation_id: str, step: Record) -> None:
    usage = turn.rows.journal_usage(activation_id)
    if usage.count >= MAX_STEPS:
        raise InvalidInput.at(
            "$", f"at most {MAX_STEPS} records", f"{usage.count + 1} records"
        )
    # The records, the commas between them and the brackets around them.
    size = usage.size + step.packed.size + usage.count + 2
    if size > MAX_RECORDS_BYTES:
        raise InvalidInput.at(
            "$",
            f"a journal of at most {MAX_RECORDS_BYTES} bytes",
            f"{size} bytes with this record",
            hint="continue in a new activation; it begins with an empty journal",
        )
