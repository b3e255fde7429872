"""A recorded activation against what new code did in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from ledgence.local._engine._values import JsonObject, pack
from ledgence.local._frames import Result
from ledgence.local._replay._causes import causes_of
from ledgence.local._replay._errors import Difference, What
from ledgence.local._replay._shape import VALUE_BYTES, VALUE_DEPTH
from ledgence.local._text import shorten
from ledgence.worker.workflow._differences import differences

__all__ = ["Played", "compare"]

_ABSENT = "(absent)"
_COMMIT = "local_step.commit"
# What a WorkflowError says in its first line, and in the lines of its differences.
_CODE = re.compile(r"([a-z_]+): ")
_KEY = re.compile(r"\(key '([^']*)'")
_LINE = re.compile(r"  (\S.*?): expected (.*), got (.*)")


@dataclass(slots=True)
class Played:
    """What the code did.

    Attributes:
        requests: Operation and payload of everything it asked for.
        steps: The keys of the steps that it came to, None when nobody counted.
        result: How it ended, or the text of what ended its process.
    """

    requests: list[tuple[str, JsonObject]] = field(
        default_factory=list[tuple[str, JsonObject]]
    )
    steps: frozenset[str] | None = None
    result: Result | str = "nothing"

    @property
    def ended(self) -> bool:
        """Whether there is a decision.

        What failed did not come to all that it would do; the failure is told instead.
        """
        return isinstance(self.result, Result) and self.result.error is None


def compare(
    workflow_id: str, activation: JsonObject, played: Played
) -> list[Difference]:
    """Return every difference between a recorded activation and its replay."""
    found = [
        *_steps(activation, played),
        *_forks(activation, played),
        *_ending(activation["decision"], played.result),
    ]
    return [
        Difference(
            workflow_id=workflow_id,
            revision=activation["revision"],
            continuation=activation["continuation"],
            what=one.what,
            key=one.key,
            path=one.path,
            expected=one.expected,
            got=one.got,
            causes=causes_of(one.what, one.path, one.expected, one.got, one.code),
        )
        for one in found
    ]


@dataclass(frozen=True, slots=True)
class _Found:
    what: What
    key: str | None
    path: str
    expected: str
    got: str
    code: str | None = None


def _recorded(activation: JsonObject, operation: str) -> dict[str, JsonObject]:
    return {
        request["payload"]["key"]: request["payload"]
        for request in activation["requests"]
        if request["operation"] == operation
    }


def _steps(activation: JsonObject, played: Played) -> Iterator[_Found]:
    recorded = _recorded(activation, _COMMIT)
    for operation, payload in played.requests:
        if operation == _COMMIT and payload["key"] not in recorded:
            name = f"a call of {payload['callable']}"
            yield _Found("step", payload["key"], "$", _ABSENT, name)
    if played.steps is not None and played.ended:
        for key, record in recorded.items():
            if key not in played.steps:
                name = f"a call of {record['callable']}"
                yield _Found("step", key, "$", name, _ABSENT)


def _forks(activation: JsonObject, played: Played) -> Iterator[_Found]:
    recorded = _recorded(activation, "workflow.fork")
    made = {
        payload["key"]: payload
        for operation, payload in played.requests
        if operation == "workflow.fork"
    }
    for key in [*recorded, *(key for key in made if key not in recorded)]:
        left, right = recorded.get(key), made.get(key)
        if right is None and not played.ended:
            continue
        # Stores of older releases do not tell the branches of a fork.
        if left is None or right is None or left["branches"]:
            yield from _both("fork", key, left, right)


def _ending(decision: JsonObject, result: Result | str) -> Iterator[_Found]:
    expected = f"the decision {decision['kind']}"
    if isinstance(result, str):
        yield _Found("result", None, "$", expected, result)
    elif result.error is not None:
        yield from _error(expected, *result.error)
    else:
        yield from _decisions(decision, cast("JsonObject", result.output))


def _error(expected: str, kind: str, message: str) -> Iterator[_Found]:
    """Say what a failure says; that of a changed step is told field by field."""
    first, *lines = message.split("\n")
    code, key = _CODE.match(first), _KEY.search(first)
    name = None if code is None else code[1]
    changes = [one for one in map(_LINE.fullmatch, lines) if one is not None]
    if name == "binding_changed" and key is not None and changes:
        for change in changes:
            yield _Found("step", key[1], change[1], change[2], change[3], name)
        return
    got = shorten(f"{kind}: {first}", 200)
    yield _Found("result", None if key is None else key[1], "$", expected, got, name)


def _decisions(left: JsonObject, right: JsonObject) -> Iterator[_Found]:
    if left["kind"] != right["kind"]:
        expected, got = f"the decision {left['kind']}", f"the decision {right['kind']}"
        yield _Found("decision", None, "$.kind", expected, got)
        return
    yield from _commands(left.get("commands", []), right.get("commands", []))
    wait = cast("JsonObject", left.get("wait") or {})
    rest = [{k: v for k, v in one.items() if k != "commands"} for one in (left, right)]
    yield from _both("decision", wait.get("key"), *rest)


def _commands(left: list[JsonObject], right: list[JsonObject]) -> Iterator[_Found]:
    recorded = {one["key"]: one for one in left}
    made = {one["key"]: one for one in right}
    for key in [*recorded, *(key for key in made if key not in recorded)]:
        yield from _both("command", key, recorded.get(key), made.get(key))
    if set(recorded) == set(made) and list(recorded) != list(made):
        orders = [shorten(", ".join(one)) for one in (recorded, made)]
        yield _Found("decision", None, "$.commands", *orders)


def _both(
    what: What, key: str | None, left: JsonObject | None, right: JsonObject | None
) -> Iterator[_Found]:
    if left is None or right is None:
        texts = [_ABSENT if one is None else f"a {what}" for one in (left, right)]
        yield _Found(what, key, "$", *texts)
        return
    for change in differences(_canonical(left), _canonical(right)):
        yield _Found(what, key, change["path"], change["expected"], change["got"])


def _canonical(value: Any) -> bytes:
    return pack(value, VALUE_BYTES, depth=VALUE_DEPTH).data
