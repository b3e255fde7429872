"""What an exported history is made of: as much as is read, shown and replayed.

``ledgence.local._engine._export`` says what else there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ledgence.local._replay._errors import HistoryError
from ledgence.local._replay._shape import (
    Misshapen,
    Place,
    Shape,
    anything,
    array,
    by_member,
    flag,
    maybe,
    members,
    number,
    object_,
    text,
    value,
)
from ledgence.worker.workflow._fields import describe

__all__ = ["EXPORT_HINT", "FORMAT", "VERSION", "check_format", "refusal"]

EXPORT_HINT: Final = (
    "export one: history.save(path), or `ledgence-local history export`"
)
FORMAT: Final = "ledgence.history"
VERSION: Final = 1


def _all(*shapes: Shape) -> Shape:
    def check(found: Any, place: Place) -> None:
        for shape in shapes:
            shape(found, place)

    return check


def _inner(name: str) -> Shape:
    """A history inside a history: its shape is made of the one that names it."""

    def check(found: Any, place: Place) -> None:
        _HISTORIES[name](found, place)

    return check


def _run(kind: str, more: Mapping[str, Shape]) -> dict[str, Shape]:
    return {
        kind: members({f"{kind}_id": text, "state": text}),
        "descriptor": _all(value, members({"program": members({"id": text})})),
        "input": members({"data": value}),
        "outcome": maybe(_all(object_, value)),
        **more,
    }


def _request(payload: Mapping[str, Shape]) -> Shape:
    return members({"at": number, "payload": _all(value, members({**_KEY, **payload}))})


def _child(kind: str) -> Shape:
    return members({f"{kind}_state": text, "history": _inner(kind)})


_KEY: Final = {"key": text}
_STEP: Final = {"callable": text, "input": anything, "output": anything}
_REQUEST: Final = by_member(
    "operation",
    {
        "local_step.commit": _request(_STEP),
        "workflow.fork": _request({"branches": array(members(_KEY))}),
    },
)
_DECISION: Final = _all(
    members(
        {"kind": text},
        {
            "commands": array(members(_KEY)),
            "wait": maybe(members({}, _KEY)),
        },
    ),
    value,
)
_ACTIVATION: Final = members(
    {
        "activation_id": text,
        "revision": number,
        "continuation": text,
        "applied_at": maybe(number),
        "error": maybe(text),
        "state": text,
        "attempts": array(anything),
        "event": maybe(members({"id": text, "ldgattemptid": text})),
        "context": object_,
        "requests": array(_REQUEST),
        "decision": maybe(_DECISION),
    }
)
_CHILD: Final = _all(
    members(
        {
            "command_key": text,
            "branch": flag,
            "creating_revision": number,
            "registered_at": number,
            "terminal_at": maybe(number),
        }
    ),
    by_member("kind", {kind: _child(kind) for kind in ("task", "workflow")}),
)
_WAIT: Final = members(
    {
        **_KEY,
        "kind": text,
        "ended": maybe(text),
        "activation_id": text,
        "installed_at": number,
        "closed_at": maybe(number),
    }
)
_EVENT: Final = members(
    {**_KEY, "pending": flag, "accepted_at": number, "event": value}
)
_APPROVAL: Final = members({**_KEY, "action": value, "decision": value})
_WORKFLOW: Final = members(
    _run(
        "workflow",
        {"activations": array(_ACTIVATION), "children": array(_CHILD)},
    ),
    {"waits": array(_WAIT), "events": array(_EVENT), "approvals": array(_APPROVAL)},
)
_TASK: Final = members(_run("task", {"attempts": array(anything)}))
_HISTORIES: Final = {"workflow": _WORKFLOW, "task": _TASK}
_HISTORY: Final = by_member("kind", _HISTORIES)


def check_format(found: object) -> None:
    """Check that a value is an exported history that this release can use.

    Raises:
        HistoryError: ``history_format``, or ``history_newer``.
    """
    if not isinstance(found, Mapping):
        raise refusal("$", "an object", describe(found))
    data = dict(cast("Mapping[str, Any]", found))
    _check_version(data)
    try:
        _HISTORY(data, ())
    except Misshapen as error:
        raise refusal(error.path, error.expected, error.got) from error
    except RecursionError as error:
        raise refusal("$", "children inside children", "too many") from error


def _check_version(data: Mapping[str, Any]) -> None:
    if data.get("format") != FORMAT:
        raise refusal("$.format", f'"{FORMAT}"', describe(data.get("format")))
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise refusal("$.version", "an integer from 1", describe(version))
    if version > VERSION:
        raise HistoryError(
            f"the history has version {version}, this release knows {VERSION}",
            code="history_newer",
            hint="use the release that wrote it, or a newer one",
        )


def refusal(path: str, expected: str, got: str) -> HistoryError:
    """Make the error for something that no export writes."""
    return HistoryError(
        "this is no exported history, or a damaged one",
        code="history_format",
        details={"path": path, "expected": expected, "got": got},
        hint=EXPORT_HINT,
    )
