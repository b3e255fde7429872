"""The engine: every transition as one transaction on a store.

Requests and answers are the JSON objects of http-api.md; what only a host sees is
described in ``ledgence.local._engine``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from ledgence.local._engine._approvals import DecideApproval, decide
from ledgence.local._engine._authority import Owner
from ledgence.local._engine._cancellation import Cancel, cancel_task, cancel_workflow
from ledgence.local._engine._chores import abandon, chores, is_due, pending_programs
from ledgence.local._engine._claims import (
    Assignment,
    Lease,
    activation_extension,
    claim,
    renew,
)
from ledgence.local._engine._clock import HostClock, SystemClock
from ledgence.local._engine._decision import programs_of
from ledgence.local._engine._endings import retry_application
from ledgence.local._engine._errors import InvalidInput, Unavailable
from ledgence.local._engine._forks import ForkRequest, fork
from ledgence.local._engine._inbox import SendEvent, send_event
from ledgence.local._engine._journal import Record, commit_step
from ledgence.local._engine._ports import Clock, NewId, Programs, Store
from ledgence.local._engine._schedule import Schedule
from ledgence.local._engine._settlement import Settlement, confirm, settle
from ledgence.local._engine._submission import (
    Submission,
    replayed,
    submit_task,
    submit_workflow,
)
from ledgence.local._engine._turn import Effects, Turn
from ledgence.local._engine._values import JsonObject
from ledgence.local._engine._work import NO_TRACE, Descriptor, Program, Scope, Trace

__all__ = ["Engine", "random_id"]

A = TypeVar("A")
Lookup = Mapping[Program, Descriptor | None]
Listener = Callable[[Effects], None]


def random_id(prefix: str) -> str:
    """Return a fresh identifier, such as ``task_<uuid>``."""
    return f"{prefix}_{uuid.uuid4()}"


class Engine:
    """One host's view of a store of tasks and workflows.

    Args:
        store: Where everything is kept.
        programs: Where program versions are looked up; never inside a transaction.
        clock: The host's clock.
        new_id: Makes identifiers.
        host_id: Names this host in the attempts that it claims.
        listener: Told after each commit what became possible.

    All methods may be called from any thread. A refusal is an ``EngineError`` and
    leaves no trace; an answer is given only after its transaction is kept.
    """

    def __init__(
        self,
        store: Store,
        programs: Programs,
        *,
        clock: Clock | None = None,
        new_id: NewId = random_id,
        host_id: str | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.host_id = host_id or new_id("host")
        self._store = store
        self._programs = programs
        self._clock = HostClock(clock or SystemClock())
        self._new_id = new_id
        self._listener = listener

    # What clients ask for.

    def submit_task(self, request: object) -> JsonObject:
        """Submit a task; see http-api.md, section 4.1."""
        submission = Submission.parse(request)
        lookup = self._lookup_for(submission, workflow=False)
        return self._write(lambda turn: submit_task(turn, submission), lookup)

    def submit_workflow(self, request: object) -> JsonObject:
        """Start a root workflow; see http-api.md, section 5.1."""
        submission = Submission.parse(request)
        lookup = self._lookup_for(submission, workflow=True)
        return self._write(lambda turn: submit_workflow(turn, submission), lookup)

    def cancel_task(self, request: object) -> str:
        """Cancel a task; see http-api.md, section 4.4."""
        command = Cancel.parse(request, "task_id")
        return self._write(lambda turn: cancel_task(turn, command))

    def cancel_workflow(self, request: object) -> JsonObject:
        """Cancel a workflow; see http-api.md, section 5.4."""
        command = Cancel.parse(request, "workflow_id")
        return self._write(lambda turn: cancel_workflow(turn, command))

    def send_event(self, request: object) -> JsonObject:
        """Send an event to a workflow; see http-api.md, section 6."""
        command = SendEvent.parse(request)
        return self._write(lambda turn: send_event(turn, command))

    def decide_approval(self, request: object) -> JsonObject:
        """Decide a request for approval; see http-api.md, section 7."""
        command = DecideApproval.parse(request)
        return self._write(lambda turn: decide(turn, command))

    def _lookup_for(self, submission: Submission, *, workflow: bool) -> Lookup:
        """Look the program up, unless the key is known already."""
        if self._is_known(submission, workflow=workflow):
            return {}
        program = submission.program
        try:
            return {program: self._programs.resolve(program)}
        except Unavailable:
            # Somebody else may have been accepted with this key meanwhile.
            if self._is_known(submission, workflow=workflow):
                return {}
            raise

    def _is_known(self, submission: Submission, *, workflow: bool) -> bool:
        with self._store.reading() as rows:
            return replayed(rows, submission, workflow=workflow) is not None

    # What the host that runs programs asks for.

    def claim(
        self,
        *,
        scope: Scope | None = None,
        queues: Sequence[str] | None = None,
        dispatch: bool = False,
    ) -> Assignment | None:
        """Begin the next attempt; None when nothing is available now."""
        return self._write(
            lambda turn: claim(
                turn,
                host_id=self.host_id,
                scope=scope,
                queues=queues,
                dispatch=dispatch,
            )
        )

    def dispatch(self, owner: Owner) -> Lease:
        """Authorise an attempt to run program code."""
        return self._write(lambda turn: renew(turn, owner, dispatch=True))

    def renew(self, owner: Owner) -> Lease:
        """Prolong the lease of an attempt; due every 15 s while it lasts."""
        return self._write(lambda turn: renew(turn, owner))

    def activation_extension(self, owner: Owner) -> JsonObject:
        """Return the extension for an activation's invocation."""
        return self._read(lambda turn: activation_extension(turn, owner))

    def runtime_request(
        self,
        owner: Owner,
        operation: str,
        payload: object,
        *,
        trace: Trace = NO_TRACE,
    ) -> JsonObject:
        """Answer a request of a running activation; it is kept when this returns.

        Raises:
            EngineError: Nothing was kept; ``failure`` is the kind with which the
                attempt ends, and its process is not to be used again.
        """
        if operation == "local_step.commit":
            step = Record.parse(payload)
            self._write(lambda turn: commit_step(turn, owner, step))
            return {"committed": True}
        if operation == "workflow.fork":
            request = ForkRequest.parse(payload, trace=trace)
            receipt = self._write(lambda turn: fork(turn, owner, request))
            return {
                "committed": True,
                "key": receipt["key"],
                "branch_keys": receipt["branch_keys"],
            }
        raise InvalidInput(f"no such operation: {operation[:80]!r}")

    def report(self, assignment: Assignment, body: object) -> JsonObject:
        """Settle an attempt; ``body`` is described at ``Settlement``."""
        settlement = Settlement.parse(
            assignment.owner,
            assignment.descriptor,
            body,
            activation=assignment.activation,
        )
        lookup: Lookup = {}
        if assignment.activation and settlement.result["kind"] == "succeeded":
            lookup = self._look_up(programs_of(settlement.result["output"]))
        return self._write(lambda turn: settle(turn, settlement), lookup)

    def confirm(self, owner: Owner) -> None:
        """Note that the cleanup of a reported attempt is over."""
        self._write(lambda turn: confirm(turn, owner))

    def recover(self) -> int:
        """Declare the attempts of dead hosts lost; return how many.

        To be called by a host that holds the store's host lock, before it claims.
        """
        done = 0
        while step := self._write(lambda turn: abandon(turn, self.host_id)):
            done += step
        return done

    def _look_up(self, programs: Iterable[Program]) -> Lookup:
        """Look programs up; what cannot be told now is left out."""
        found: dict[Program, Descriptor | None] = {}
        for program in programs:
            try:
                found[program] = self._programs.resolve(program)
            except Unavailable:
                continue
        return found

    # Time and background work.

    def pump(self) -> int:
        """Do all background work that is due; return how many things were done.

        Leases and waits that ended, draining, decisions that wait for a program.
        Each pass is a transaction of bounded size.
        """
        done = 0
        while step := self._pass():
            done += step
        return done

    def _pass(self) -> int:
        schedule = self.schedule()
        if not is_due(schedule.due, schedule.now):
            return 0
        return self._write(chores) + self._apply_pending()

    def _apply_pending(self) -> int:
        pending = self._read(pending_programs)
        for application, programs in pending:
            lookup = self._look_up(programs)
            self._write(partial(retry_application, due=application), lookup)
        return len(pending)

    def schedule(self) -> Schedule:
        """Return what the host has to look after next."""
        return self._read(lambda turn: Schedule(turn.now, turn.rows.due()))

    # Transactions.

    def _write(
        self, transition: Callable[[Turn], A], lookup: Lookup | None = None
    ) -> A:
        with self._store.writing() as rows:
            now = self._clock.now(rows)
            turn = Turn(rows, now, self._new_id, programs=lookup or {})
            answer = transition(turn)
        if self._listener is not None and turn.effects:
            self._listener(turn.effects)
        return answer

    def _read(self, question: Callable[[Turn], A]) -> A:
        with self._store.reading() as rows:
            return question(Turn(rows, self._clock.look(rows), self._new_id))
