"""The command itself: groups, proposals for what was misspelt, the version."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Generator
from typing import Any

import click

from ledgence.local._exit import ExitCode, exit_code_of_signal

__all__ = ["Group", "Root", "cli"]


class Group(click.Group):
    """A group with proposals for misspelt commands."""

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


Group.group_class = Group


class Root(Group):
    """The outermost group, with the exit codes of a command that was cut short."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the command line; its help may be cut short, too."""
        with _uncut():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _uncut():
            return super().invoke(ctx)


@contextlib.contextmanager
def _uncut() -> Generator[None]:
    """Give a cut the exit code that is documented; click's would be 1."""
    try:
        yield
    except KeyboardInterrupt:
        raise click.exceptions.Exit(exit_code_of_signal(None)) from None
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        raise click.exceptions.Exit(_lost_output(error)) from None


# What a write to standard output may fail with, whoever writes.
_UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _lost_output(error: OSError) -> int:
    from ledgence.local._streams import forget_stdout  # noqa: PLC0415 - rare

    forget_stdout()
    if error.errno != errno.EPIPE:
        reason = error.strerror
        click.echo(f"ledgence-local: output cannot be written: {reason}", err=True)
    return ExitCode.BROKEN_PIPE


def _print_version(ctx: click.Context, _param: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        from importlib import metadata  # noqa: PLC0415 - only for this option

        try:
            version = metadata.version("ledgence-worker")
        except metadata.PackageNotFoundError:
            version = "(not installed as a distribution)"
        click.echo(f"ledgence-local {version}")
        ctx.exit()


_EPILOG = """\b
Exit codes:
  0  done                         5  time-out
  1  failed, or refused           6  a workflow waits for something from outside
  2  bad usage or data          130  interrupted
  3  invalid output             141  the reader of standard output went away
  4  refused start, protocol fault, dead process
"""


@click.group(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)
@click.option(
    "--version",
    callback=_print_version,
    expose_value=False,
    help="Show the version and exit.",
    is_eager=True,
    is_flag=True,
)
def cli() -> None:
    """Run, test and inspect Ledgence programs on this machine."""
