"""The exit codes of ``ledgence-local``, once."""

from __future__ import annotations

from enum import IntEnum
from signal import SIGINT

from ledgence.local._errors import (
    DeadlineExceeded,
    InputError,
    LocalError,
    RunFailure,
    TargetError,
)

__all__ = ["ExitCode", "exit_code_of", "exit_code_of_signal"]


class ExitCode(IntEnum):
    """What the command's exit status says; with several runs the highest counts."""

    SUCCESS = 0
    PROGRAM_FAILURE = 1
    USAGE = 2
    INVALID_OUTPUT = 3
    RUNNER = 4
    TIMEOUT = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141


def exit_code_of(error: LocalError) -> ExitCode:
    """Return the code of a run that ended with ``error`` instead of a result."""
    if isinstance(error, DeadlineExceeded):
        return ExitCode.TIMEOUT
    if isinstance(error, RunFailure):
        return ExitCode.RUNNER
    if isinstance(error, (TargetError, InputError)):
        return ExitCode.USAGE
    return ExitCode.RUNNER


def exit_code_of_signal(number: int | None) -> int:
    """Return the code of a command that was stopped: 130 for Ctrl-C."""
    return 128 + (number or SIGINT)
