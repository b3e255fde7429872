"""Answers on standard output: one line of JSON, or tables for people."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import click

from ledgence.local._text import shorten

__all__ = ["as_time", "compact", "facts", "in_words", "show_json", "table"]

# Wide enough that nothing is folded where nobody's window has an end.
_UNBOUNDED = 10_000
_VALUE_SHOWN = 2_000


def show_json(value: object) -> None:
    """Print a value as one line of JSON."""
    click.echo(compact(value))


def compact(value: object, limit: int | None = None) -> str:
    """Return JSON without spaces; with a limit it is cut."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if limit is None else shorten(text, limit)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, error: bool = False
) -> None:
    """Print rows under their column names; None is a dash.

    Args:
        columns: The names.
        rows: The cells.
        error: Print on standard error.
    """
    # Imported here: for JSON the display library is never needed.
    from rich.console import Console  # noqa: PLC0415 # slow to load
    from rich.table import Table  # noqa: PLC0415 # slow to load
    from rich.text import Text  # noqa: PLC0415 # slow to load

    shown = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        shown.add_column(name, overflow="fold")
    for row in rows:
        shown.add_row(*(Text("-" if one is None else str(one)) for one in row))
    width = None if os.isatty(2 if error else 1) else _UNBOUNDED
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(shown)
    lines = captured.get().splitlines()
    click.echo("\n".join(line.rstrip() for line in lines), err=error)


def facts(values: Mapping[str, object]) -> None:
    """Print names and values, one pair a line; what is None is left out."""
    shown = {name: one for name, one in values.items() if one is not None}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        text = value if isinstance(value, str) else compact(value, _VALUE_SHOWN)
        click.echo(f"{name:{width}}  {text}")


def as_time(ms: int | None) -> str | None:
    """Return a time for people, in their time zone."""
    if ms is None:
        return None
    when = datetime.fromtimestamp(ms / 1000, tz=UTC).astimezone()
    return when.strftime("%Y-%m-%d %H:%M:%S")


def in_words(ms: int) -> str:
    """Return a span of time for people: the two largest units."""
    if ms < 1000:
        return f"{ms} ms"
    parts: list[str] = []
    seconds = ms // 1000
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}")
        elif parts:
            break
    return " ".join(parts[:2])
