"""The command ``run``: from its options to an exit code."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ledgence.local._batch import Batch, Plan
from ledgence.local._cancel import CancelToken
from ledgence.local._console import Console
from ledgence.local._errors import InputError, Interrupted, TargetError
from ledgence.local._exit import ExitCode, exit_code_of_signal
from ledgence.local._inputs import Input, Inputs, one_value, open_events
from ledgence.local._launch import Launch
from ledgence.local._progress import Progress
from ledgence.local._signals import SignalWatch
from ledgence.local._streams import Stream, fill_standard_descriptors, forget_stdout
from ledgence.local._target import (
    find_interpreter,
    find_target,
    require_workflows,
)

__all__ = ["Options", "complain", "open_inputs", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line of ``run``, as it was given."""

    target: str
    data: str | None = None
    events: str | None = None
    activation: bool = False
    protocol: int | None = None
    timeout: float
    start_timeout: float
    python: str | None = None
    pretty: bool = False
    observe: bool = False
    verbose: bool = False
    runner: str | None = None


def run(options: Options) -> int:
    """Run the command and return its exit code."""
    readable = fill_standard_descriptors()
    token = CancelToken()
    try:
        _check_stdin(options, readable=readable)
        with SignalWatch(token) as signals:
            return _run(options, token, signals)
    except (TargetError, InputError) as error:
        complain(f"ledgence-local: {error}\n")
        return ExitCode.USAGE
    except Interrupted as stop:
        return exit_code_of_signal(stop.signal)
    except BrokenPipeError:
        forget_stdout()
        return ExitCode.BROKEN_PIPE
    finally:
        token.close()


def _run(options: Options, token: CancelToken, signals: SignalWatch) -> int:
    with signals.immediately():
        launch = _find_launch(options)
        inputs = open_inputs(options.data, options.events)
    plan = Plan(
        launch=launch,
        inputs=inputs,
        timeout=options.timeout,
        start_timeout=options.start_timeout,
        workflow=options.activation,
        observe=options.observe,
    )
    watched = inputs.many and os.isatty(2)
    progress = Progress(inputs.size, signals.immediately) if watched else None
    console = Console(
        Stream(1, token),
        Stream(2, token),
        pretty=options.pretty,
        frames=options.verbose,
        runner_directory=str(Path(launch.bootstrap).parent),
        progress=progress,
    )
    return Batch(plan, console, cancel=token, progress=progress).run()


def _check_stdin(options: Options, *, readable: bool) -> None:
    if not readable and "-" in (options.data, options.events):
        raise InputError("standard input is closed", code="input_unreadable")


def _find_launch(options: Options) -> Launch:
    target = find_target(options.target, protocol=options.protocol)
    if options.activation:
        require_workflows(target)
    interpreter = find_interpreter(options.python, target)
    return Launch.of(target, interpreter, options.runner)


def open_inputs(data: str | None, events: str | None) -> Inputs:
    """Return the events that the options name: one of null without any.

    Raises:
        InputError: They cannot be read.
    """
    if events is not None:
        return open_events(events)
    if data is not None:
        return one_value(data)
    return Inputs(lambda _wait: iter([Input()]), many=False)


def complain(text: str) -> None:
    """Write to standard error, if anybody listens."""
    with contextlib.suppress(OSError):  # nobody listens; the exit code says it
        os.write(2, text.encode(errors="replace"))
