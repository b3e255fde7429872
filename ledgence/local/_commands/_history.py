"""The commands ``history ...``."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._options import Seconds, as_json, place_options
from ledgence.local._commands._root import Group

__all__ = ["history"]

_SECONDS = 60.0


@click.group(cls=Group)
def history() -> None:
    """Export histories, and replay them against other code."""


@history.command("export")
@click.argument("run_id", metavar="WORKFLOW|TASK")
@click.option(
    "-o", "--output", help="The file.  [default: standard output]", metavar="FILE"
)
@place_options
def export(run_id: str, output: str | None, **given: Any) -> NoReturn:
    """Export the whole history of a workflow or a task as JSON.

    The id may be shortened; `last` is the newest workflow.
    """
    from ledgence.local._operate import (  # noqa: PLC0415 - --help must be quick
        _call,
        _histories,
    )

    _call.on_store(given, lambda session: _histories.export(session, run_id, output))


@history.command("replay")
@click.argument("file")
@click.argument("target")
@click.option(
    "--program",
    "programs",
    help="The code of an owned workflow by its name. Repeatable.",
    metavar="NAME=TARGET",
    multiple=True,
)
@click.option(
    "--timeout",
    default=_SECONDS,
    help="For each activation.",
    metavar="SECONDS",
    show_default=True,
    type=Seconds(),
)
@click.option(
    "--fresh", help="Give every activation a process of its own.", is_flag=True
)
@click.option("--python", help="The interpreter to use.", metavar="PATH")
@as_json
def replay(file: str, target: str, **given: Any) -> NoReturn:
    """Replay an exported history against the code of TARGET.

    Every activation is played to the code as it was recorded; what the code asks for
    and decides must be what the history says. A difference is exit code 1, a file
    that cannot be used exit code 2.
    """
    from ledgence.local._operate import _histories  # noqa: PLC0415 - as above

    _histories.replay(file, target, given)
