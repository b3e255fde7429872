"""The requests that a host makes of its engine, from plain arguments."""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from ledgence.local._engine import InvalidInput, Program, Scope
from ledgence.local._engine._values import JsonObject

__all__ = [
    "DEFAULT_QUEUE",
    "Decision",
    "RetryPolicy",
    "SubmitOptions",
    "approval_command",
    "check_options",
    "cloud_event",
    "submission",
]

DEFAULT_QUEUE = "default"
_EVENT_SOURCE = "urn:ledgence:local"
_EVENT_TYPE = "com.ledgence.local.event.v1"
_OPTIONAL = ("retry_policy", "attempt_timeout_ms", "correlation_key")

Decision = Literal["approve", "reject"]


class RetryPolicy(TypedDict):
    """How often an attempt is made, and how long after the one before.

    Attributes:
        max_attempts: 1 to 1000.
        retry_delay_ms: 0 to 86,400,000.
    """

    max_attempts: int
    retry_delay_ms: int


class SubmitOptions(TypedDict, total=False):
    """How a task or a workflow is submitted; every member may be left out.

    Attributes:
        version: The program's version; without it the one that was registered.
        key: The idempotency key, at most 255 bytes; without it a fresh one.
        queue: At most 128 bytes; ``default`` without it.
        retry_policy: Without it 3 attempts, 5000 ms apart.
        attempt_timeout_ms: 60,000 to 86,400,000; 300,000 without it.
        correlation_key: At most 512 bytes.
    """

    version: str
    key: str
    queue: str
    retry_policy: RetryPolicy
    attempt_timeout_ms: int
    correlation_key: str


def submission(
    scope: Scope, program: Program, data: object, options: SubmitOptions
) -> JsonObject:
    """Return the request of http-api.md, sections 4.1 and 5.1."""
    # None stands for the absence of an option.
    given = {name: one for name, one in options.items() if one is not None}
    taken: JsonObject = {
        **scope.to_json(),
        "queue": given.get("queue", DEFAULT_QUEUE),
        "program": program.to_json(),
        "data": data,
    }
    taken |= {name: given[name] for name in _OPTIONAL if name in given}
    return {"idempotency_key": _fresh(options.get("key")), "input": taken}


def check_options(options: SubmitOptions) -> None:
    """Refuse options that do not exist; a misspelt one must not be left out.

    Raises:
        InvalidInput: It says what is near.
    """
    known = sorted(SubmitOptions.__annotations__)
    for name in options:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 1)
        raise InvalidInput.at(
            f"$.{name}",
            f"only {', '.join(known)}",
            f"the option {name!r}",
            hint=f"did you mean {near[0]}?" if near else None,
        )


def _fresh(key: str | None) -> str:
    return str(uuid.uuid4()) if key is None else key


def cloud_event(
    data: object, *, id_: str | None, type_: str | None, source: str | None
) -> JsonObject:
    """Return a CloudEvent for a workflow."""
    return {
        "specversion": "1.0",
        "id": _fresh(id_),
        "source": _EVENT_SOURCE if source is None else source,
        "type": _EVENT_TYPE if type_ is None else type_,
        "datacontenttype": "application/json",
        "data": data,
    }


def approval_command(
    shown: Mapping[str, Any],
    decision: str,
    *,
    decision_id: str | None,
    reviewer: str,
    reason: str | None,
    action: object = None,
) -> JsonObject:
    """Return the decision of a request for approval as inspection shows it."""
    return {
        "scope": shown["scope"],
        "workflow_id": shown["workflow_id"],
        "key": shown["key"],
        "activation_id": shown["activation_id"],
        "revision": shown["revision"],
        "action": shown["action"] if action is None else action,
        "decision_id": _fresh(decision_id),
        "decision": decision,
        "reviewer": reviewer,
        "reason": reason,
    }
