"""What the engine refuses, named as the service names it (orchestrator.md, section 0).

```text
LocalError
└── EngineError             ``code`` is the service's error name, ``status`` its number
    ├── InvalidInput            400  the request is not what the contract allows
    ├── NotFound                404  no such entity in this scope
    ├── Conflict                409  the key already means something else
    ├── OwnershipLost           409  the caller no longer holds the attempt
    ├── ObsoleteOperation       409  too late: nothing waits for it any more
    ├── Busy                    409  full for now; it may succeed later
    └── Unavailable             503  the store or the programs cannot tell
```
"""

from __future__ import annotations

from typing import ClassVar, Literal

from ledgence.local._errors import Kind, LocalError

__all__ = [
    "Busy",
    "Conflict",
    "EngineError",
    "InvalidInput",
    "NotFound",
    "ObsoleteOperation",
    "OwnershipLost",
    "Unavailable",
]

Failure = Literal["protocol", "cancelled", "unavailable"]

# What the package's own reports call it; for the rest nobody is to blame.
_KINDS: dict[str, Kind] = {
    "invalid_input": "invalid_input",
    "not_found": "invalid_input",
    "conflict": "conflict",
    "obsolete_operation": "conflict",
}


class EngineError(LocalError):
    """A request that the service would refuse.

    Attributes:
        status: The HTTP status of this error.
        failure: The execution failure kind of an attempt whose program made the
            request (orchestrator.md, section 4, "Where kinds come from").
    """

    name: ClassVar[str]
    status: ClassVar[int]
    failure: ClassVar[Failure] = "protocol"
    with_message: ClassVar[bool] = False

    def __init__(
        self,
        summary: str,
        *,
        details: dict[str, object] | None = None,
        hint: str | None = None,
    ) -> None:
        kind = _KINDS.get(self.name, "runtime")
        super().__init__(summary, code=self.name, kind=kind, details=details, hint=hint)

    def body(self) -> dict[str, str]:
        """Return the error object of an HTTP reply."""
        if self.with_message:
            return {"code": self.code, "message": self.summary[:4096]}
        return {"code": self.code}


class InvalidInput(EngineError):
    """The request breaks a rule of the contract; ``details`` has the path."""

    name = "invalid_input"
    status = 400
    with_message = True

    @classmethod
    def at(
        cls, path: str, expected: str, got: str, *, hint: str | None = None
    ) -> InvalidInput:
        """Refuse the value at ``path``."""
        return cls(
            f"{path}: expected {expected}, got {got}",
            details={"path": path, "expected": expected, "got": got},
            hint=hint,
        )


class NotFound(EngineError):
    """There is no such entity in this scope."""

    name = "not_found"
    status = 404


class Conflict(EngineError):
    """The key, or the identity, already stands for something else."""

    name = "conflict"
    status = 409


class OwnershipLost(EngineError):
    """The attempt has no live authority for this."""

    name = "ownership_lost"
    status = 409
    failure = "cancelled"


class ObsoleteOperation(EngineError):
    """Nothing waits for this any more."""

    name = "obsolete_operation"
    status = 409


class Busy(EngineError):
    """The inbox of the workflow is full; it may succeed later."""

    name = "busy"
    status = 409


class Unavailable(EngineError):
    """The store, or the store of programs, cannot tell; the outcome is unknown."""

    name = "unavailable"
    status = 503
    failure = "unavailable"
    with_message = True
