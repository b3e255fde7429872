"""Ledgence on one machine: run, test and inspect programs without a service.

``LocalHost`` runs tasks and workflows in real processes::

    with LocalHost(programs={"hello": "program.py:handle"}) as host:
        print(host.run_task("hello", {"name": "world"}))

The command ``ledgence-local`` (also ``python -m ledgence.local``) is one way in, the
names below are the other. They are loaded when they are first used, so that neither
the command nor the pytest plugin pays for what it does not need.

The rooms are private; from the ground up they are: text and limits, the pure checks of
what a runner sends (``_frames``, ``_logs``, ``_observations``), the state machine of
one conversation (``_conversation``), one supervised process (``_process``), tasks and
workflows (``_engine``, ``_store``), packages (``_packages``), histories (``_replay``),
the host that runs programs (``_host``), and at the rim the command line (``_cli``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledgence.local._errors import LocalError
    from ledgence.local._host import (
        Awaited,
        CrashPoint,
        HostError,
        HostListener,
        LocalHost,
        Origin,
        Outcome,
        PlainHost,
        PrintingListener,
        RetryPolicy,
        Run,
        RunFailed,
        SubmitOptions,
        WaitExpired,
    )
    from ledgence.local._replay import (
        Difference,
        History,
        HistoryError,
        Operation,
        ReplayMismatch,
        ReplayReport,
        Skipped,
        replay,
        replay_history,
    )

__all__ = [
    "Awaited",
    "CrashPoint",
    "Difference",
    "History",
    "HistoryError",
    "HostError",
    "HostListener",
    "LocalError",
    "LocalHost",
    "Operation",
    "Origin",
    "Outcome",
    "PlainHost",
    "PrintingListener",
    "ReplayMismatch",
    "ReplayReport",
    "RetryPolicy",
    "Run",
    "RunFailed",
    "Skipped",
    "SubmitOptions",
    "WaitExpired",
    "replay",
    "replay_history",
]

# Where each public name is defined.
_ROOMS: dict[str, str] = {
    "LocalError": "ledgence.local._errors",
    **dict.fromkeys(
        (
            "Awaited",
            "CrashPoint",
            "HostError",
            "HostListener",
            "LocalHost",
            "Origin",
            "Outcome",
            "PlainHost",
            "PrintingListener",
            "RetryPolicy",
            "Run",
            "RunFailed",
            "SubmitOptions",
            "WaitExpired",
        ),
        "ledgence.local._host",
    ),
    **dict.fromkeys(
        (
            "Difference",
            "History",
            "HistoryError",
            "Operation",
            "ReplayMismatch",
            "ReplayReport",
            "Skipped",
            "replay",
            "replay_history",
        ),
        "ledgence.local._replay",
    ),
}


def __getattr__(name: str) -> Any:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only for a name in use

    value = getattr(import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
