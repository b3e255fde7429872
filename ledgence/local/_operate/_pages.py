"""Pages of an answer, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["everything", "lines"]


def everything(
    ask: Callable[[object], dict[str, Any]],
    request: dict[str, Any],
    *,
    after: str = "after_key",
) -> Iterator[dict[str, Any]]:
    """Return all items of a list that comes in pages.

    Args:
        ask: Answers with ``items`` and ``next_cursor``.
        request: The request without a place to begin.
        after: The member that takes the cursor.
    """
    asked = dict(request)
    while True:
        page = ask(asked)
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        asked[after] = page["next_cursor"]


def lines(
    ask: Callable[[object], list[dict[str, Any]]], request: dict[str, Any], after: int
) -> Iterator[dict[str, Any]]:
    """Return all numbered lines of a history after a sequence number."""
    while page := ask({**request, "after_sequence": after}):
        yield from page
        after = page[-1]["sequence"]
