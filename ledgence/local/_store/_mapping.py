"""Records to statements and back: one table per record class, one text per need."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from ledgence.local._engine._rows import Row

__all__ = ["add", "change", "changed", "remove", "select", "values"]

R = TypeVar("R", bound=Row)

_COLUMNS: dict[type[Row], tuple[str, ...]] = {}
_TEXTS: dict[Hashable, str] = {}


def _columns(kind: type[Row]) -> tuple[str, ...]:
    """Return the columns of a record class, in the order of its fields."""
    found = _COLUMNS.get(kind)
    if found is None:
        found = _COLUMNS[kind] = tuple(field.name for field in fields(kind))
    return found


def select(kind: type[Row], where: str | None = None) -> str:
    """Return a statement that reads whole records; by key unless told otherwise."""
    text = _TEXTS.get(("select", kind, where))
    if text is None:
        clause = f"WHERE {_by_key(kind)}" if where is None else where
        text = f"SELECT {', '.join(_columns(kind))} FROM {kind.TABLE} {clause}"  # noqa: S608 # names of our own
        _TEXTS["select", kind, where] = text
    return text


def add(kind: type[Row]) -> str:
    """Return a statement that adds a record."""
    text = _TEXTS.get(("add", kind))
    if text is None:
        marks = ", ".join("?" * len(_columns(kind)))
        text = f"INSERT INTO {kind.TABLE} VALUES ({marks})"  # noqa: S608 # names of our own
        _TEXTS["add", kind] = text
    return text


def change(kind: type[Row], names: tuple[str, ...]) -> str:
    """Return a statement that sets these columns of a record."""
    text = _TEXTS.get(("change", kind, names))
    if text is None:
        sets = ", ".join(f"{name} = ?" for name in names)
        text = f"UPDATE {kind.TABLE} SET {sets} WHERE {_by_key(kind)}"  # noqa: S608 # names of our own
        _TEXTS["change", kind, names] = text
    return text


def remove(kind: type[Row]) -> str:
    """Return a statement that removes a record."""
    return f"DELETE FROM {kind.TABLE} WHERE {_by_key(kind)}"  # noqa: S608 # names of our own


def _by_key(kind: type[Row]) -> str:
    return " AND ".join(f"{name} = ?" for name in kind.KEY)


def values(row: Row) -> list[Any]:
    """Return the fields of a record in the order of its columns."""
    return [getattr(row, name) for name in _columns(type(row))]


def changed(row: R, news: Mapping[str, object]) -> R:
    """Return a record with some fields changed; the names must be fields."""
    # As dataclasses.replace, which inspects the class anew every time.
    kind = type(row)
    values: list[Any] = [
        news[name] if name in news else getattr(row, name) for name in _columns(kind)
    ]
    return kind(*values)
