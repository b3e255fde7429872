"""``approval list``, ``inspect``, and the decision that is recorded."""

from __future__ import annotations

import getpass
from hashlib import sha256
from typing import Any

import click

from ledgence.local._engine import Engine, NotFound
from ledgence.local._host._requests import approval_command
from ledgence.local._operate._find import find_workflow, near
from ledgence.local._operate._pages import everything
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import as_time, compact, facts, show_json, table

__all__ = ["approval_of", "decide", "inspect", "list_approvals", "list_pending"]

_ARGUMENTS_SHOWN = 80
_COLUMNS = ("WORKFLOW", "KEY", "ACTION", "ARGUMENTS", "STATUS", "UNTIL")


def list_approvals(
    session: Session, text: str, after_key: str | None, limit: int
) -> None:
    """Print a page of a workflow's requests for approval, by key."""
    workflow_id = find_workflow(session, text)
    request = session.about(workflow_id=workflow_id, after_key=after_key, limit=limit)
    page = session.look.list_approvals(request)
    if session.as_json:
        show_json(page)
        return
    _table(page["items"])
    if page["next_cursor"] is not None:
        click.echo(f"more: --after-key {page['next_cursor']}", err=True)


def list_pending(session: Session) -> None:
    """Print every request for approval that waits for a decision."""
    waiting = everything(
        session.look.list_workflows, session.about(state="waiting"), after="cursor"
    )
    found: list[dict[str, Any]] = []
    for one in waiting:
        about = session.about(workflow_id=one["workflow"]["workflow_id"])
        found += [
            item
            for item in everything(session.look.list_approvals, about)
            if item["status"] == "pending"
        ]
    if session.as_json:
        show_json({"items": found, "next_cursor": None})
    else:
        _table(found)


def _table(items: list[dict[str, Any]]) -> None:
    if not items:
        click.echo("no requests for approval", err=True)
        return
    table(
        _COLUMNS,
        (
            (
                one["workflow_id"],
                one["key"],
                f"{one['action']['name']}@{one['action']['version']}",
                compact(one["action"]["arguments"], _ARGUMENTS_SHOWN),
                one["status"],
                as_time(one["deadline"]),
            )
            for one in items
        ),
    )


def inspect(session: Session, text: str, key: str) -> None:
    """Print a request for approval."""
    found = approval_of(session, find_workflow(session, text), key)
    if session.as_json:
        show_json(found)
        return
    action = found["action"]
    decision: dict[str, Any] = found["decision"] or {}
    facts(
        {
            "workflow": found["workflow_id"],
            "key": found["key"],
            "status": found["status"],
            "action": f"{action['name']}@{action['version']}",
            "arguments": compact(action["arguments"]),
            "proposed": found["proposed_arguments"],
            "asked": as_time(found["created_at"]),
            "until": as_time(found["deadline"]),
            "reviewer": decision.get("reviewer"),
            "reason": decision.get("reason"),
            "decided": as_time(decision.get("decided_at")),
        }
    )


def approval_of(session: Session, workflow_id: str, key: str) -> dict[str, Any]:
    """Return a request for approval.

    Raises:
        NotFound: There is none under this key; the error names what is near.
    """
    about = session.about(workflow_id=workflow_id)
    try:
        return session.look.approval({**about, "key": key})
    except NotFound as error:
        found = everything(session.look.list_approvals, about)
        keys = [one["key"] for one in found]
        options = near(key, keys)
        if options:
            error.hint = f"did you mean {' or '.join(map(repr, options))}?"
        else:
            error.details["keys"] = ", ".join(map(repr, keys)) or "none"
        raise


def decide(
    session: Session,
    engine: Engine,
    workflow_id: str,
    key: str,
    *,
    decision: str,
    given: dict[str, Any],
) -> dict[str, Any]:
    """Record a decision about exactly what inspection shows; return its receipt.

    The same command again is recognised, also after the workflow has gone on.
    """
    shown = approval_of(session, workflow_id, key)
    reviewer = given["reviewer"] or getpass.getuser()
    words = (workflow_id, key, decision, reviewer, given["reason"] or "")
    mark = sha256("\0".join(words).encode()).hexdigest()[:32]
    return engine.decide_approval(
        approval_command(
            shown,
            decision,
            decision_id=given["decision_id"] or f"cli-{mark}",
            reviewer=reviewer,
            reason=given["reason"],
        )
    )
