"""Decisions as the host reads them: shapes and sizes (orchestrator.md, section 9).

Everything that can be seen without looking at the run is refused here; such a
decision is invalid. What depends on the run is ``_apply``'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from ledgence.local._engine._check import (
    array,
    choice,
    integer,
    member,
    message,
    record,
    text,
)
from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._rows import WaitKind
from ledgence.local._engine._values import NULL, JsonObject, Packed, pack
from ledgence.local._engine._work import Program, Work
from ledgence.worker.workflow._fields import describe
from ledgence.worker.workflow._limits import (
    ENVELOPE_DEPTH,
    MAX_APPROVAL_BYTES,
    MAX_COMMANDS,
    MAX_DECISION_BYTES,
    MAX_REVISION,
    MAX_STATE_BYTES,
    MAX_WAIT_MS,
    NAME_BYTES,
)

__all__ = [
    "Command",
    "Decision",
    "WaitRequest",
    "parse_action",
    "parse_decision",
    "programs_of",
]

DecisionKind = Literal["suspend", "continue", "wait", "complete", "fail"]

_COMMON = ("v", "activation_id", "revision", "kind")
_CHECKPOINT = ("continuation", "state", "commands")
_MEMBERS: dict[str, tuple[str, ...]] = {
    "suspend": (*_COMMON, *_CHECKPOINT, "until"),
    "continue": (*_COMMON, *_CHECKPOINT),
    "wait": (*_COMMON, *_CHECKPOINT, "wait"),
    "complete": (*_COMMON, "output"),
    "fail": (*_COMMON, "error"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """A child to register: a task or an owned workflow."""

    key: str
    kind: Literal["task", "workflow"]
    program: Program
    work: Work


@dataclass(frozen=True, slots=True)
class WaitRequest:
    """An external wait to install.

    Attributes:
        duration_ms: Until the deadline; None for an event wait without one.
        action: Of an approval: the canonical action.
        proposed: Of an approval: the canonical proposal, or None.
    """

    kind: WaitKind
    key: str
    duration_ms: int | None
    action: bytes | None = None
    proposed: bytes | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of the right shape; members of other kinds have empty values."""

    kind: DecisionKind
    activation_id: str
    revision: int
    continuation: str = ""
    state: Packed = NULL
    commands: tuple[Command, ...] = ()
    until: tuple[str, ...] = ()
    wait: WaitRequest | None = None
    output: Packed = NULL
    error: tuple[str, str] = ("", "")


def parse_decision(value: object) -> Decision:
    """Read the output of a controller.

    Raises:
        InvalidInput: It is no decision.
    """
    pack(value, MAX_DECISION_BYTES, depth=ENVELOPE_DEPTH)
    kind = _kind(value)
    found = record(value, _MEMBERS[kind])
    integer(found["v"], 1, 1, path="$.v")
    activation_id = text(found["activation_id"], path="$.activation_id")
    revision = integer(found["revision"], 0, MAX_REVISION, path="$.revision")
    if kind == "complete":
        output = pack(found["output"], MAX_DECISION_BYTES, path="$.output")
        return Decision(kind, activation_id, revision, output=output)
    if kind == "fail":
        return Decision(
            kind, activation_id, revision, error=_parse_error(found["error"])
        )
    return Decision(
        kind,
        activation_id,
        revision,
        continuation=text(found["continuation"], path="$.continuation"),
        state=pack(found["state"], MAX_STATE_BYTES, path="$.state"),
        commands=_parse_commands(found["commands"]),
        until=_parse_until(found["until"]) if kind == "suspend" else (),
        wait=_parse_wait(found["wait"]) if kind == "wait" else None,
    )


def programs_of(value: object) -> set[Program]:
    """Return the programs that a controller's output names; none if it is unusable."""
    if not member(value, "commands"):
        return set()
    try:
        return {command.program for command in parse_decision(value).commands}
    except InvalidInput:
        return set()


def _kind(value: object) -> DecisionKind:
    kind = member(value, "kind")
    if type(kind) is str and kind in _MEMBERS:
        return cast("DecisionKind", kind)
    got = describe(value) if kind is None else describe(kind)
    raise InvalidInput.at("$.kind", " or ".join(sorted(_MEMBERS)), got)


def _parse_error(value: object) -> tuple[str, str]:
    found = record(value, ("kind", "message"), path="$.error")
    kind = text(found["kind"], path="$.error.kind")
    return kind, message(found["message"], path="$.error.message")


def _parse_commands(value: object) -> tuple[Command, ...]:
    items = array(value, 0, MAX_COMMANDS, path="$.commands")
    commands = tuple(
        _parse_command(item, f"$.commands[{index}]") for index, item in enumerate(items)
    )
    _require_distinct([command.key for command in commands], "$.commands")
    return commands


def _parse_command(value: object, path: str) -> Command:
    found = record(
        value,
        ("key", "program", "queue", "data"),
        ("kind", "retry_policy", "attempt_timeout_ms"),
        path=path,
    )
    kind = choice(found.get("kind", "task"), ("task", "workflow"), path=f"{path}.kind")
    work = Work.parse(found, path=path, limit=MAX_DECISION_BYTES)
    return Command(
        key=text(found["key"], path=f"{path}.key"),
        kind=cast('Literal["task", "workflow"]', kind),
        program=cast("Program", work.program),
        work=work,
    )


def _parse_until(value: object) -> tuple[str, ...]:
    items = array(value, 0, MAX_COMMANDS, path="$.until")
    keys = [text(key, path=f"$.until[{index}]") for index, key in enumerate(items)]
    _require_distinct(keys, "$.until")
    return tuple(keys)


def _require_distinct(keys: list[str], path: str) -> None:
    if len(set(keys)) != len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInput.at(path, "distinct keys", f"{twice!r} twice")


def _parse_wait(value: object) -> WaitRequest:
    kind = member(value, "kind")
    path = "$.wait"
    if kind == "event":
        found = record(value, ("kind", "key", "timeout_ms"), path=path)
        timeout = found["timeout_ms"]
        if timeout is not None:
            timeout = _duration(timeout, f"{path}.timeout_ms")
        return WaitRequest("event", text(found["key"], path=f"{path}.key"), timeout)
    if kind == "timer":
        found = record(value, ("kind", "key", "delay_ms"), path=path)
        delay = _duration(found["delay_ms"], f"{path}.delay_ms")
        return WaitRequest("timer", text(found["key"], path=f"{path}.key"), delay)
    if kind == "approval":
        return _parse_approval(value, path)
    raise InvalidInput.at(f"{path}.kind", "event, timer or approval", describe(kind))


def _parse_approval(value: object, path: str) -> WaitRequest:
    required = ("kind", "key", "action", "timeout_ms")
    found = record(value, required, ("proposed_arguments",), path=path)
    proposed = found.get("proposed_arguments")
    return WaitRequest(
        "approval",
        text(found["key"], path=f"{path}.key"),
        _duration(found["timeout_ms"], f"{path}.timeout_ms"),
        action=parse_action(found["action"], path=f"{path}.action").data,
        proposed=None
        if proposed is None
        else _arguments(proposed, f"{path}.proposed_arguments").data,
    )


def parse_action(value: object, *, path: str) -> Packed:
    """Return the canonical bytes of an approval action."""
    found = record(value, ("name", "version", "arguments"), path=path)
    text(found["name"], NAME_BYTES, path=f"{path}.name")
    text(found["version"], path=f"{path}.version")
    _arguments(found["arguments"], f"{path}.arguments")
    return pack(found, MAX_APPROVAL_BYTES, path=path, depth=ENVELOPE_DEPTH)


def _arguments(value: object, path: str) -> Packed:
    if type(value) is not dict:
        raise InvalidInput.at(path, "an object", describe(value))
    return pack(cast("JsonObject", value), MAX_APPROVAL_BYTES, path=path)


def _duration(value: object, path: str) -> int:
    return integer(value, 0, MAX_WAIT_MS, path=path)
