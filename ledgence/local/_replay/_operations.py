"""What a workflow did, operation by operation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ledgence.local._engine._values import JsonObject, pack
from ledgence.local._replay._shape import VALUE_BYTES, VALUE_DEPTH
from ledgence.local._shapes import as_object
from ledgence.worker.workflow._limits import RESERVED_PREFIX

__all__ = ["Operation", "operations_of"]

_KINDS = {"model", "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Something that a workflow did or waited for under a key.

    Attributes:
        key: Its key.
        kind: ``local``, ``model``, ``tool`` or ``approved`` for a step, ``fork``,
            ``task``, ``workflow`` or ``branch`` for a child, ``event``, ``timer`` or
            ``approval`` for a wait.
        state: ``committed`` for a step or fork; the state of a child; what ended a
            wait (``event``, ``timeout``, ``timer``, ``approved``, ...), or
            ``waiting``; of an event that no wait has taken ``pending`` or
            ``undelivered``.
        revision: The number of the activation that asked for it; None for an event
            that no wait has asked for.
        began_at: When it was committed, registered or installed, in milliseconds of
            the host's clock.
        ended_at: When a child or a wait ended; for steps and forks ``began_at``.
        attempts: How many attempts a child has had; None for the rest.
        input: The arguments of a step, the branches of a fork, the data of a child,
            the action of an approval; else None.
        output: The output of a step or a successful child, the external event that
            ended a wait, the decision of an approval; else None.
        error: How a child failed, else None.
        size: The bytes of input and output as JSON.
        raw: The entry of the history that it was read from.
    """

    key: str
    kind: str
    state: str
    revision: int | None
    began_at: int
    ended_at: int | None
    attempts: int | None = None
    input: Any = None
    output: Any = None
    error: Any = None
    raw: JsonObject

    @property
    def size(self) -> int:
        """The bytes of input and output as JSON."""
        both = [self.input, self.output]
        return pack(both, VALUE_BYTES, depth=VALUE_DEPTH).size - len("[,]")

    def to_json(self) -> JsonObject:
        """Return all but ``raw`` as a JSON object."""
        names = (name for name in self.__slots__ if name != "raw")
        return {**{name: getattr(self, name) for name in names}, "size": self.size}


def operations_of(history: JsonObject) -> tuple[Operation, ...]:
    """Return the operations of a workflow in the order in which they began."""
    revisions = {one["activation_id"]: one["revision"] for one in _list(history)}
    found = [*_requests(history), *_children(history), *_waits(history, revisions)]
    return tuple(sorted(found, key=_place))


def _place(operation: Operation) -> tuple[int, float]:
    # A skipped clock stands still while programs run: times alone are no order.
    revision = operation.revision
    return operation.began_at, math.inf if revision is None else revision


def _list(history: JsonObject, name: str = "activations") -> list[JsonObject]:
    return history.get(name) or []


def _requests(history: JsonObject) -> Iterator[Operation]:
    for activation in _list(history):
        for request in _list(activation, "requests"):
            payload = request["payload"]
            is_step = request["operation"] == "local_step.commit"
            yield Operation(
                key=payload["key"],
                kind=_step_kind(payload) if is_step else "fork",
                state="committed",
                revision=activation["revision"],
                began_at=request["at"],
                ended_at=request["at"],
                input=_arguments(payload) if is_step else payload["branches"],
                output=payload.get("output"),
                raw=request,
            )


def _step_kind(record: JsonObject) -> str:
    if record["key"].startswith(RESERVED_PREFIX):
        return "approved"
    prefix, colon, _ = record["callable"].partition(":")
    # A module may be called `model`; then the input has no envelope.
    given = as_object(record["input"]) or {}
    named = given.get("kind") == prefix and "arguments" in given
    return prefix if colon and prefix in _KINDS and named else "local"


def _arguments(record: JsonObject) -> Any:
    given = record["input"]
    return given["arguments"] if _step_kind(record) in _KINDS else given


def _children(history: JsonObject) -> Iterator[Operation]:
    for child in _list(history, "children"):
        inner = child["history"]
        is_task = child["kind"] == "task"
        outcome: JsonObject = inner["outcome"] or {}
        attempts = [inner] if is_task else _list(inner)
        yield Operation(
            key=child["command_key"],
            kind="branch" if child["branch"] else child["kind"],
            state=child["task_state" if is_task else "workflow_state"],
            revision=child["creating_revision"],
            began_at=child["registered_at"],
            ended_at=child["terminal_at"],
            attempts=sum(len(one["attempts"]) for one in attempts),
            input=inner["input"]["data"],
            output=outcome.get("output"),
            error=outcome.get("failure" if is_task else "error"),
            raw=child,
        )


def _waits(history: JsonObject, revisions: dict[str, int]) -> Iterator[Operation]:
    events = {event["key"]: event for event in _list(history, "events")}
    approvals = {one["key"]: one for one in _list(history, "approvals")}
    for wait in _list(history, "waits"):
        approval = approvals.get(wait["key"], {})
        taken = events.pop(wait["key"], None) if wait["kind"] == "event" else None
        arrived = wait["ended"] == "event" and taken is not None
        yield Operation(
            key=wait["key"],
            kind=wait["kind"],
            state=wait["ended"] or "waiting",
            revision=revisions.get(wait["activation_id"]),
            began_at=wait["installed_at"],
            ended_at=wait["closed_at"],
            input=approval.get("action"),
            output=taken["event"] if taken and arrived else approval.get("decision"),
            raw=wait,
        )
    yield from map(_unasked, events.values())


def _unasked(event: JsonObject) -> Operation:
    return Operation(
        key=event["key"],
        kind="event",
        state="pending" if event["pending"] else "undelivered",
        revision=None,
        began_at=event["accepted_at"],
        ended_at=None,
        output=event["event"],
        raw=event,
    )
