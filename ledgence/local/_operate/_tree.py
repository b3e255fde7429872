"""A run with everything that it owns, as it stands now."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ledgence.local._operate._find import Found
from ledgence.local._operate._pages import everything
from ledgence.local._operate._session import Place, Session

__all__ = ["Awaited", "Node", "TreeReader", "awaited_by"]

# A tree of workflows is at most 16 deep.
_DEPTH = 17
_OUTSIDE = ("event", "approval")
_RECENT = 4


@dataclass(frozen=True, slots=True)
class Awaited:
    """An open wait of a workflow.

    Attributes:
        kind: ``event``, ``approval`` or ``timer``.
        deadline: Unix milliseconds, None without one.
        release: The command that ends it; None for a timer.
    """

    workflow_id: str
    kind: str
    key: str
    deadline: int | None
    release: str | None

    def to_json(self) -> dict[str, Any]:
        """Return it for machines."""
        return {
            "workflow_id": self.workflow_id,
            "kind": self.kind,
            "key": self.key,
            "deadline": self.deadline,
            "release": self.release,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A task or a workflow in a tree.

    Attributes:
        key: Its key in the workflow that owns it; of the outermost its program.
        kind: ``task``, ``workflow`` or ``branch``.
        attempts: Of a task, or of the activation that runs; 0 where not known.
        available_at: When a task that is queued may run; None for anything else.
        activations: The last ones of a workflow: revision, continuation, and state or
            decision.
    """

    id: str
    key: str
    kind: str
    state: str
    began_at: int
    ended_at: int | None
    attempts: int = 0
    available_at: int | None = None
    activations: tuple[tuple[int, str, str], ...] = ()
    wait: Awaited | None = None
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Return this one and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.ended_at is not None

    @property
    def waits(self) -> list[Awaited]:
        """All open waits in the tree."""
        return [one.wait for one in self.walk() if one.wait is not None]

    @property
    def stuck(self) -> bool:
        """Whether nothing goes on in the tree before something comes from outside."""
        waits = self.waits
        return bool(waits) and not any(one.busy for one in self.walk())

    @property
    def retries(self) -> bool:
        """Whether its last attempt has failed, and another will be made."""
        if self.over or not self.attempts:
            return False
        state = self.activations[-1][2] if self.activations else self.state
        return state == "queued"

    @property
    def busy(self) -> bool:
        """Whether it does something on its own account, now or at a known time."""
        if self.over:
            return False
        if self.kind == "task":
            return True
        if self.wait is not None:
            return self.wait.kind not in _OUTSIDE
        return self.state != "waiting"


@dataclass(slots=True)
class TreeReader:
    """Reads a tree again and again; what has ended is not read twice."""

    session: Session
    root: Found
    _ended: dict[str, Node] = field(default_factory=dict[str, Node])

    def read(self) -> Node:
        """Return the tree as it stands."""
        if self.root.kind == "task":
            return self._task(self.root.id, self.root.id)
        return self._workflow(self.root.id, "", "workflow", 0)

    def _task(self, task_id: str, key: str) -> Node:
        status = self.session.look.task_status(self.session.about(task_id=task_id))
        queued = status["state"] == "queued"
        return Node(
            id=task_id,
            key=key,
            kind="task",
            state=status["state"],
            began_at=status["submitted_at"],
            ended_at=status["terminal_at"],
            attempts=status["attempt_count"],
            available_at=status["available_at"] if queued else None,
        )

    def _workflow(self, workflow_id: str, key: str, kind: str, depth: int) -> Node:
        about = self.session.about(workflow_id=workflow_id)
        found = self.session.look.workflow(about)
        status = found["summary"]["workflow"]
        program = found["summary"]["controller"]["program"]
        running, activations = self._activations(about, status)
        wait = found["external_wait"]
        return Node(
            id=workflow_id,
            key=key or f"{program['id']}@{program['version']}",
            kind=kind,
            state=status["state"],
            began_at=status["submitted_at"],
            ended_at=status["terminal_at"],
            attempts=running,
            activations=activations,
            wait=None if wait is None else _awaited(self.session.place, wait),
            children=tuple(self._children(about, depth)) if depth < _DEPTH else (),
        )

    def _activations(
        self, about: dict[str, Any], status: dict[str, Any]
    ) -> tuple[int, tuple[tuple[int, str, str], ...]]:
        first = status["revision"] - _RECENT
        request = {**about, "after_revision": first} if first >= 0 else about
        items = self.session.look.activations(request)["items"]
        shown = tuple(
            (
                one["revision"],
                one["continuation"],
                one["error"] or one["decision"] or one["state"],
            )
            for one in items
        )
        running = status["activation_id"] is not None and items
        return items[-1]["attempt_count"] if running else 0, shown

    def _children(self, about: dict[str, Any], depth: int) -> Iterator[Node]:
        for child in everything(self.session.look.children, about):
            yield self._child(child, depth)

    def _child(self, child: dict[str, Any], depth: int) -> Node:
        target, key = child["target_id"], child["command_key"]
        known = self._ended.get(target)
        if known is not None:
            return known
        kind = "branch" if child["branch"] else child["kind"]
        if kind != "task":
            node = self._workflow(target, key, kind, depth + 1)
        elif child["terminal_at"] is None:
            return self._task(target, key)
        else:
            node = Node(
                id=target,
                key=key,
                kind=kind,
                state=child["task_state"],
                began_at=child["registered_at"],
                ended_at=child["terminal_at"],
            )
        if node.over:
            self._ended[target] = node
        return node


def awaited_by(session: Session, workflow_id: str) -> list[Awaited]:
    """Return every open wait of a workflow and of those it owns."""
    return TreeReader(session, Found("workflow", workflow_id)).read().waits


def _awaited(place: Place, wait: dict[str, Any]) -> Awaited:
    run, key = wait["workflow_id"], wait["key"]
    where = f"{run} {shlex.quote(key)}"
    if key.startswith("-"):
        where = f"-- {where}"  # it would be taken for an option
    release = {
        "event": f"{place.words('event send')} --data JSON {where}",
        "approval": f"{place.words('approval approve')} {where}",
    }.get(wait["kind"])
    return Awaited(run, wait["kind"], key, wait["deadline"], release)
