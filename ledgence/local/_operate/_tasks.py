"""``task list``, ``status``, ``result``, ``inspect`` and ``history``."""

from __future__ import annotations

from typing import Any

import click

from ledgence.local._exit import ExitCode
from ledgence.local._operate._find import find_task
from ledgence.local._operate._pages import lines
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import as_time, facts, show_json, table
from ledgence.local._operate._workflows import outcome_facts

__all__ = ["history", "inspect", "list_tasks", "result", "status", "status_facts"]


def list_tasks(session: Session, given: dict[str, Any]) -> None:
    """Print a page of tasks, newest first."""
    page = session.look.list_tasks(session.about(**given))
    if session.as_json:
        show_json(page)
        return
    if not page["items"]:
        click.echo("no tasks", err=True)
        return
    table(
        ("TASK", "STATE", "ATTEMPTS", "QUEUE", "WORKFLOW", "SUBMITTED", "ENDED"),
        map(_row, page["items"]),
    )
    if page["next_cursor"] is not None:
        click.echo(f"more: --cursor {page['next_cursor']}", err=True)


def _row(task: dict[str, Any]) -> tuple[object, ...]:
    return (
        task["task_id"],
        task["state"],
        task["attempt_count"],
        task["queue"],
        task.get("workflow_id"),
        as_time(task["submitted_at"]),
        as_time(task["terminal_at"]),
    )


def status_facts(task: dict[str, Any]) -> dict[str, object]:
    """Return the status of a task for people."""
    waiting = task["state"] == "queued"
    return {
        "task": task["task_id"],
        "state": task["state"],
        "attempts": task["attempt_count"],
        "queue": task["queue"],
        "correlation": task["correlation_key"],
        "workflow": task.get("workflow_id"),
        "submitted": as_time(task["submitted_at"]),
        "available": as_time(task["available_at"]) if waiting else None,
        "ended": as_time(task["terminal_at"]),
    }


def status(session: Session, text: str) -> None:
    """Print the status of a task."""
    found = session.look.task_status(session.about(task_id=find_task(session, text)))
    if session.as_json:
        show_json(found)
    else:
        facts(status_facts(found))


def result(session: Session, text: str) -> int:
    """Print status and outcome of a task, without waiting for them."""
    found = session.look.task_result(session.about(task_id=find_task(session, text)))
    if session.as_json:
        show_json(found)
    else:
        facts({**status_facts(found["task"]), **outcome_facts(found["outcome"])})
    failed = found["task"]["state"] in ("failed", "cancelled")
    return ExitCode.PROGRAM_FAILURE if failed else ExitCode.SUCCESS


def inspect(session: Session, text: str) -> None:
    """Print what was submitted and which program is bound to it."""
    about = session.about(task_id=find_task(session, text))
    found = session.look.task_snapshot(about)
    if session.as_json:
        show_json(found)
        return
    program = found["descriptor"]["program"]
    facts(
        {
            **status_facts(session.look.task_status(about)),
            "program": f"{program['id']}@{program['version']}",
            "digest": found["descriptor"]["digest"],
            "key": found["idempotency_key"],
            "data": found["input"]["data"],
        }
    )


def history(session: Session, text: str, after: int) -> None:
    """Print what happened to a task, in order."""
    about = session.about(task_id=find_task(session, text))
    found = list(lines(session.look.task_history, about, after))
    if session.as_json:
        for one in found:
            show_json(one)
        return
    table(
        ("SEQUENCE", "TIME", "WHAT", "ATTEMPT"),
        (
            (
                one["sequence"],
                as_time(one["event"]["at"]),
                one["event"]["reason"],
                one["event"]["attempt_id"],
            )
            for one in found
        ),
    )
