"""Tasks and workflows as a pure state machine over a small store.

What the machine keeps is the service's contract (orchestrator.md). A transition is a
function of a ``Turn`` (an open transaction, the time, fresh identifiers) and one
checked command; it returns the answer and notes in the turn's ``Effects`` what became
possible. It does no I/O, knows no clock and draws no random numbers. ``Engine`` wraps
each in one transaction; ``Inspection`` only looks.

The seam for a host
-------------------

A host is what runs programs: it claims attempts, supervises their processes and
reports. It needs a store, a store of programs (``Programs``), a clock, and the host
lock of ``ledgence.local._store``; ``Engine`` and ``Inspection`` need no lock, so
commands and inspection also work beside a running host.

Start.
    Take the ``HostLock``, then call ``engine.recover()`` once: attempts that another
    host had claimed are finalised as if their leases had ended.

Work, for each free slot.
    1. ``engine.pump()`` does what is due: ended leases, timers and deadlines of
       waits, draining of failing and cancelling workflows, postponed decisions.
    2. ``engine.claim(...)`` gives an ``Assignment`` or None: the invocation event, the
       pinned descriptor, the deadline, and the ``Owner`` to show from then on.
    3. Prepare the program and its process. Before program code runs call
       ``engine.dispatch(owner)``; with ``budget_ms`` 0 stop and report ``cancelled``
       or ``timed_out``. A host with a warm process may claim with ``dispatch=True``
       and save the transaction.
    4. For an activation, ``engine.activation_extension(owner)`` is the extension of
       the invoke frame; call it for each attempt, because the journal grows.
    5. While the program runs: ``engine.renew(owner)`` every 15 s; at ``budget_ms`` 0,
       at the deadline, and for every attempt in ``Effects.stop``, kill the process
       group. Each runtime request goes to ``engine.runtime_request``; its answer is
       the reply. A refusal is not answered: kill the process and report an execution
       failure of kind ``error.failure``.
    6. ``engine.report(assignment, body)`` settles the attempt; the body is described
       at ``Settlement``, and ``success``, ``business_error`` and ``failure`` make its
       result. With quiescence ``unconfirmed`` the task stays active until
       ``engine.confirm(owner)`` or the end of the lease.

Time.
    ``engine.schedule()`` says what comes next: ``runnable`` (claim now), ``next_at``
    (sleep until then at the latest), ``quiet`` (nothing will happen without a
    command), ``skip_ms`` (how far a skipping clock may be moved; only when nothing runs
    and nothing is due, so never past the deadline of a running attempt: S10). All times
    are the store's; the host's own clock may be behind them, so it is moved by
    differences.

Wake-ups.
    The ``listener`` is called after each commit with its ``Effects``: ``runnable``
    and ``due`` wake the loop, ``finished`` wakes who awaits a task or a workflow,
    ``stop`` names attempts to be killed.

Nothing acknowledged is lost: every answer is given after its transaction was kept, so
a host may die at any point and the next one goes on from the store.
"""

from ledgence.local._engine._authority import Owner
from ledgence.local._engine._claims import Assignment, Lease
from ledgence.local._engine._clock import ManualClock, SystemClock
from ledgence.local._engine._engine import Engine, random_id
from ledgence.local._engine._errors import (
    Busy,
    Conflict,
    EngineError,
    InvalidInput,
    NotFound,
    ObsoleteOperation,
    OwnershipLost,
    Unavailable,
)
from ledgence.local._engine._inspection import Inspection
from ledgence.local._engine._ports import Clock, Programs, Store
from ledgence.local._engine._results import business_error, failure, success
from ledgence.local._engine._schedule import Schedule
from ledgence.local._engine._settlement import Settlement
from ledgence.local._engine._turn import Effects
from ledgence.local._engine._values import parse
from ledgence.local._engine._work import Descriptor, Program, Scope, Trace

__all__ = [
    "Assignment",
    "Busy",
    "Clock",
    "Conflict",
    "Descriptor",
    "Effects",
    "Engine",
    "EngineError",
    "Inspection",
    "InvalidInput",
    "Lease",
    "ManualClock",
    "NotFound",
    "ObsoleteOperation",
    "Owner",
    "OwnershipLost",
    "Program",
    "Programs",
    "Schedule",
    "Scope",
    "Settlement",
    "Store",
    "SystemClock",
    "Trace",
    "Unavailable",
    "business_error",
    "failure",
    "parse",
    "random_id",
    "success",
]
