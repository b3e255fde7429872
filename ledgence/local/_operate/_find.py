"""From what a person types to an id: whole, shortened, or ``last``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ledgence.local._engine import InvalidInput, NotFound
from ledgence.local._operate._session import Session

__all__ = ["Found", "find_run", "find_task", "find_workflow", "near"]

Kind = Literal["task", "workflow"]

LAST = "last"
_PREFIX = {"task": "task_", "workflow": "wf_"}
_SHORTEST = 4
# How far back a shortened id is looked for, and how many are named.
_PAGES = 20
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Found:
    """A task or a workflow."""

    kind: Kind
    id: str


def find_workflow(session: Session, text: str) -> str:
    """Return the id of the workflow that ``text`` means.

    Args:
        session: The store.
        text: An id, the beginning of one with or without ``wf_``, or ``last``.

    Raises:
        NotFound: There is none; the error names what is near.
        InvalidInput: There are several.
    """
    return _find(session, "workflow", text)


def find_task(session: Session, text: str) -> str:
    """Return the id of the task that ``text`` means, as ``find_workflow`` does."""
    return _find(session, "task", text)


def find_run(session: Session, text: str) -> Found:
    """Return the workflow or, for an id that begins with ``task_``, the task."""
    kind: Kind = "task" if text.startswith("task_") else "workflow"
    return Found(kind, _find(session, kind, text))


def _find(session: Session, kind: Kind, text: str) -> str:
    other: Kind = "task" if kind == "workflow" else "workflow"
    if text.startswith(_PREFIX[other]):
        raise InvalidInput(
            f"{text} is a {other}, not a {kind}",
            hint=f"ledgence-local {other} {'status' if other == 'task' else 'show'}"
            f" {text}",
        )
    whole = text if text.startswith(_PREFIX[kind]) else _PREFIX[kind] + text
    if text != LAST and _exists(session, kind, whole):
        return whole
    ids = list(_ids(session, kind, newest=text == LAST))
    if text == LAST and ids:
        return ids[0]
    short = len(whole) < len(_PREFIX[kind]) + _SHORTEST
    matches = [] if short else [one for one in ids if one.startswith(whole)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InvalidInput(
            f"{len(matches)} {kind}s begin with {whole}",
            details={"they are": ", ".join(matches[:_SHOWN])},
            hint="give more of the id",
        )
    raise _none(kind, text, whole, ids)


def _none(kind: Kind, text: str, whole: str, ids: list[str]) -> NotFound:
    options = near(whole, ids)
    listing = f"ledgence-local {kind} list"
    what = (
        f"there is no {kind}" if text == LAST else f"there is no {kind} {text[:80]!r}"
    )
    hint = (
        f"did you mean {' or '.join(options)}?" if options else f"list them: {listing}"
    )
    return NotFound(what, hint=hint)


def near(word: str, words: list[str]) -> list[str]:
    """Return at most three of the words that look like this one."""
    import difflib  # noqa: PLC0415 - only when something was not found

    return difflib.get_close_matches(word, words, 3, 0.7)


def _exists(session: Session, kind: Kind, whole: str) -> bool:
    ask = session.look.task_status if kind == "task" else session.look.workflow_status
    try:
        ask(session.about(**{f"{kind}_id": whole}))
    except (NotFound, InvalidInput):
        return False
    return True


def _ids(session: Session, kind: Kind, *, newest: bool) -> Iterator[str]:
    """Return the ids of a kind, newest first; of workflows ``last`` means roots."""
    cursor: str | None = None
    for _ in range(1 if newest else _PAGES):
        limit = 1 if newest else 100
        request = session.about(limit=limit, cursor=cursor)
        if kind == "task":
            page = session.look.list_tasks(request)
            yield from (one["task_id"] for one in page["items"])
        else:
            if newest:
                request["root_only"] = True
            page = session.look.list_workflows(request)
            yield from (one["workflow"]["workflow_id"] for one in page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            return
