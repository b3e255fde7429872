"""The error tree of ``ledgence.local``, by who must act.

```text
Exception
└── LocalError
    ├── TargetError         the caller: what was named cannot be run
    ├── InputError          the caller: an event's data is not usable
    ├── CommitRefused       the program: a request the service would refuse
    └── RunFailure          an invocation without a result
        ├── StartRefused        the program or the interpreter: no ready frame
        ├── ProtocolFault       the runner: a frame outside the contract
        ├── ProcessGone         the program: the process ended by itself
        └── DeadlineExceeded    the program: the time was up
BaseException
└── Interrupted             someone asked to stop; never to be swallowed
```

Attributes come first and the text is derived from them; ``code`` is stable.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "CommitRefused",
    "DeadlineExceeded",
    "InputError",
    "Interrupted",
    "LocalError",
    "ProcessGone",
    "ProtocolFault",
    "RunFailure",
    "StartRefused",
    "TargetError",
]

Kind = Literal[
    "invalid_input",
    "incompatible",
    "conflict",
    "integrity",
    "io",
    "runtime",
    "protocol",
    "timed_out",
]
Phase = Literal["startup", "execution", "cleanup"]


class LocalError(Exception):
    """The root of everything this package refuses or reports.

    Attributes:
        code: A stable name of the situation, such as ``target_not_found``.
        kind: The service's failure kind for it (orchestrator.md, section 4).
        summary: One sentence.
        details: What matters, by name; values are shown as they are.
        hint: What to do next, or None.
    """

    def __init__(
        self,
        summary: str,
        *,
        code: str,
        kind: Kind = "invalid_input",
        details: dict[str, object] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(summary)
        self.summary = summary
        self.code = code
        self.kind: Kind = kind
        self.details = details or {}
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.summary} [{self.code}]"]
        lines += [f"  {name}: {value}" for name, value in self.details.items()]
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class TargetError(LocalError):
    """The program that was named cannot be run here."""


class InputError(LocalError):
    """The data of an event cannot be used."""


class CommitRefused(LocalError):
    """A request of an activation that the service would refuse."""


class RunFailure(LocalError):
    """An invocation that ended without a result.

    Attributes:
        phase: Where it happened: ``startup``, ``execution`` or ``cleanup``.
        exit_status: The process's exit status, negative for a signal; None when
            the process was still alive.
    """

    def __init__(
        self,
        summary: str,
        *,
        code: str,
        kind: Kind = "runtime",
        phase: Phase = "execution",
        exit_status: int | None = None,
        details: dict[str, object] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(summary, code=code, kind=kind, details=details, hint=hint)
        self.phase: Phase = phase
        self.exit_status = exit_status


class StartRefused(RunFailure):
    """The process did not become ready."""


class ProtocolFault(RunFailure):
    """The runner sent what the contract does not allow; its process is retired."""


class ProcessGone(RunFailure):
    """The process ended by itself before its result."""


class DeadlineExceeded(RunFailure):
    """The time was up; the process group was killed."""


class Interrupted(BaseException):
    """A request to stop, such as Ctrl-C.

    Attributes:
        signal: The signal's number, or None when stopping was asked for in code.
    """

    def __init__(self, signal: int | None = None) -> None:
        super().__init__(signal)
        self.signal = signal
