"""The exit codes of ``ledgence-local``, once."""

from __future__ import annotations

from enum import IntEnum
from signal import SIGINT

from ledgence.local._errors import (
    CommitRefused,
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
    WAITING = 6
    INTERRUPTED = 130
    BROKEN_PIPE = 141


def exit_code_of(error: LocalError) -> ExitCode:
    """Return the code of a run or a command that ended with ``error``.

    What the caller gave is ``USAGE``. What was well formed and refused all the same,
    such as an unknown id, a conflict or a mismatch, is ``PROGRAM_FAILURE``.
    """
    if isinstance(error, DeadlineExceeded):
        return ExitCode.TIMEOUT
    if isinstance(error, RunFailure):
        return ExitCode.RUNNER
    if isinstance(error, (TargetError, InputError)):
        return ExitCode.USAGE
    if isinstance(error, CommitRefused):
        return ExitCode.RUNNER
    usage = error.kind == "invalid_input" and error.code != "not_found"
    return ExitCode.USAGE if usage else ExitCode.PROGRAM_FAILURE


def exit_code_of_signal(number: int | None) -> int:
    """Return the code of a command that was stopped: 130 for Ctrl-C."""
    return 128 + (number or SIGINT)
