"""Lists: their filters and cursors (http-api.md, section 4.5)."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar

from ledgence.local._engine._check import correlation, integer, record, text, timestamp
from ledgence.local._engine._errors import InvalidInput
from ledgence.local._engine._limits import CURSOR_BYTES, PAGE, PAGE_MOST
from ledgence.local._engine._ports import TaskFilter
from ledgence.local._engine._values import JsonObject, pack
from ledgence.local._engine._work import parse_scope
from ledgence.worker.workflow._fields import describe

__all__ = ["ListRequest", "page_of"]

T = TypeVar("T")

_FILTERS = (
    "state",
    "queue",
    "correlation_key",
    "submitted_from",
    "submitted_until",
    "parent_workflow_id",
    "root_only",
)


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A list request, checked.

    Attributes:
        wanted: The filter; its limit is one more than the page's, to see whether
            more follows.
        limit: The most items of the page.
        seal: Binds a cursor to scope and filters.
    """

    wanted: TaskFilter
    limit: int
    seal: str

    @classmethod
    def parse(cls, value: object, states: frozenset[str]) -> ListRequest:
        """Read the request of a list whose items have these states.

        Raises:
            InvalidInput: A filter is not of its form, or the cursor belongs to
                another scope or to other filters.
        """
        found = record(value, ("scope",), (*_FILTERS, "limit", "cursor"))
        limit = integer(found.get("limit", PAGE), 1, PAGE_MOST, path="$.limit")
        wanted = replace(_parse_filter(found, states), limit=limit + 1)
        seal = _seal(found)
        if found.get("cursor") is not None:
            wanted = replace(wanted, after=_open_cursor(found["cursor"], seal))
        return cls(wanted, limit, seal)

    def cursor(self, submitted_at: int, last_id: str) -> str:
        """Return the cursor of the page after this item."""
        data = json.dumps([self.seal, submitted_at, last_id]).encode()
        return base64.urlsafe_b64encode(data).decode()


def _parse_filter(found: JsonObject, states: frozenset[str]) -> TaskFilter:
    state = found.get("state")
    if state is not None and (type(state) is not str or state not in states):
        raise InvalidInput.at("$.state", "a state of the items", describe(state))
    start, end = _time(found, "submitted_from"), _time(found, "submitted_until")
    if start is not None and end is not None and end <= start:
        raise InvalidInput.at("$.submitted_until", f"more than {start}", str(end))
    root_only = found.get("root_only", False)
    if type(root_only) is not bool:
        raise InvalidInput.at("$.root_only", "true or false", describe(root_only))
    return TaskFilter(
        scope=parse_scope(found["scope"]),
        state=state,
        queue=_text(found, "queue"),
        correlation_key=correlation(
            found.get("correlation_key"), path="$.correlation_key"
        ),
        submitted_from=start,
        submitted_until=end,
        parent_workflow_id=_text(found, "parent_workflow_id"),
        root_only=root_only,
    )


def _text(found: JsonObject, name: str) -> str | None:
    return None if found.get(name) is None else text(found[name], path=f"$.{name}")


def _time(found: JsonObject, name: str) -> int | None:
    return None if found.get(name) is None else timestamp(found[name], path=f"$.{name}")


def _seal(found: JsonObject) -> str:
    bound = {name: found.get(name) for name in ("scope", *_FILTERS)}
    return sha256(pack(bound, CURSOR_BYTES).data).hexdigest()[:32]


def _open_cursor(cursor: object, seal: str) -> tuple[int, str]:
    refused = InvalidInput.at(
        "$.cursor", "the cursor of an earlier page of this list", describe(cursor)
    )
    if type(cursor) is not str or len(cursor) > CURSOR_BYTES:
        raise refused
    try:
        data = base64.b64decode(cursor, altchars=b"-_", validate=True)
        found_seal, submitted_at, last_id = json.loads(data)
    except (ValueError, TypeError):
        raise refused from None
    if found_seal != seal or type(submitted_at) is not int or type(last_id) is not str:
        raise refused
    return submitted_at, last_id


def page_of(items: list[T], limit: int) -> tuple[list[T], T | None]:
    """Split what was found with one item too many.

    Returns:
        The page, and its last item if more follows, else None.
    """
    page = items[:limit]
    return page, page[-1] if len(items) > limit else None
