"""Options that several commands have, and the types of their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

__all__ = [
    "Seconds",
    "as_json",
    "drive_options",
    "host_options",
    "list_options",
    "place_options",
    "work_options",
]

F = TypeVar("F", bound=Callable[..., Any])

_DAY_SECONDS = 86_400

# Generic only in newer releases of click, and there only for checkers.
if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
else:
    _FloatType = click.ParamType


class Seconds(_FloatType):
    """A finite time above zero, and of at most a day unless said otherwise."""

    name = "seconds"

    def __init__(self, most: int = _DAY_SECONDS) -> None:
        self._most = most

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or say what is allowed."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= self._most:  # refuses what is not a number, too
            most = "a day" if self._most == _DAY_SECONDS else str(self._most)
            self.fail(f"{value!r} is not a number of seconds up to {most}", param, ctx)
        return seconds


class Delay(click.FloatRange):
    """A range that refuses what is not a number."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or say what is allowed."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return number


def _add(command: F, *options: Callable[[F], F]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def as_json(command: F) -> F:
    """Add the choice between tables and JSON."""
    text = "Print JSON instead of tables."
    return click.option("--json", "as_json", help=text, is_flag=True)(command)


def place_options(command: F) -> F:
    """Add where the records are and whose they are."""
    return _add(
        command,
        click.option(
            "--store",
            default=".ledgence/local.db",
            envvar="LEDGENCE_LOCAL_STORE",
            help="The store file; programs are kept beside it.",
            metavar="PATH",
            show_default=True,
            show_envvar=True,
        ),
        click.option(
            "--tenant",
            default="local",
            help="Whose runs they are.",
            metavar="ID",
            show_default=True,
        ),
        click.option(
            "--namespace",
            default="default",
            help="Which part of them.",
            metavar="ID",
            show_default=True,
        ),
        as_json,
    )


def drive_options(command: F) -> F:
    """Add how programs are run, or not, after a command was recorded."""
    text = "Only record the command; run nothing."
    return _add(
        host_options(command), click.option("--no-run", help=text, is_flag=True)
    )


def host_options(command: F) -> F:
    """Add how programs are run."""
    return _add(
        command,
        click.option(
            "--program",
            "programs",
            help="A program that may be needed: a directory with a manifest, or"
            " NAME[@VERSION]=path/to/program.py:function. It is remembered in the"
            " store. Repeatable.",
            metavar="[NAME=]TARGET",
            multiple=True,
        ),
        click.option(
            "--slots",
            default=4,
            help="Programs that run at once.",
            metavar="N",
            show_default=True,
            type=click.IntRange(1, 64),
        ),
        click.option("--python", help="The interpreter to use.", metavar="PATH"),
        click.option(
            "-q",
            "--quiet",
            help="Show no progress and no program output.",
            is_flag=True,
        ),
        click.option(
            "-v", "--verbose", help="Show the frames of the runners.", is_flag=True
        ),
    )


def work_options(command: F) -> F:
    """Add what a task or a workflow is submitted with."""
    return _add(
        command,
        click.option(
            "--data",
            default="null",
            help="Its data: JSON, @FILE, or - for standard input.",
            metavar="JSON|@FILE|-",
            show_default=True,
        ),
        click.option(
            "--key",
            help="The idempotency key: the same submission again is recognised."
            "  [default: a new one]",
            metavar="KEY",
        ),
        click.option("--queue", default="default", metavar="NAME", show_default=True),
        click.option("--correlation-key", metavar="TEXT"),
        click.option(
            "--max-attempts",
            help="[default: 3]",
            metavar="N",
            type=click.IntRange(1, 1000),
        ),
        click.option(
            "--retry-delay",
            help="Between attempts; at most a day.  [default: 5]",
            metavar="SECONDS",
            type=Delay(0, _DAY_SECONDS),
        ),
        click.option(
            "--attempt-timeout",
            help="For one attempt, from a minute to a day.  [default: 300]",
            metavar="SECONDS",
            type=Delay(60, _DAY_SECONDS),
        ),
    )


def list_options(command: F) -> F:
    """Add the filters and the page of a list, newest first."""
    return _add(
        command,
        click.option("--queue", metavar="NAME"),
        click.option("--correlation-key", metavar="TEXT"),
        click.option(
            "--submitted-from", help="Unix milliseconds.", metavar="MS", type=int
        ),
        click.option(
            "--submitted-until", help="Unix milliseconds.", metavar="MS", type=int
        ),
        click.option(
            "--limit",
            default=50,
            metavar="N",
            show_default=True,
            type=click.IntRange(1, 100),
        ),
        click.option("--cursor", help="Go on after an earlier page.", metavar="CURSOR"),
    )
