"""The commands ``approval ...``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import click

from ledgence.local._commands._complete import approval_keys, workflows
from ledgence.local._commands._options import drive_options, place_options
from ledgence.local._commands._root import Group

__all__ = ["approval"]


@click.group(cls=Group)
def approval() -> None:
    """Look at requests for approval and decide them."""


@approval.command("list")
@click.argument(
    "workflow_id", metavar="[WORKFLOW]", required=False, shell_complete=workflows
)
@click.option("--after-key", help="Only keys after this one.", metavar="KEY")
@click.option(
    "--limit", default=10, metavar="N", show_default=True, type=click.IntRange(1, 10)
)
@place_options
def list_(
    workflow_id: str | None, after_key: str | None, limit: int, **given: Any
) -> NoReturn:
    """List the requests of a workflow, or all that wait for a decision.

    WORKFLOW is an id, the beginning of one, or `last`.
    """
    from ledgence.local._operate import (  # noqa: PLC0415 - --help must be quick
        _approvals,
        _call,
    )

    if workflow_id is None:
        _call.on_store(given, _approvals.list_pending)
    _call.on_store(
        given,
        lambda session: _approvals.list_approvals(
            session, workflow_id, after_key, limit
        ),
    )


@approval.command("inspect")
@click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflows)
@click.argument("key", shell_complete=approval_keys)
@place_options
def inspect(workflow_id: str, key: str, **given: Any) -> NoReturn:
    """Show a request with the exact action and arguments."""
    from ledgence.local._operate import _approvals, _call  # noqa: PLC0415 - as above

    _call.on_store(given, lambda session: _approvals.inspect(session, workflow_id, key))


def _decision(name: str, text: str) -> Callable[..., None]:
    """Make the command that decides in one way."""

    @approval.command(name, help=text)
    @click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflows)
    @click.argument("key", shell_complete=approval_keys)
    @click.option("--reviewer", help="[default: the user's name]", metavar="NAME")
    @click.option("--reason", metavar="TEXT")
    @click.option(
        "--decision-id", help="[default: made of the decision]", metavar="TEXT"
    )
    @drive_options
    @place_options
    def command(workflow_id: str, key: str, **given: Any) -> NoReturn:
        from ledgence.local._operate import _record  # noqa: PLC0415 - as above

        _record.decide_approval(workflow_id, key, name, given)

    return command


approve = _decision("approve", "Approve exactly what is asked for, and run on.")
reject = _decision("reject", "Reject what is asked for, and run on.")
