"""From a command's function to an exit code, whatever happens."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import click

from ledgence.local._errors import Interrupted, LocalError
from ledgence.local._exit import ExitCode, exit_code_of, exit_code_of_signal
from ledgence.local._operate._session import Place, Session

__all__ = ["call", "complain", "filters", "on_store"]

_FILTERS = ("state", "queue", "correlation_key", "submitted_from", "submitted_until")


def on_store(
    given: Mapping[str, Any],
    work: Callable[[Session], int | None],
    *,
    create: bool = False,
) -> NoReturn:
    """Call ``work`` with the store that the options name, and end the command."""

    def opened() -> int | None:
        with Session(Place.of(given), create=create) as session:
            return work(session)

    call(opened, as_json=given["as_json"])


def filters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a list request that were given."""
    names = (*_FILTERS, "limit", "cursor")
    return {name: given[name] for name in names if given[name] is not None}


def call(work: Callable[[], int | None], *, as_json: bool) -> NoReturn:
    """Call ``work`` and end the command with the exit code that it returns.

    Args:
        work: None stands for success.
        as_json: Print an error as a JSON object.
    """
    try:
        code = work() or ExitCode.SUCCESS
    except LocalError as error:
        complain(error, as_json=as_json)
        code = exit_code_of(error)
    except Interrupted as stop:
        code = exit_code_of_signal(stop.signal)
    raise click.exceptions.Exit(int(code))


def complain(error: LocalError, *, as_json: bool) -> None:
    """Print an error on standard error."""
    if not as_json:
        click.echo(f"ledgence-local: {error}", err=True)
        return
    body: dict[str, Any] = {"code": error.code, "message": error.summary}
    if error.details:
        body["details"] = {name: _plain(one) for name, one in error.details.items()}
    if error.hint is not None:
        body["hint"] = error.hint
    sys.stdout.flush()
    click.echo(json.dumps({"error": body}, ensure_ascii=False), err=True)


def _plain(value: object) -> object:
    return value if isinstance(value, (str, int, float, bool)) else str(value)
