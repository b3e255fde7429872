"""What is asked for: scopes, programs, policies, and their checks.

``Work`` is the part that submissions, commands and branches have in common: where it
runs, with what data, and how often it may be tried.
"""

from __future__ import annotations

from dataclasses import dataclass

from ledgence.local._engine._check import integer, record, text
from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._limits import DATA_BYTES
from ledgence.local._engine._values import JsonObject, Packed, pack
from ledgence.worker._tracecontext import is_traceparent, is_tracestate
from ledgence.worker.workflow._fields import describe, is_slug
from ledgence.worker.workflow._limits import (
    DEFAULT_ATTEMPT_TIMEOUT_MS,
    DEFAULT_ATTEMPTS,
    DEFAULT_RETRY_DELAY_MS,
    MAX_ATTEMPT_TIMEOUT_MS,
    MAX_ATTEMPTS,
    MAX_RETRY_DELAY_MS,
    MIN_ATTEMPT_TIMEOUT_MS,
)

__all__ = [
    "NO_TRACE",
    "Descriptor",
    "Program",
    "Scope",
    "Trace",
    "Work",
    "parse_policy",
    "parse_program",
    "parse_scope",
    "parse_timeout",
    "parse_trace",
]


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose it is; every read and write is scoped."""

    tenant_id: str
    namespace: str

    def to_json(self) -> JsonObject:
        """Return the scope of a reply."""
        return {"tenant_id": self.tenant_id, "namespace": self.namespace}


@dataclass(frozen=True, slots=True)
class Program:
    """A program version; global within a store of programs."""

    id: str
    version: str

    def to_json(self) -> JsonObject:
        """Return the program of a reply."""
        return {"id": self.id, "version": self.version}


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A published program version, bound for good when work is accepted.

    Attributes:
        digest: ``sha256:`` and 64 lower-case hexadecimal digits.
        size: Bytes of the archive, at least 1.
    """

    program: Program
    digest: str
    size: int

    def to_json(self) -> JsonObject:
        """Return the descriptor of a reply."""
        program = self.program.to_json()
        return {"program": program, "digest": self.digest, "size": self.size}


@dataclass(frozen=True, slots=True)
class Trace:
    """A W3C trace context, or none."""

    traceparent: str | None = None
    tracestate: str | None = None

    def to_json(self) -> JsonObject | None:
        """Return the trace of a reply; an absent tracestate is left out."""
        if self.traceparent is None:
            return None
        found: JsonObject = {"traceparent": self.traceparent}
        if self.tracestate is not None:
            found["tracestate"] = self.tracestate
        return found


NO_TRACE = Trace()


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be run, where, and how often it may be tried.

    Attributes:
        program: None for a branch: it runs its parent's pinned program.
    """

    program: Program | None
    queue: str
    data: Packed
    max_attempts: int
    retry_delay_ms: int
    attempt_timeout_ms: int

    @classmethod
    def parse(
        cls,
        value: JsonObject,
        *,
        path: str,
        with_program: bool = True,
        limit: int = DATA_BYTES,
    ) -> Work:
        """Read the common members of an object whose member names are checked."""
        policy = parse_policy(value, path=f"{path}.retry_policy")
        program = None
        if with_program:
            program = parse_program(value["program"], path=f"{path}.program")
        return cls(
            program=program,
            queue=text(value["queue"], path=f"{path}.queue"),
            data=pack(value["data"], limit, path=f"{path}.data"),
            max_attempts=policy[0],
            retry_delay_ms=policy[1],
            attempt_timeout_ms=parse_timeout(value, path=f"{path}.attempt_timeout_ms"),
        )


def parse_scope(value: object, *, path: str = "$.scope") -> Scope:
    """Return the scope of a request."""
    found = record(value, ("tenant_id", "namespace"), path=path)
    return Scope(
        text(found["tenant_id"], path=f"{path}.tenant_id"),
        text(found["namespace"], path=f"{path}.namespace"),
    )


def parse_program(value: object, *, path: str) -> Program:
    """Return a program version."""
    found = record(value, ("id", "version"), path=path)
    for name in ("id", "version"):
        if not is_slug(found[name]):
            expected = "1 to 128 of a-z 0-9 . _ -, not . or .."
            raise InvalidInput.at(f"{path}.{name}", expected, describe(found[name]))
    return Program(found["id"], found["version"])


def parse_policy(value: JsonObject, *, path: str) -> tuple[int, int]:
    """Return attempts and delay of an optional ``retry_policy`` member."""
    if "retry_policy" not in value:
        return DEFAULT_ATTEMPTS, DEFAULT_RETRY_DELAY_MS
    found = record(value["retry_policy"], ("max_attempts", "retry_delay_ms"), path=path)
    delay = found["retry_delay_ms"]
    return (
        integer(found["max_attempts"], 1, MAX_ATTEMPTS, path=f"{path}.max_attempts"),
        integer(delay, 0, MAX_RETRY_DELAY_MS, path=f"{path}.retry_delay_ms"),
    )


def parse_timeout(value: JsonObject, *, path: str) -> int:
    """Return an optional ``attempt_timeout_ms`` member."""
    timeout = value.get("attempt_timeout_ms", DEFAULT_ATTEMPT_TIMEOUT_MS)
    return integer(timeout, MIN_ATTEMPT_TIMEOUT_MS, MAX_ATTEMPT_TIMEOUT_MS, path=path)


def parse_trace(value: object, *, path: str) -> Trace:
    """Return a trace context; None stands for none."""
    if value is None:
        return NO_TRACE
    found = record(value, ("traceparent",), ("tracestate",), path=path)
    parent, state = found["traceparent"], found.get("tracestate")
    if not is_traceparent(parent):
        expected = "a version 00 traceparent in lower case"
        raise InvalidInput.at(f"{path}.traceparent", expected, describe(parent))
    if "tracestate" in found and not is_tracestate(state):
        expected = "a tracestate of at most 512 ASCII characters"
        raise InvalidInput.at(f"{path}.tracestate", expected, describe(state))
    return Trace(parent, state)
