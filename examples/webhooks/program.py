"""Route and summarise GitHub webhook deliveries.

A delivery is ``{"event": name, "n": number, "payload": object}``. The handler says
which team it is for and describes it in one line, and logs what it did. A delivery
that it cannot understand is an error with a type and a message that names the place:
the host records both, and the next delivery is not affected.

    ledgence-local run examples/webhooks/program.py:handle \
        --events examples/webhooks/deliveries.jsonl --protocol 2
"""

from __future__ import annotations

from typing import Any, TypedDict

from ledgence.worker import get_logger

log = get_logger("webhooks")

# The first word of an event's name decides; what is not listed is for everybody.
ROUTES = {
    "branch": "security",
    "check": "delivery",
    "code": "security",
    "discussion": "support",
    "issue": "planning",
    "issues": "planning",
    "marketplace": "billing",
    "package": "delivery",
    "pull": "review",
    "push": "review",
    "release": "delivery",
    "repository": "security",
    "sponsorship": "billing",
    "workflow": "delivery",
}


class DeliveryError(ValueError):
    """A delivery is not what GitHub promises to send."""


class Summary(TypedDict):
    """What the handler returns: plain JSON values only."""

    route: str
    headline: str
    repository: str | None
    sender: str


def handle(event: dict[str, Any]) -> Summary:
    """Summarise the delivery in ``event["data"]``."""
    delivery = event["data"]
    name = text(delivery, "event")
    payload = member(delivery, "payload", dict)
    summary: Summary = {
        "route": ROUTES.get(name.partition("_")[0], "everybody"),
        "headline": headline(name, payload),
        "repository": repository(payload),
        "sender": text(member(payload, "sender", dict, "payload"), "login"),
    }
    log.info(
        "Routed %s to %s",
        name,
        summary["route"],
        extra={"attributes": {"event": name, "repository": summary["repository"]}},
    )
    return summary


def headline(name: str, payload: dict[str, Any]) -> str:
    """Describe a delivery in one line."""
    words = [name.replace("_", " ")]
    if isinstance(payload.get("action"), str):
        words.append(payload["action"].replace("_", " "))
    if name == "push":
        words.append(f"of {len(member(payload, 'commits', list, 'payload'))} commits")
        words.append(f"to {text(payload, 'ref')}")
    for subject in ("issue", "pull_request", "discussion"):
        if subject in payload:
            found = member(payload, subject, dict, "payload")
            number = member(found, "number", int, f"payload.{subject}")
            return f"{' '.join(words)} #{number}: {text(found, 'title')}"
    return " ".join(words)


def repository(payload: dict[str, Any]) -> str | None:
    """Return the repository's full name; some deliveries have none."""
    found = payload.get("repository")
    return None if found is None else text(found, "full_name")


def text(holder: dict[str, Any], name: str) -> str:
    """Return a member that must be a nonempty text."""
    value: str = member(holder, name, str)
    if not value:
        raise DeliveryError(f"{name} is empty")
    return value


def member(holder: Any, name: str, kind: type, path: str = "delivery") -> Any:
    """Return a member that must be there and of that kind."""
    if not isinstance(holder, dict) or name not in holder:
        raise DeliveryError(f"{path}.{name} is missing")
    value = holder[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DeliveryError(
            f"{path}.{name} is {type(value).__name__}, expected {kind.__name__}"
        )
    return value
