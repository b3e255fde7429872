"""The results that a report can carry, for whoever makes one."""

from __future__ import annotations

from typing import Literal

from ledgence.local._engine._values import JsonObject

__all__ = ["business_error", "failure", "success"]

Kind = Literal[
    "invalid_input",
    "not_found",
    "integrity",
    "incompatible",
    "unavailable",
    "cancelled",
    "timed_out",
    "runtime",
    "protocol",
    "io",
    "capacity",
]
Phase = Literal["admission", "preparation", "startup", "execution", "cleanup"]


def success(output: object) -> JsonObject:
    """The program returned a value; of a controller this is its decision."""
    return {"kind": "succeeded", "output": output}


def business_error(kind: str, message: str) -> JsonObject:
    """The program answered with an error of its own; it is not tried again."""
    error = {"kind": kind, "message": message}
    return {"kind": "failed", "failure": {"kind": "application", "error": error}}


def failure(
    kind: Kind,
    message: str,
    *,
    phase: Phase = "execution",
    cleanup_error: tuple[Kind, str] | None = None,
) -> JsonObject:
    """The attempt did not bring a result of the program.

    Args:
        kind: Decides whether it is tried again (orchestrator.md, section 4).
        message: For people.
        phase: Where it happened.
        cleanup_error: Kind and message of what went wrong in the cleanup after it.
    """
    cleanup = None
    if cleanup_error is not None:
        cleanup = {"kind": cleanup_error[0], "message": cleanup_error[1]}
    return {
        "kind": "failed",
        "failure": {
            "kind": "execution",
            "error": {"kind": kind, "message": message},
            "phase": phase,
            "cleanup_error": cleanup,
        },
    }
