"""A history in memory and as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._inspection import Inspection
from ledgence.local._engine._values import JsonObject, parse
from ledgence.local._replay._errors import HistoryError
from ledgence.local._replay._format import EXPORT_HINT, FORMAT, VERSION, check_format
from ledgence.local._replay._operations import Operation, operations_of

__all__ = ["FILE_BYTES", "History"]

# A history of all that a workflow may do is far smaller; what never ends is not read.
FILE_BYTES: Final = 268_435_456
_CHUNK: Final = 1_048_576


class History:
    """What happened to a workflow or a task, from the first moment to an export.

    Args:
        data: The JSON object of an export; members that are not known are kept.

    Raises:
        HistoryError: It is no history, a damaged one, or that of a newer release;
            ``details`` has path, expected and got.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        check_format(data)
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
            HistoryError: There is no such file, it has more than 256 MiB, or it holds
                no history.
        """
        try:
            data = parse(_read(path))
        except OSError as error:
            raise _unreadable(path, error.strerror or str(error)) from error
        except InvalidInput as error:
            raise _unreadable(path, error.summary) from error
        try:
            return cls(data)
        except HistoryError as error:
            error.details = {"file": os.fspath(path), **error.details}
            raise

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


def _envelope(kind: str, body: JsonObject) -> JsonObject:
    return {"format": FORMAT, "version": VERSION, "kind": kind, **body}


def _read(path: str | os.PathLike[str]) -> bytes:
    data = bytearray()
    with Path(path).open("rb") as file:
        while len(data) <= FILE_BYTES and (some := file.read(_CHUNK)):
            data += some
    if len(data) > FILE_BYTES:
        raise _unreadable(path, f"it has more than {FILE_BYTES} bytes")
    return bytes(data)


def _unreadable(path: str | os.PathLike[str], reason: str) -> HistoryError:
    return HistoryError(
        f"the history cannot be read: {reason}",
        code="history_unreadable",
        details={"path": os.fspath(path)},
        hint=EXPORT_HINT,
    )
