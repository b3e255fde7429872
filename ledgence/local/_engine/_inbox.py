"""External events: acceptance, receipts, the buffer (orchestrator.md, section 11)."""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._engine._check import record, text
from ledgence.local._engine._errors import (
    Busy,
    Conflict,
    InvalidInput,
    ObsoleteOperation,
)
from ledgence.local._engine._limits import (
    EVENT_COMMAND_BYTES,
    PENDING_BYTES,
    PENDING_EVENTS,
)
from ledgence.local._engine._rows import InboxEvent, Wait, Workflow
from ledgence.local._engine._scoped import find_workflow
from ledgence.local._engine._turn import Turn
from ledgence.local._engine._values import JsonObject, Packed, pack
from ledgence.local._engine._waits import fire
from ledgence.local._engine._work import Scope, parse_scope
from ledgence.worker._exceptions import WorkflowError
from ledgence.worker.workflow._cloudevent import check_event
from ledgence.worker.workflow._limits import ENVELOPE_DEPTH, MAX_EVENT_BYTES

__all__ = ["SendEvent", "send_event"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendEvent:
    """An event command, checked."""

    scope: Scope
    workflow_id: str
    key: str
    event_id: str
    source: str
    event: Packed

    @classmethod
    def parse(cls, value: object) -> SendEvent:
        """Read the request.

        Raises:
            InvalidInput: The shape is another, the event is no JSON CloudEvent, or
                event or request is too large.
        """
        found = record(value, ("scope", "workflow_id", "key", "event"))
        scope = parse_scope(found["scope"])
        workflow_id = text(found["workflow_id"], path="$.workflow_id")
        key = text(found["key"], path="$.key")
        event = found["event"]
        _require_event(event)
        packed = pack(event, MAX_EVENT_BYTES, path="$.event", depth=ENVELOPE_DEPTH)
        pack(found, EVENT_COMMAND_BYTES, depth=ENVELOPE_DEPTH)
        return cls(
            scope=scope,
            workflow_id=workflow_id,
            key=key,
            event_id=event["id"],
            source=event["source"],
            event=packed,
        )


def _require_event(event: object) -> None:
    try:
        check_event(event)
    except WorkflowError as error:
        place = getattr(error, "path", None) or "$"
        path = f"$.event{str(place).removeprefix('$')}"
        raise InvalidInput(
            f"{path}: not a CloudEvent that a workflow takes: {error}",
            details={"path": path},
        ) from error


def send_event(turn: Turn, command: SendEvent) -> JsonObject:
    """Accept an event and resume the run that waits for it.

    Returns:
        The receipt; of a repeated command the original one.

    Raises:
        NotFound: No such workflow.
        Conflict: The key, or the event's identity, was used for something else.
        ObsoleteOperation: Nothing can wait for this key any more.
        Busy: The inbox is full; it may succeed later.
    """
    rows = turn.rows
    workflow = find_workflow(rows, command.scope, command.workflow_id)
    known = _known(turn, command)
    if known is not None:
        return _recognise(known, command)
    wait = rows.get(Wait, command.workflow_id, command.key)
    _require_open(turn, workflow, wait)
    _require_room(turn, command)
    event = InboxEvent(
        workflow_id=command.workflow_id,
        key=command.key,
        event_id=command.event_id,
        source=command.source,
        accepted_at=turn.now,
        size=command.event.size,
        pending=1,
        event=command.event.data,
    )
    rows.add(event)
    rows.log(command.workflow_id, turn.now, "event_accepted", None, command.key)
    if wait is not None:
        fire(turn, workflow, wait)
    return _receipt(command, turn.now, already_accepted=False)


def _known(turn: Turn, command: SendEvent) -> InboxEvent | None:
    same_key = turn.rows.get(InboxEvent, command.workflow_id, command.key)
    if same_key is not None:
        return same_key
    return turn.rows.event_by_identity(
        command.workflow_id, command.source, command.event_id
    )


def _recognise(known: InboxEvent, command: SendEvent) -> JsonObject:
    if known.key == command.key and known.event == command.event.data:
        return _receipt(command, known.accepted_at, already_accepted=True)
    raise Conflict(
        f"another event was accepted under the key {known.key!r}",
        details={"key": known.key, "id": known.event_id, "source": known.source},
        hint="each key takes one event, and each event (source, id) one key",
    )


def _require_open(turn: Turn, workflow: Workflow, wait: Wait | None) -> None:
    if workflow.state not in ("running", "waiting"):
        raise ObsoleteOperation(f"the workflow is {workflow.state}")
    if wait is None:
        return
    late = wait.deadline is not None and wait.deadline <= turn.now
    if wait.kind != "event" or not wait.open or late:
        raise ObsoleteOperation(
            f"the wait {wait.key!r} takes no event any more",
            details={"kind": wait.kind, "ended": wait.ended, "deadline": wait.deadline},
        )


def _require_room(turn: Turn, command: SendEvent) -> None:
    usage = turn.rows.inbox_usage(command.workflow_id)
    size = usage.size + command.event.size
    if usage.count >= PENDING_EVENTS or size > PENDING_BYTES:
        raise Busy(
            "the inbox of the workflow is full",
            details={"events": usage.count, "bytes": usage.size},
            hint="send it again when the workflow has taken some",
        )


def _receipt(
    command: SendEvent, accepted_at: int, *, already_accepted: bool
) -> JsonObject:
    return {
        "scope": command.scope.to_json(),
        "workflow_id": command.workflow_id,
        "key": command.key,
        "event_id": command.event_id,
        "event_source": command.source,
        "accepted_at": accepted_at,
        "already_accepted": already_accepted,
    }
