"""The commands ``task ...``."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._complete import tasks
from ledgence.local._commands._options import (
    drive_options,
    list_options,
    place_options,
    work_options,
)
from ledgence.local._commands._root import Group

__all__ = ["task"]

_STATES = ("queued", "active", "succeeded", "failed", "cancelled")


@click.group(cls=Group)
def task() -> None:
    """Submit, watch and cancel tasks."""


_SUBMIT = """\b
Examples:
  ledgence-local task submit shop.py:handle --data '{"pieces": 2}'
  ledgence-local task submit invoice-issuer@1.2.0 --data @order.json --no-run
  ledgence-local task submit --file submission.json
"""


@task.command("submit", epilog=_SUBMIT)
@click.argument("program", required=False)
@click.option(
    "--file",
    help="A whole submission as JSON (idempotency_key, input, origin_trace).",
    metavar="FILE",
)
@work_options
@drive_options
@place_options
def submit(program: str | None, file: str | None, **given: Any) -> NoReturn:
    """Submit a task and run it to its end.

    PROGRAM is NAME or NAME@VERSION of a program that was published or is linked, or a
    target on disk, which is linked: path/to/program.py:function or a program directory.
    """
    from ledgence.local._operate import _record  # noqa: PLC0415 - --help must be quick

    if (program is None) == (file is None):
        raise click.UsageError("Give PROGRAM or --file FILE.")
    if file is not None:
        _record.submit_file(file, given)
    _record.submit_task(str(program), given)


@task.command("list")
@click.option("--state", help="Only in this state.", type=click.Choice(_STATES))
@list_options
@place_options
def list_(**given: Any) -> NoReturn:
    """List tasks, newest first; activations and children are among them."""
    from ledgence.local._operate import _call, _tasks  # noqa: PLC0415 - as above

    filters = _call.filters(given)
    _call.on_store(given, lambda session: _tasks.list_tasks(session, filters))


@task.command("status")
@click.argument("task_id", metavar="TASK", shell_complete=tasks)
@place_options
def status(task_id: str, **given: Any) -> NoReturn:
    """Show the status of a task.

    TASK is an id, the beginning of one, or `last`.
    """
    from ledgence.local._operate import _call, _tasks  # noqa: PLC0415 - as above

    _call.on_store(given, lambda session: _tasks.status(session, task_id))


@task.command("result")
@click.argument("task_id", metavar="TASK", shell_complete=tasks)
@place_options
def result(task_id: str, **given: Any) -> NoReturn:
    """Show status and outcome of a task, without waiting for them."""
    from ledgence.local._operate import _call, _tasks  # noqa: PLC0415 - as above

    _call.on_store(given, lambda session: _tasks.result(session, task_id))


@task.command("inspect")
@click.argument("task_id", metavar="TASK", shell_complete=tasks)
@place_options
def inspect(task_id: str, **given: Any) -> NoReturn:
    """Show what was submitted, and the program that is bound to it."""
    from ledgence.local._operate import _call, _tasks  # noqa: PLC0415 - as above

    _call.on_store(given, lambda session: _tasks.inspect(session, task_id))


@task.command("history")
@click.argument("task_id", metavar="TASK", shell_complete=tasks)
@click.option(
    "--after", default=0, help="Only after this sequence number.", metavar="N"
)
@place_options
def history(task_id: str, after: int, **given: Any) -> NoReturn:
    """Show what happened to a task, in order."""
    from ledgence.local._operate import _call, _tasks  # noqa: PLC0415 - as above

    _call.on_store(given, lambda session: _tasks.history(session, task_id, after))


@task.command("cancel")
@click.argument("task_id", metavar="TASK", shell_complete=tasks)
@drive_options
@place_options
def cancel(task_id: str, **given: Any) -> NoReturn:
    """Cancel a task; one that runs is stopped."""
    from ledgence.local._operate import _record  # noqa: PLC0415 - as above

    _record.cancel_task(task_id, given)
