"""The commands of ``ledgence-local`` and their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from ledgence.local._exit import exit_code_of_signal
from ledgence.local._limits import ATTEMPT_SECONDS, READY_SECONDS

__all__ = ["cli"]


class _Group(click.Group):
    """A group with the exit code of Ctrl-C, and proposals for misspelt commands."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C is exit code 130, not click's 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(exit_code_of_signal(None)) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or propose the one that was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # noqa: PLC0415 - only for misspelt commands

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1)
            if not near or "mean" in error.message:
                raise
            text = f"{error.message} Did you mean {near[0]!r}?"
            raise click.UsageError(text, ctx) from error


def _print_version(ctx: click.Context, _param: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        from importlib import metadata  # noqa: PLC0415 - only for this option

        try:
            version = metadata.version("ledgence-worker")
        except metadata.PackageNotFoundError:
            version = "(not installed as a distribution)"
        click.echo(f"ledgence-local {version}")
        ctx.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    callback=_print_version,
    expose_value=False,
    help="Show the version and exit.",
    is_eager=True,
    is_flag=True,
)
def cli() -> None:
    """Run Ledgence programs on this machine."""


# Generic only in newer releases of click, and there only for checkers.
if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
else:
    _FloatType = click.ParamType


class _Seconds(_FloatType):
    """A finite time above zero and of at most a day."""

    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or say what is allowed."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= _DAY_SECONDS:  # refuses what is not a number, too
            self.fail(f"{value!r} is not a number of seconds up to a day", param, ctx)
        return seconds


_DAY_SECONDS = 86_400
_EXAMPLES = """\b
Examples:
  ledgence-local run program.py:handle --data '{"name": "Ada"}'
  ledgence-local run program.py:handle --events deliveries.jsonl --timeout 5
  ledgence-local run my-program/ --data @order.json --pretty -v
  ledgence-local run flow.py:handle --workflow --data 3

\b
Output: one JSON object a run on stdout, with "run", "status" and "output" or
"error". Program output, logs and tracebacks go to stderr as "[run N] ...".

\b
Exit codes, with several runs the highest that occurred:
  0  every run succeeded          4  refused start, protocol fault, dead process
  1  the program failed           5  time-out
  2  bad usage or data          130  interrupted
  3  invalid output
"""


@cli.command(epilog=_EXAMPLES)
@click.argument("target")
@click.option(
    "--data",
    help="The data of one event: JSON, @FILE, or - for standard input."
    "  [default: null]",
    metavar="JSON|@FILE|-",
    multiple=True,
)
@click.option(
    "--events",
    help="Many events: one JSON value a line, - for standard input.",
    metavar="FILE",
    multiple=True,
)
@click.option(
    "--workflow",
    help="Send each event as the first activation of a workflow, acknowledge its"
    " requests, and print its decision.",
    is_flag=True,
)
@click.option(
    "--protocol",
    help="The runner protocol.  [default: the manifest's, or 3]",
    type=click.Choice(["1", "2", "3"]),
)
@click.option(
    "--timeout",
    default=ATTEMPT_SECONDS,
    help="For each event, a start of the process included.",
    metavar="SECONDS",
    show_default=True,
    type=_Seconds(),
)
@click.option(
    "--start-timeout",
    default=READY_SECONDS,
    help="For a start of the process.",
    metavar="SECONDS",
    show_default=True,
    type=_Seconds(),
)
@click.option("--python", help="The interpreter to use.", metavar="PATH")
@click.option("--pretty", help="Indent the results.", is_flag=True)
@click.option("--observe", help="Add the runner's measurements.", is_flag=True)
@click.option(
    "-v", "--verbose", help="Show the frames and whole tracebacks.", is_flag=True
)
@click.option("--runner", help="Another bootstrap.py.", hidden=True, metavar="PATH")
def run(
    data: tuple[str, ...], events: tuple[str, ...], protocol: str | None, **given: Any
) -> NoReturn:
    """Run TARGET with one event or many, exactly as a worker would.

    TARGET is path/to/program.py:function, or a program directory with
    ledgence-program.json.
    """
    from ledgence.local import _run  # noqa: PLC0415 - --help must be quick

    _require_once(data, events)
    if given["workflow"] and protocol not in (None, "3"):
        raise click.UsageError("--workflow needs protocol 3.")
    options = _run.Options(
        data=data[0] if data else None,
        events=events[0] if events else None,
        protocol=None if protocol is None else int(protocol),
        **given,
    )
    raise click.exceptions.Exit(_run.run(options))


def _require_once(data: tuple[str, ...], events: tuple[str, ...]) -> None:
    if len(data) > 1:
        raise click.UsageError(
            "--data can be given once; --events FILE takes one value a line."
        )
    if len(events) > 1:
        raise click.UsageError("--events can be given once.")
    if data and events:
        raise click.UsageError("--data and --events exclude each other.")
