"""What a caller holds of a run, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ledgence.local._engine import InvalidInput
from ledgence.local._errors import LocalError
from ledgence.worker.workflow._fields import describe

__all__ = ["Awaited", "HostError", "Outcome", "Run", "RunFailed", "WaitExpired"]

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Run:
    """A task or a workflow that a host has accepted.

    Attributes:
        id: ``task_<uuid>`` or ``wf_<uuid>``.
        kind: Which of the two.
        program: The name of its program; empty when it was named by its id alone.
    """

    id: str
    kind: Literal["task", "workflow"]
    program: str = ""

    @classmethod
    def of(cls, run: object) -> Run:
        """Return the run with this id.

        Raises:
            InvalidInput: It is no id of a task or workflow.
        """
        if isinstance(run, Run):
            return run
        if isinstance(run, str) and run.startswith("task_"):
            return cls(run, "task")
        if isinstance(run, str) and run.startswith("wf_"):
            return cls(run, "workflow")
        expected = "a Run, or the id of one: task_... or wf_..."
        raise InvalidInput.at("$.run", expected, describe(run))

    def request(self, scope: dict[str, str], **more: object) -> dict[str, Any]:
        """Return the question about this run for the engine."""
        return {"scope": scope, f"{self.kind}_id": self.id, **more}

    def __str__(self) -> str:
        name = f" ({self.program})" if self.program else ""
        return f"{self.kind} {self.id}{name}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        state: ``succeeded``, ``failed`` or ``cancelled``.
        output: What it returned; None unless it succeeded.
        error: ``kind`` and ``message`` of a failure, and for a task that failed to
            execute its ``phase``; None unless it failed.
        attempts: How many attempts were made: of the task, or of the activation with
            which the workflow ended.
        detail: The outcome as the service shows it (orchestrator.md, 4 and 6).
        hint: What to do about the failure, where that is known.
    """

    run: Run
    state: Literal["succeeded", "failed", "cancelled"]
    output: Any = None
    error: dict[str, Any] | None = None
    attempts: int = 0
    detail: dict[str, Any] = field(default_factory=dict[str, Any])
    hint: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether there is an output."""
        return self.state == "succeeded"

    def unwrap(self) -> Any:
        """Return the output.

        Raises:
            RunFailed: The run failed or was cancelled.
        """
        if self.succeeded:
            return self.output
        raise RunFailed(self)


class HostError(LocalError):
    """The host cannot do what it is asked for now; ``code`` says why.

    ``host_closed``: it is not open. ``host_broken``: it has stopped because of an
    error of its own. ``wait_expired``: see ``WaitExpired``.
    """


class RunFailed(LocalError):
    """A run whose output was asked for has none.

    Attributes:
        outcome: How it ended; ``outcome.error`` has kind and message.
    """

    def __init__(self, outcome: Outcome) -> None:
        error = outcome.error or {}
        details: dict[str, object] = {"kind": error.get("kind")} if error else {}
        if error:
            details["message"] = _indented(str(error.get("message")))
        if "phase" in error:
            details["phase"] = error["phase"]
        if outcome.attempts > 1:
            details["attempts"] = outcome.attempts
        super().__init__(
            f"{outcome.run} {_ENDED[outcome.state]}",
            code="run_cancelled" if outcome.state == "cancelled" else "run_failed",
            kind="runtime",
            details=details,
            hint=outcome.hint,
        )
        self.outcome = outcome


_ENDED = {"failed": "has failed", "cancelled": "was cancelled", "succeeded": "is over"}


def _indented(text: str) -> str:
    return "\n    ".join(text.splitlines())


@dataclass(frozen=True, slots=True)
class Awaited:
    """One thing that a run does, or waits for.

    Attributes:
        run_id: The task or workflow that it belongs to.
        kind: ``event``, ``timer`` or ``approval`` of an open wait; ``retry``,
            ``queued`` or ``running`` of an attempt.
        key: The key of the wait; of an attempt the key of the child, or an empty text.
        deadline: When it ends by itself, Unix milliseconds; None means never.
        in_ms: How far away that is on the host's clock.
        release: The call that ends it.
        detail: More about it, such as which attempt runs; may be empty.
    """

    run_id: str
    kind: str
    key: str
    deadline: int | None
    in_ms: int | None
    release: str
    detail: str = ""

    def __str__(self) -> str:
        words = [self.kind, repr(self.key) if self.key else "", "of", self.run_id]
        text = " ".join(word for word in words if word)
        text += f" ({self.detail})" if self.detail else ""
        if self.in_ms is not None:
            text += f", deadline in {self.in_ms} ms"
        return f"{text}: {self.release}"


class WaitExpired(HostError):
    """A run was not over within the time that its caller would wait.

    The run itself goes on; it can be awaited again.

    Attributes:
        run: The run.
        seconds: How long was waited, real time.
        awaited: Each thing that it waits for, with the call that releases it.
    """

    def __init__(self, run: Run, seconds: float, awaited: list[Awaited]) -> None:
        details: dict[str, object] = {
            f"awaits {number}": one for number, one in enumerate(awaited[:_SHOWN], 1)
        }
        if len(awaited) > _SHOWN:
            details["more"] = len(awaited) - _SHOWN
        super().__init__(
            f"{run} is not over after {seconds:g} s",
            code="wait_expired",
            kind="timed_out",
            details=details,
            hint=None if awaited else "nothing is known that it waits for",
        )
        self.run = run
        self.seconds = seconds
        self.awaited = awaited
