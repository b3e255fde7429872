"""The commands ``workflow ...``."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._complete import workflows
from ledgence.local._commands._options import (
    drive_options,
    list_options,
    place_options,
    work_options,
)
from ledgence.local._commands._root import Group

__all__ = ["workflow"]

_STATES = (
    *("running", "waiting", "failing", "cancelling"),
    *("succeeded", "failed", "cancelled"),
)


@click.group(cls=Group)
def workflow() -> None:
    """Start, watch and cancel workflows."""


_START = """\b
Examples:
  ledgence-local workflow start flow.py:handle --data '{"user": 7}'
  ledgence-local workflow start my-flow@1.2.0 --key order-17 --no-run
"""


@workflow.command("start", epilog=_START)
@click.argument("program")
@work_options
@drive_options
@place_options
def start(program: str, **given: Any) -> NoReturn:
    """Start a workflow and run it.

    It runs until it is over, or until it waits for something from outside.

    PROGRAM is NAME or NAME@VERSION of a program that was published or is linked, or a
    target on disk, which is linked: path/to/program.py:function or a program directory.
    """
    from ledgence.local._operate import _record  # noqa: PLC0415 - --help must be quick

    _record.start_workflow(program, given)


@workflow.command("list")
@click.option("--state", help="Only in this state.", type=click.Choice(_STATES))
@click.option("--all", "owned", help="Also those that another owns.", is_flag=True)
@list_options
@place_options
def list_(owned: bool, **given: Any) -> NoReturn:  # noqa: FBT001 - click calls it
    """List workflows, newest first."""
    from ledgence.local._operate import _call, _workflows  # noqa: PLC0415 - as above

    filters = _call.filters(given)
    if not owned:
        filters["root_only"] = True
    _call.on_store(given, lambda session: _workflows.list_workflows(session, filters))


@workflow.command("show")
@click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflows)
@place_options
def show(workflow_id: str, **given: Any) -> NoReturn:
    """Show what a workflow has done, what it does and what it waits for.

    WORKFLOW is an id, the beginning of one, or `last`.
    """
    from ledgence.local._operate import _call, _overview  # noqa: PLC0415 - as above

    _call.on_store(given, lambda session: _overview.show(session, workflow_id))


@workflow.command("events")
@click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflows)
@click.option(
    "--after", default=0, help="Only after this sequence number.", metavar="N"
)
@click.option("--inbox", help="The events from outside, with their data.", is_flag=True)
@place_options
def events(
    workflow_id: str,
    after: int,
    inbox: bool,  # noqa: FBT001 - click calls it
    **given: Any,
) -> NoReturn:
    """Show what happened to a workflow, in order."""
    from ledgence.local._operate import _call, _workflows  # noqa: PLC0415 - as above

    if inbox:
        _call.on_store(given, lambda session: _workflows.inbox(session, workflow_id))
    _call.on_store(
        given, lambda session: _workflows.events(session, workflow_id, after)
    )


@workflow.command("cancel")
@click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflows)
@drive_options
@place_options
def cancel(workflow_id: str, **given: Any) -> NoReturn:
    """Cancel a workflow and everything that it owns."""
    from ledgence.local._operate import _record  # noqa: PLC0415 - as above

    _record.cancel_workflow(workflow_id, given)
