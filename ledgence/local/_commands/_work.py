"""The command ``work``."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._options import host_options, place_options

__all__ = ["work"]


@click.command()
@click.argument("run_id", metavar="[WORKFLOW|TASK]", required=False)
@click.option(
    "--stay", help="Go on until interrupted; run what other commands record.",
    is_flag=True,
)  # fmt: skip
@host_options
@place_options
def work(run_id: str | None, **given: Any) -> NoReturn:
    """Run what the store has to run.

    With an id: until that workflow or task is over, or waits for something from
    outside. Without: until nothing can run now.
    """
    from ledgence.local._operate import _working  # noqa: PLC0415 - --help must be quick

    if run_id is not None and given["stay"]:
        raise click.UsageError("--stay is for all runs.")
    _working.work(run_id, given)
