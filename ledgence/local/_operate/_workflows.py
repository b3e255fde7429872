"""``workflow list``, ``show`` and ``events``."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any

import click

from ledgence.local._operate._find import find_workflow
from ledgence.local._operate._pages import everything, lines
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import (
    as_time,
    compact,
    facts,
    in_words,
    show_json,
    table,
)
from ledgence.local._operate._tree import Awaited, awaited_by
from ledgence.local._replay import History, Operation

__all__ = [
    "events",
    "inbox",
    "list_workflows",
    "operation_table",
    "outcome_facts",
    "show",
    "waits_facts",
]

_DATA_SHOWN = 80


def list_workflows(session: Session, given: dict[str, Any]) -> None:
    """Print a page of workflows, newest first."""
    page = session.look.list_workflows(session.about(**given))
    if session.as_json:
        show_json(page)
        return
    if not page["items"]:
        click.echo("no workflows", err=True)
        return
    columns = ("WORKFLOW", "PROGRAM", "STATE", "REVISION", "SUBMITTED", "ENDED")
    table(columns, map(_row, page["items"]))
    if page["next_cursor"] is not None:
        click.echo(f"more: --cursor {page['next_cursor']}", err=True)


def _row(item: dict[str, Any]) -> tuple[object, ...]:
    run = item["workflow"]
    return (
        run["workflow_id"],
        _program(item["controller"]),
        run["state"],
        run["revision"],
        as_time(run["submitted_at"]),
        as_time(run["terminal_at"]),
    )


def _program(descriptor: dict[str, Any]) -> str:
    return f"{descriptor['program']['id']}@{descriptor['program']['version']}"


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
        "program": _program(item["controller"]),
        "state": run["state"],
        "revision": run["revision"],
        "parent": run.get("parent_workflow_id"),
        "correlation": run["correlation_key"],
        "queue": item["queue"],
        "submitted": as_time(run["submitted_at"]),
        "ended": as_time(run["terminal_at"]),
    }


def outcome_facts(outcome: dict[str, Any] | None) -> dict[str, object]:
    """Return an outcome for people; nothing while there is none."""
    if outcome is None:
        return {}
    if "output" in outcome:
        return {"output": compact(outcome["output"])}
    error = outcome.get("error") or outcome.get("failure")
    return {} if error is None else {"error": compact(error)}


def waits_facts(waits: list[Awaited]) -> None:
    """Print what is awaited, each with the command that releases it."""
    for one in waits:
        until = "" if one.deadline is None else f", until {as_time(one.deadline)}"
        click.echo(f"waits for {one.kind} {one.key!r}{until}")
        if one.release is not None:
            click.echo(f"  {one.release}")


def events(session: Session, text: str, after: int) -> None:
    """Print what happened to a workflow, in order."""
    about = session.about(workflow_id=find_workflow(session, text))
    found = list(lines(session.look.history, about, after))
    if session.as_json:
        for one in found:
            show_json(one)
        return
    table(
        ("SEQUENCE", "TIME", "WHAT", "SUBJECT"),
        (
            (one["sequence"], as_time(one["at"]), one["reason"], one["subject"])
            for one in found
        ),
    )


def inbox(session: Session, text: str) -> None:
    """Print the events that a workflow has accepted from outside, by key."""
    about = session.about(workflow_id=find_workflow(session, text))
    found = list(everything(session.look.inbox, about))
    if session.as_json:
        for one in found:
            show_json(one)
        return
    table(
        ("KEY", "ACCEPTED", "TAKEN", "TYPE", "ID", "DATA"),
        (
            (
                one["key"],
                as_time(one["accepted_at"]),
                "no" if one["pending"] else "yes",
                one["event"]["type"],
                one["event_id"],
                compact(one["event"]["data"], _DATA_SHOWN),
            )
            for one in found
        ),
    )
