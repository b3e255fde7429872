"""``workflow list`` and ``events``, and what all answers about workflows share."""

from __future__ import annotations

from typing import Any

import click

from ledgence.local._operate._find import find_workflow
from ledgence.local._operate._pages import everything, lines
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import (
    as_time,
    compact,
    show_json,
    table,
)
from ledgence.local._operate._tree import Awaited

__all__ = [
    "events",
    "inbox",
    "list_workflows",
    "outcome_facts",
    "program_of",
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
        program_of(item["controller"]),
        run["state"],
        run["revision"],
        as_time(run["submitted_at"]),
        as_time(run["terminal_at"]),
    )


def program_of(descriptor: dict[str, Any]) -> str:
    """Return a descriptor's program for people."""
    return f"{descriptor['program']['id']}@{descriptor['program']['version']}"


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
