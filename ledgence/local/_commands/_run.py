"""The command ``run`` and its options."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._options import Seconds
from ledgence.local._limits import ATTEMPT_SECONDS, READY_SECONDS

__all__ = ["run"]

_EXAMPLES = """\b
Examples:
  ledgence-local run program.py:handle --data '{"name": "Ada"}'
  ledgence-local run program.py:handle --events deliveries.jsonl --timeout 5
  ledgence-local run my-program/ --data @order.json --pretty -v
  ledgence-local run flow.py:handle --workflow --data 3
  ledgence-local run flow.py:handle --workflow --program quote=quote.py:handle

\b
Output: one JSON object a run on stdout, with "run", "status" and "output" or
"error". Program output, logs and tracebacks go to stderr as "[run N] ...".

\b
Exit codes, with several runs the highest that occurred:
  0  every run succeeded          5  time-out
  1  the program failed           6  a workflow waits for something from outside
  2  bad usage or data          130  interrupted
  3  invalid output             141  the reader of standard output went away
  4  refused start, protocol fault, dead process
"""


@click.command(epilog=_EXAMPLES)
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
    help="Run a whole workflow for each event, until it is over or waits for"
    " something from outside.",
    is_flag=True,
)
@click.option(
    "--activation",
    help="Run the first activation of a workflow alone, acknowledge its requests, and"
    " print its decision.",
    is_flag=True,
)
@click.option(
    "--program",
    "programs",
    help="Another program that the workflow starts: a directory with a manifest, or"
    " NAME[@VERSION]=path/to/program.py:function. Repeatable.",
    metavar="[NAME=]TARGET",
    multiple=True,
)
@click.option(
    "--skip-time",
    help="Skip timers, delays and deadlines of a workflow instead of waiting.",
    is_flag=True,
)
@click.option("--store", help="Keep the workflows in this store file.", metavar="PATH")
@click.option(
    "--table", help="Show what a workflow did, as a table on stderr.", is_flag=True
)
@click.option(
    "--protocol",
    help="The runner protocol.  [default: the manifest's, or 3]",
    type=click.Choice(["1", "2", "3"]),
)
@click.option(
    "--timeout",
    help="For each event, a start of the process included.  [default: 300; none for"
    " a whole workflow]",
    metavar="SECONDS",
    type=Seconds(),
)
@click.option(
    "--start-timeout",
    help=f"For a start of the process.  [default: {READY_SECONDS:g}]",
    metavar="SECONDS",
    type=Seconds(),
)
@click.option("--python", help="The interpreter to use.", metavar="PATH")
@click.option("--pretty", help="Indent the results.", is_flag=True)
@click.option("--observe", help="Add the runner's measurements.", is_flag=True)
@click.option(
    "-v", "--verbose", help="Show the frames and whole tracebacks.", is_flag=True
)
@click.option("--runner", help="Another bootstrap.py.", hidden=True, metavar="PATH")
def run(
    data: tuple[str, ...],
    events: tuple[str, ...],
    workflow: bool,  # noqa: FBT001 - click calls it
    **given: Any,
) -> NoReturn:
    """Run TARGET with one event or many, exactly as a worker would.

    TARGET is path/to/program.py:function, or a program directory with
    ledgence-program.json.
    """
    _require_once(data, events)
    given["data"] = data[0] if data else None
    given["events"] = events[0] if events else None
    run_all = _run_workflows if workflow else _run_events
    raise click.exceptions.Exit(run_all(given))


def _run_workflows(given: dict[str, Any]) -> int:
    from ledgence.local._operate import _whole  # noqa: PLC0415 - --help must be quick

    if given["activation"]:
        raise click.UsageError("--workflow and --activation exclude each other.")
    if given["protocol"] not in (None, "3"):
        raise click.UsageError("--workflow needs protocol 3.")
    _forbid(given, ("observe", "start_timeout", "runner"), "--workflow")
    if given["skip_time"]:
        # The clock of the store would be ahead for good.
        _forbid(given, ("store",), "--skip-time")
    names = (
        *("target", "data", "events", "programs", "skip_time", "store", "table"),
        *("timeout", "python", "pretty", "verbose"),
    )
    return _whole.run(_whole.Options(**{name: given[name] for name in names}))


def _run_events(given: dict[str, Any]) -> int:
    from ledgence.local import _run  # noqa: PLC0415 - as above

    if given["activation"] and given["protocol"] not in (None, "3"):
        raise click.UsageError("--activation needs protocol 3.")
    _forbid(given, ("programs", "skip_time", "store", "table"), None)
    protocol, timeout = given["protocol"], given["timeout"]
    names = ("target", "data", "events", "activation", "python", "pretty", "observe")
    options = _run.Options(
        **{name: given[name] for name in (*names, "verbose", "runner")},
        protocol=None if protocol is None else int(protocol),
        timeout=ATTEMPT_SECONDS if timeout is None else timeout,
        start_timeout=given["start_timeout"] or READY_SECONDS,
    )
    return _run.run(options)


def _forbid(given: dict[str, Any], names: tuple[str, ...], mode: str | None) -> None:
    """Refuse options that mean nothing for whole workflows, or only for them."""
    for name in names:
        if given[name]:
            option = "--" + name.removesuffix("s" * (name == "programs"))
            option = option.replace("_", "-")
            text = f"does not go with {mode}" if mode else "needs --workflow"
            raise click.UsageError(f"{option} {text}.")


def _require_once(data: tuple[str, ...], events: tuple[str, ...]) -> None:
    if len(data) > 1:
        raise click.UsageError(
            "--data can be given once; --events FILE takes one value a line."
        )
    if len(events) > 1:
        raise click.UsageError("--events can be given once.")
    if data and events:
        raise click.UsageError("--data and --events exclude each other.")
