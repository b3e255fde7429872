"""``workflow show``: a workflow with all that it has done and waits for."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any

import click

from ledgence.local._operate._find import find_workflow
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import as_time, facts, in_words, show_json, table
from ledgence.local._operate._tree import awaited_by
from ledgence.local._operate._workflows import outcome_facts, program_of, waits_facts
from ledgence.local._replay import History, Operation

__all__ = ["operation_table", "show"]


def show(session: Session, text: str) -> None:
    """Print what a workflow has done, what it does and what it waits for."""
    workflow_id = find_workflow(session, text)
    about = session.about(workflow_id=workflow_id)
    summary = session.look.workflow(about)
    outcome = session.look.workflow_result(about)["outcome"]
    waits = awaited_by(session, workflow_id)
    history = History.of_workflow(session.look, about)
    if session.as_json:
        show_json(
            {
                **summary,
                "outcome": outcome,
                "awaits": [one.to_json() for one in waits],
                "activations": [_without_content(one) for one in history.activations],
                "operations": [one.to_json() for one in history.operations],
            }
        )
        return
    facts({**_facts(summary["summary"]), **outcome_facts(outcome)})
    waits_facts(waits)
    click.echo()
    operation_table(history)


def _without_content(activation: dict[str, Any]) -> dict[str, Any]:
    """Return an activation without what `history export` is for."""
    left_out = ("event", "context", "requests", "decision")
    return {name: one for name, one in activation.items() if name not in left_out}


def operation_table(history: History, *, error: bool = False) -> None:
    """Print activations and operations in the order in which they began.

    Args:
        history: What the workflow did.
        error: Print on standard error.
    """
    rows = [*map(_activation_row, history.activations)]
    rows += [_operation_row(one) for one in history.operations]
    rows.sort(key=itemgetter(0))
    columns = ("NO", "KEY", "KIND", "STATE", "ATTEMPTS", "BEGAN", "TOOK", "BYTES")
    table(columns, (row[1] for row in rows), error=error)


Row = tuple[tuple[int, float, int], tuple[object, ...]]


def _activation_row(one: dict[str, Any]) -> Row:
    decision: dict[str, Any] = one["decision"] or {}
    state = one["error"] or decision.get("kind") or one["state"]
    began, ended = one["scheduled_at"], one["applied_at"]
    return (began, one["revision"], 0), (
        one["revision"],
        one["continuation"],
        "activation",
        state,
        len(one["attempts"]),
        as_time(began),
        _took(began, ended),
        None,
    )


def _operation_row(one: Operation) -> Row:
    revision = math.inf if one.revision is None else one.revision
    return (one.began_at, revision, 1), (
        one.revision,
        one.key,
        one.kind,
        one.state,
        one.attempts,
        as_time(one.began_at),
        _took(one.began_at, one.ended_at),
        one.size,
    )


def _took(began: int, ended: int | None) -> str | None:
    return None if ended is None else in_words(ended - began)


def _facts(item: dict[str, Any]) -> dict[str, object]:
    run = item["workflow"]
    return {
        "workflow": run["workflow_id"],
        "program": program_of(item["controller"]),
        "state": run["state"],
        "revision": run["revision"],
        "parent": run.get("parent_workflow_id"),
        "correlation": run["correlation_key"],
        "queue": item["queue"],
        "submitted": as_time(run["submitted_at"]),
        "ended": as_time(run["terminal_at"]),
    }
