"""A history in memory and as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._inspection import Inspection
from ledgence.local._engine._values import JsonObject, parse
from ledgence.local._replay._errors import HistoryError
from ledgence.local._replay._operations import Operation, operations_of

__all__ = ["History", "well_formed"]

_EXPORT = "export one: history.save(path), or `ledgence-local history export`"
FORMAT: Final = "ledgence.history"
VERSION: Final = 1
_BODY = {"workflow": ("activations", "children"), "task": ("attempts",)}


class History:
    """What happened to a workflow or a task, from the first moment to an export.

    Args:
        data: The JSON object of an export; members that are not known are kept.

    Raises:
        HistoryError: It is no history, or that of a newer release.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        _check(data)
        self._data = dict(data)

    @classmethod
    def of_workflow(cls, look: Inspection, request: JsonObject) -> History:
        """Read the history of a workflow; ``request`` has scope and workflow_id."""
        return cls(_envelope("workflow", look.export_workflow(request)))

    @classmethod
    def of_task(cls, look: Inspection, request: JsonObject) -> History:
        """Read the history of a task; ``request`` has scope and task_id."""
        return cls(_envelope("task", look.export_task(request)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> History:
        """Read an exported file.

        Raises:
            HistoryError: There is no such file, or it holds no history.
        """
        try:
            data = parse(Path(path).read_bytes())
        except (OSError, InvalidInput) as error:
            reason = error.strerror if isinstance(error, OSError) else error.summary
            raise HistoryError(
                f"the history cannot be read: {reason}",
                code="history_unreadable",
                details={"path": os.fspath(path)},
                hint=_EXPORT,
            ) from error
        return cls(data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file; the same history always makes the same bytes."""
        Path(path).write_text(self.dumps(), encoding="utf-8")

    def dumps(self) -> str:
        """Return it as indented JSON, to be read and compared line by line."""
        return json.dumps(self._data, ensure_ascii=False, indent=1) + "\n"

    def to_json(self) -> JsonObject:
        """Return the JSON object; do not change it."""
        return self._data

    @property
    def kind(self) -> str:
        """``workflow`` or ``task``."""
        return cast("str", self._data["kind"])

    @property
    def id(self) -> str:
        """The id of the workflow or task."""
        return cast("str", self._data[self.kind][f"{self.kind}_id"])

    @property
    def program(self) -> str:
        """The id of its program."""
        return cast("str", self._data["descriptor"]["program"]["id"])

    @property
    def state(self) -> str:
        """Its state when the history was read."""
        return cast("str", self._data[self.kind]["state"])

    @property
    def outcome(self) -> JsonObject | None:
        """Its outcome, None until it has ended."""
        return cast("JsonObject | None", self._data["outcome"])

    @property
    def activations(self) -> list[JsonObject]:
        """The activations of a workflow by revision; none for a task."""
        return cast("list[JsonObject]", self._data.get("activations", []))

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Steps, forks, children and waits in the order in which they began."""
        with well_formed():
            return operations_of(self._data)

    def operation(
        self, key: str, *, kind: str | None = None, revision: int | None = None
    ) -> Operation:
        """Return the operation with this key.

        Args:
            key: Its key.
            kind: Its kind, where a step and a child, say, have the same key.
            revision: Its activation, where several have a step of this key.

        Raises:
            HistoryError: None or several; it says what is near.
        """
        found = [
            one
            for one in self.operations
            if one.key == key
            and kind in (None, one.kind)
            and revision in (None, one.revision)
        ]
        if len(found) != 1:
            raise self._ambiguous(key, found) if found else self._unknown(key, kind)
        return found[0]

    def child(self, key: str) -> History:
        """Return the history of a child.

        Raises:
            HistoryError: No child has this key.
        """
        for child in self._data.get("children", []):
            if child["command_key"] == key:
                return History(_envelope(child["kind"], child["history"]))
        raise self._unknown(key, "child")

    def _unknown(self, key: str, kind: str | None) -> HistoryError:
        import difflib  # noqa: PLC0415 - only when something was not found

        keys = list(dict.fromkeys(one.key for one in self.operations))
        near = difflib.get_close_matches(key, keys, 3, 0.5)
        same = [one.kind for one in self.operations if one.key == key]
        if same:
            hint = f"{key!r} is of kind {' and '.join(dict.fromkeys(same))}"
        elif near:
            hint = f"did you mean {' or '.join(map(repr, near))}?"
        else:
            hint = f"there are {', '.join(map(repr, keys[:12])) or 'none at all'}"
        return HistoryError(
            f"the history has no {kind or 'operation'} {key!r}",
            code="operation_not_found",
            details={"key": key},
            hint=hint,
        )

    def _ambiguous(self, key: str, found: list[Operation]) -> HistoryError:
        places = [f"{one.kind} of activation {one.revision}" for one in found[:12]]
        return HistoryError(
            f"the key {key!r} stands for {len(found)} operations",
            code="operation_ambiguous",
            details={"key": key, "operations": ", ".join(places)},
            hint="give kind= or revision= as well",
        )

    def __repr__(self) -> str:
        """Return what it is, not what it holds."""
        return f"<History of {self.kind} {self.id}: {self.state}>"


@contextmanager
def well_formed() -> Generator[None]:
    """Refuse a history in which somebody has deleted what the block reads.

    Raises:
        HistoryError: A member is missing.
    """
    try:
        yield
    except KeyError as error:
        raise _refuse(f"the member {error.args[0]!r}", "none") from error


def _envelope(kind: str, body: JsonObject) -> JsonObject:
    return {"format": FORMAT, "version": VERSION, "kind": kind, **body}


def _check(data: object) -> None:
    if not isinstance(data, Mapping):
        raise _refuse("a JSON object", type(data).__name__)
    found = cast("Mapping[str, Any]", data)
    if found.get("format") != FORMAT:
        raise _refuse(f'"format": "{FORMAT}"', repr(found.get("format"))[:80])
    version = found.get("version")
    if type(version) is not int or version < 1:
        raise _refuse("a version from 1", repr(version)[:80])
    if version > VERSION:
        raise HistoryError(
            f"the history has version {version}, this release knows {VERSION}",
            code="history_newer",
            hint="use the release that wrote it, or a newer one",
        )
    _check_body(found)


def _check_body(found: Mapping[str, Any]) -> None:
    kind = found.get("kind")
    if kind not in _BODY:
        raise _refuse("kind workflow or task", repr(kind)[:80])
    members = (kind, "descriptor", "input", "outcome", *_BODY[cast("str", kind)])
    missing = [name for name in members if name not in found]
    if missing:
        raise _refuse(f"the member {missing[0]}", "none")


def _refuse(expected: str, got: str) -> HistoryError:
    return HistoryError(
        "this is no exported history",
        code="history_format",
        details={"expected": expected, "got": got},
        hint=_EXPORT,
    )
