"""Forks: branches of this workflow that are registered before its decision.

A fork shares the queue of the commits. Its acknowledgement means that the branches are
registered; nothing is known of their end (workflow-api.md, section 8).
"""

from __future__ import annotations

from ledgence.worker._exceptions import ArgumentError, BindingError, ProgramError
from ledgence.worker._profile import thaw
from ledgence.worker.workflow._branches import BranchSpec, ForkRef
from ledgence.worker.workflow._fields import (
    check_size,
    describe,
    differing,
    is_object,
    items,
    quoted,
    text,
)
from ledgence.worker.workflow._limits import MAX_COMMANDS, MAX_FORK_BYTES
from ledgence.worker.workflow._owned import Owned

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ledgence.worker.workflow._children import Children
    from ledgence.worker.workflow._exchange import Exchange


class Fork(Owned):
    """The registration of a fork."""

    __slots__ = ("_branches", "_context", "keys", "ref", "request")

    def __init__(
        self,
        context: object,
        exchange: Exchange,
        key: str,
        branches: list[tuple[str, str, bytes]],
    ) -> None:
        super().__init__(exchange, key)
        self._context = context
        self._branches = b",".join(encoded for _, _, encoded in branches)
        self.keys = [name for name, _, _ in branches]
        # As it is sent. The canonical order of its two members is the other one, but
        # the size is the same, and two requests are the same in either order.
        self.request = b'{"key":%b,"branches":[%b]}' % (quoted(key), self._branches)
        self.ref: ForkRef | None = None

    def value(self) -> ForkRef | None:
        """Return the reference, the same object every time."""
        return self.ref

    async def work(self) -> None:
        """Have the host register the branches."""
        await self.exchange.turn()
        try:
            reply = await self.exchange.send(
                self, "workflow.fork", self.request, self._payload
            )
            if not self._is_acknowledgement(reply):
                expected = "committed, the key and the branch keys of the fork"
                raise self.exchange.refused(reply, expected)
            self.ref = ForkRef(self.key, tuple(self.keys), self._context)
        finally:
            self.exchange.release()

    def _payload(self) -> dict[str, Any]:
        return {"key": self.key, "branches": thaw(b"[%b]" % self._branches)}

    def _is_acknowledgement(self, reply: object) -> bool:
        return (
            is_object(reply, {"committed", "key", "branch_keys"})
            and reply["committed"] is True
            and type(reply["key"]) is str
            and reply["key"] == self.key
            and type(reply["branch_keys"]) is list
            and reply["branch_keys"] == self.keys
        )


class Forks:
    """The forks of an activation.

    Attributes:
        owned: The registrations that were started, in order.
    """

    __slots__ = ("_children", "_context", "_exchange", "_forks", "owned")

    def __init__(self, context: object, exchange: Exchange, children: Children) -> None:
        self._context = context
        self._exchange = exchange
        self._children = children
        self._forks: dict[str, Fork] = {}
        self.owned: list[Fork] = []

    def begin(
        self, key: object, branches: object, allowed: Callable[[str], bool]
    ) -> Fork:
        """Find or start the registration of a fork.

        Args:
            key: The key of the fork.
            branches: What the author gave.
            allowed: Tells whether an entrypoint may be a target here.
        """
        name = text("key", key)
        try:
            fork = self._prepared(name, branches, allowed)
            known = self._forks.get(name)
            if known is not None:
                if known.request != fork.request:
                    diff = differing(known.request, fork.request)
                    raise BindingError("binding_changed", diff=diff)
                return known
            self._check_keys(fork)
        except ProgramError as error:
            error.key = error.key or name
            raise
        fork.start()
        self._forks[name] = fork
        self._children.branches.update(dict.fromkeys(fork.keys, name))
        self.owned.append(fork)
        return fork

    def _prepared(
        self, key: str, branches: object, allowed: Callable[[str], bool]
    ) -> Fork:
        given = items("branches", branches, MAX_COMMANDS)
        if not given:
            detail = "expected 1 to 64 branches, got none"
            raise ArgumentError("invalid_type", detail, argument="branches")
        found: list[tuple[str, str, bytes]] = []
        for spec in given:
            if type(spec) is not BranchSpec:
                detail = f"expected a BranchSpec, got {describe(spec)}"
                raise ArgumentError("invalid_reference", detail, argument="branches")
            found.append(spec.read(self._context))
        for _, entrypoint, _ in found:
            if not allowed(entrypoint):
                detail = f"entrypoint {describe(entrypoint)}"
                raise ArgumentError("invalid_target", detail, argument="branches")
        fork = Fork(self._context, self._exchange, key, found)
        if len(set(fork.keys)) < len(found):
            raise ArgumentError("duplicate_key", argument="branches")
        check_size("branches", "the request", len(fork.request), MAX_FORK_BYTES)
        return fork

    def _check_keys(self, fork: Fork) -> None:
        for branch_key in fork.keys:
            if branch_key in self._children:
                detail = f"branch {describe(branch_key)} is a staged child"
                raise BindingError("key_taken", detail)
            other = self._children.branches.get(branch_key)
            if other is not None:
                detail = f"branch {describe(branch_key)} of fork {describe(other)}"
                raise BindingError("key_taken", detail)

    def acknowledged(self, ref: object) -> ForkRef:
        """Return a reference that ``fork`` of this context has returned."""
        if not isinstance(ref, ForkRef):
            detail = f"expected a ForkRef, got {describe(ref)}"
            raise ArgumentError("invalid_reference", detail, argument="fork")
        if not ref.belongs_to(self._context):
            raise ArgumentError("foreign_reference", argument="fork", key=ref.key)
        fork = self._forks.get(ref.key)
        if fork is None or fork.ref is not ref:
            raise ArgumentError("fork_not_acknowledged", argument="fork", key=ref.key)
        return ref
