"""Shell completion of ids and keys, from the store that the line names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from ledgence.local._operate._session import Session

__all__ = ["approval_keys", "event_keys", "tasks", "workflows"]

Found = Iterator[tuple[str, str]]


def _from_store(
    context: click.Context, incomplete: str, ask: Callable[[Session], Found]
) -> list[CompletionItem]:
    """Return what begins as the word does; nothing when the store does not answer."""
    from ledgence.local._errors import LocalError  # noqa: PLC0415 - only when completing
    from ledgence.local._operate._session import Place, Session  # noqa: PLC0415 - as above

    given = {"as_json": False, **context.params}
    with contextlib.suppress(LocalError), Session(Place.of(given)) as session:
        return [
            CompletionItem(word, help=text)
            for word, text in ask(session)
            if word.startswith(incomplete)
        ]
    return []


def workflows(
    context: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the id of a workflow; the newest hundred are offered."""

    def ask(session: Session) -> Found:
        yield "last", "the newest workflow"
        for one in session.look.list_workflows(session.about(limit=100))["items"]:
            program = one["controller"]["program"]["id"]
            run = one["workflow"]
            yield run["workflow_id"], f"{program}, {run['state']}"

    return _from_store(context, incomplete, ask)


def tasks(
    context: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the id of a task; the newest hundred are offered."""

    def ask(session: Session) -> Found:
        yield "last", "the newest task"
        for one in session.look.list_tasks(session.about(limit=100))["items"]:
            yield one["task_id"], one["state"]

    return _from_store(context, incomplete, ask)


def approval_keys(
    context: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the key of a request for approval of the workflow on the line."""

    def ask(session: Session) -> Found:
        for one in session.look.list_approvals(_workflow(session, context))["items"]:
            yield one["key"], f"{one['action']['name']}, {one['status']}"

    return _from_store(context, incomplete, ask)


def event_keys(
    context: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the key that the workflow on the line waits for."""

    def ask(session: Session) -> Found:
        wait = session.look.workflow(_workflow(session, context))["external_wait"]
        if wait is not None and wait["kind"] == "event":
            yield wait["key"], "awaited"

    return _from_store(context, incomplete, ask)


def _workflow(session: Session, context: click.Context) -> dict[str, object]:
    from ledgence.local._operate._find import find_workflow  # noqa: PLC0415 - as above

    workflow_id = find_workflow(session, context.params["workflow_id"])
    return session.about(workflow_id=workflow_id)
