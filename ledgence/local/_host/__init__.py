"""The host: real runner processes on the embedded engine.

From the ground up: what programs there are (``_catalogue``, ``_linked``, ``_stubs``);
processes that are kept warm (``_pool``) and what they say (``_output``,
``_listener``); one attempt from claim to report (``_execution``, ``_active``); the
threads that carry attempts out (``_slots``) and the one that lets time pass
(``_pump``, ``_time``); who awaits what (``_watches``); all of it in one piece
(``_lifecycle``) and what can be asked of it (``_core``); and its two public faces,
``_plain`` and ``_async``, which differ in how they wait and in nothing else.

Threads. The engine is synchronous and takes one transaction at a time. Its listener
tells each commit to the pump (``Pump.heard``) in the thread that made it: that stops
attempts, answers who waits for a run, and wakes slots and pump. Nobody polls, but for
a store file that other processes may write, which is looked at four times a second.
"""

from ledgence.local._host._async import LocalHost
from ledgence.local._host._crashes import CrashPoint
from ledgence.local._host._listener import HostListener, Origin, PrintingListener
from ledgence.local._host._plain import PlainHost
from ledgence.local._host._requests import RetryPolicy, SubmitOptions
from ledgence.local._host._runs import (
    Awaited,
    HostError,
    Outcome,
    Run,
    RunFailed,
    WaitExpired,
)

__all__ = [
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
]
