"""The command ``check``."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._options import Seconds, as_json
from ledgence.local._limits import READY_SECONDS

__all__ = ["check"]


@click.command()
@click.argument("target")
@click.option(
    "--protocol",
    help="The runner protocol.  [default: the manifest's, or 3]",
    type=click.Choice(["1", "2", "3"]),
)
@click.option(
    "--start-timeout",
    default=READY_SECONDS,
    help="For the start of the process.",
    metavar="SECONDS",
    show_default=True,
    type=Seconds(),
)
@click.option("--python", help="The interpreter to use.", metavar="PATH")
@as_json
def check(target: str, **given: Any) -> NoReturn:
    """Load the handler of TARGET as a worker would, without running it.

    Finds errors of registration: a manifest that is not valid, a module that cannot be
    imported, a handler that is missing or cannot be called.
    """
    from ledgence.local._operate import (  # noqa: PLC0415 - --help must be quick
        _checking,
    )

    _checking.check(target, given)
