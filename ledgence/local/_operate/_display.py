"""What is seen of a run while it runs: nothing, lines, or a tree on a terminal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, Protocol

import click

from ledgence.local._operate._pages import everything, lines
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import in_words
from ledgence.local._operate._tree import Node
from ledgence.local._text import shorten

__all__ = ["Display", "Quiet", "open_display", "short_id"]

_ID_SHOWN = 8
_SUBJECT_SHOWN = 60


class Display(Protocol):
    """Where progress and the output of programs go; used from several threads."""

    def line(self, text: str) -> None:
        """Show a line that a program or the host has said."""
        ...

    def update(self, tree: Node | None, now: int) -> None:
        """Show how far a run is; None when no run in particular is watched."""
        ...

    def close(self) -> None:
        """Take away what is not to stay."""
        ...


class Quiet:
    """Shows nothing."""

    def line(self, text: str) -> None:
        """Show nothing."""

    def update(self, tree: Node | None, now: int) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Do nothing."""


def open_display(session: Session, *, quiet: bool, since: int = 0) -> Display:
    """Return what suits standard error: a live tree on a terminal, lines elsewhere."""
    if quiet:
        return Quiet()
    if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb":
        # Imported here: the display library takes a while.
        from ledgence.local._operate._live import LiveDisplay  # noqa: PLC0415 # slow to load

        return LiveDisplay()
    return Lines(session, since)


def short_id(run_id: str) -> str:
    """Return the beginning of an id, enough for the commands to find it."""
    kind, _, rest = run_id.partition("_")
    return f"{kind}_{rest[:_ID_SHOWN]}"


class Lines:
    """Shows what happened in a run as lines on standard error.

    Args:
        session: Where the history of each workflow is read.
        since: What happened before is not shown; Unix milliseconds.
    """

    def __init__(self, session: Session, since: int = 0) -> None:
        self._session = session
        self._since = since
        self._seen: dict[str, int] = {}
        self._over: set[str] = set()
        self._retried: set[tuple[str, int]] = set()

    def line(self, text: str) -> None:
        """Print the line."""
        # Nobody may listen any more; the run goes on all the same.
        with contextlib.suppress(OSError, ValueError):
            click.echo(text, err=True)

    def update(self, tree: Node | None, now: int) -> None:
        """Print what has happened since the last update."""
        del now
        if tree is None:
            return
        for node in tree.walk():
            self._tell_retry(node)
        found = [
            one
            for node in tree.walk()
            if node.kind != "task" and node.id not in self._over
            for one in self._history(node)
        ]
        for _, text in sorted(found):
            self.line(text)

    def _tell_retry(self, node: Node) -> None:
        if node.retries and (node.id, node.attempts) not in self._retried:
            self._retried.add((node.id, node.attempts))
            text = f"attempt {node.attempts} failed; it is tried again"
            self.line(f"{_mark(node)} {text}")

    def _history(self, node: Node) -> Iterator[tuple[int, str]]:
        """Return new lines of a workflow with their place in the store's history."""
        about = self._session.about(workflow_id=node.id)
        states = {child.key: child.state for child in node.children}
        after = self._seen.get(node.id, 0)
        for one in lines(self._session.look.history, about, after):
            if one["reason"] == "child_ended" and _is_newer(one["subject"], states):
                return  # it has ended since the tree was read
            self._seen[node.id] = one["sequence"]
            if one["at"] < self._since:
                continue
            text = _words(one["reason"], one["subject"], states)
            if one["reason"] == "waiting":
                text += self._until(about, one)
            if text:
                yield one["sequence"], f"{_mark(node)} {text}"
        if node.over:
            self._over.add(node.id)

    def _until(self, about: dict[str, Any], line: dict[str, Any]) -> str:
        """Return how long a wait lasts at most, from its beginning."""
        kind, _, key = line["subject"].partition(" ")
        for wait in everything(self._session.look.waits, about):
            if (wait["kind"], wait["key"]) == (kind, key):
                deadline = wait["deadline"]
                if deadline is not None:
                    return f", at most {in_words(deadline - line['at'])}"
        return ""

    def close(self) -> None:
        """Nothing is to be taken away."""


def _mark(node: Node) -> str:
    return f"[{node.key} {short_id(node.id)}]"


def _is_newer(key: str, states: dict[str, str]) -> bool:
    return states.get(key, "ended") not in _ENDED


_ENDED = ("succeeded", "failed", "cancelled", "ended")
_TEXTS = {
    "submitted": "",
    "activation_scheduled": "activation {}",
    "step_committed": "step {} is kept",
    "decision_applied": "",
    "decision_refused": "decision refused: {}",
    "waiting": "waits for {}",
    "child_registered": "child {}",
    "fork_accepted": "fork {}",
    "event_accepted": "event {} accepted",
    "approval_decided": "approval {} decided",
    "failing": "fails: {}",
}


def _words(reason: str, subject: str | None, states: dict[str, str]) -> str:
    what = shorten(subject or "", _SUBJECT_SHOWN)
    if reason == "child_ended":
        return f"child {what} {states.get(subject or '', 'ended')}"
    if what == "1 children":
        what = "1 child"
    return _TEXTS.get(reason, reason.replace("_", " ")).format(what)
