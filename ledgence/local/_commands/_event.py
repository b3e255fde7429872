"""The command ``event send``."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._complete import event_keys, workflows
from ledgence.local._commands._options import drive_options, place_options
from ledgence.local._commands._root import Group

__all__ = ["event"]


@click.group(cls=Group)
def event() -> None:
    """Send events to workflows."""


_SEND = """\b
Examples:
  ledgence-local event send last payment --data '{"amount": 120}'
  ledgence-local event send wf_0190 payment --file event.json --no-run
"""


@event.command("send", epilog=_SEND)
@click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflows)
@click.argument("key", shell_complete=event_keys)
@click.option(
    "--data",
    help="Its data: JSON, @FILE, or - for standard input.  [default: null]",
    metavar="JSON|@FILE|-",
)
@click.option("--type", "type_", help="Its type.", metavar="TEXT")
@click.option("--source", help="Where it comes from: a URI reference.", metavar="URI")
@click.option(
    "--id",
    "id_",
    help="Its id; with the same id and source it is recognised.  [default: a new one]",
    metavar="TEXT",
)
@click.option("--file", help="A whole CloudEvent as JSON instead.", metavar="FILE")
@drive_options
@place_options
def send(workflow_id: str, key: str, **given: Any) -> NoReturn:
    """Send an event to a workflow, and run it on.

    WORKFLOW is an id, the beginning of one, or `last`. The event is kept when the
    workflow does not wait for KEY yet.
    """
    from ledgence.local._operate import _record  # noqa: PLC0415 - --help must be quick

    parts = (given["data"], given["type_"], given["source"], given["id_"])
    if given["file"] is not None and any(one is not None for one in parts):
        raise click.UsageError("--file takes the whole event.")
    _record.send_event(workflow_id, key, given)
