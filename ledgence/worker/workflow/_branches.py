"""Branches and references of forks: what a controller holds of them."""

from __future__ import annotations

from ledgence.worker._exceptions import ArgumentError, ProgramError
from ledgence.worker._frozen import Frozen
from ledgence.worker._profile import ProfileError, loads
from ledgence.worker.workflow._children import policy, timeout
from ledgence.worker.workflow._fields import (
    check_size,
    encode,
    is_object,
    quoted,
    text,
)
from ledgence.worker.workflow._limits import MAX_FORK_BYTES, VALUE_DEPTH

TYPE_CHECKING = False

_BRANCH = frozenset(
    {"attempt_timeout_ms", "data", "entrypoint", "key", "queue", "retry_policy"}
)


class BranchSpec(Frozen):
    """A branch that ``fork`` can start; made by ``WorkflowContext.branch``.

    Immutable. Two are equal when their content and their context are the same.

    Attributes:
        key: The key of the branch, T(128).
    """

    __slots__ = ("_context", "_encoded", "_made")

    def __init__(self, encoded: bytes, context: object) -> None:
        # Tool builders make it from the bytes alone; fork then checks their shape.
        object.__setattr__(self, "_encoded", encoded)
        object.__setattr__(self, "_context", context)
        object.__setattr__(self, "_made", None)

    if TYPE_CHECKING:
        _context: object
        _encoded: bytes
        _made: tuple[str, str] | None

    @property
    def key(self) -> str:
        """The key of the branch."""
        if self._made is not None:
            return self._made[0]
        found: str = loads(self._encoded)["key"]
        return found

    def __eq__(self, other: object) -> bool:
        if type(other) is not BranchSpec:
            return NotImplemented
        return self._context is other._context and self._encoded == other._encoded

    def __hash__(self) -> int:
        return hash(self._encoded)

    def __repr__(self) -> str:
        return f"BranchSpec({self.key!r})"

    def read(self, context: object) -> tuple[str, str, bytes]:
        """Return key, entrypoint and canonical bytes for a fork of a context."""
        if self._context is not context:
            raise ArgumentError("foreign_reference", argument="branches")
        if self._made is not None:
            return *self._made, self._encoded
        try:
            found = loads(self._encoded)
        except (ProfileError, TypeError):
            found = None
        if not is_object(found, _BRANCH):
            detail = "a hand-made BranchSpec of another shape"
            raise ArgumentError("invalid_reference", detail, argument="branches")
        made = branch(context, **found)
        return made.read(context)


class ForkRef(Frozen):
    """A registered fork; made by ``WorkflowContext.fork``.

    Immutable. It is no child reference: pass it to ``join``, or its ``branch_keys`` to
    ``suspend`` and ``get_result``.

    Attributes:
        key: The key of the fork.
        branch_keys: The keys of its branches, in order.
    """

    __slots__ = ("_branch_keys", "_context", "_key")

    def __init__(self, key: str, branch_keys: tuple[str, ...], context: object) -> None:
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_branch_keys", tuple(branch_keys))
        object.__setattr__(self, "_context", context)

    if TYPE_CHECKING:
        _branch_keys: tuple[str, ...]
        _context: object
        _key: str

    @property
    def key(self) -> str:
        """The key of the fork."""
        return self._key

    @property
    def branch_keys(self) -> tuple[str, ...]:
        """The keys of its branches, in order."""
        return self._branch_keys

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash((self._key, self._branch_keys))

    def __repr__(self) -> str:
        return f"ForkRef(key={self._key!r}, branch_keys={self._branch_keys!r})"

    def belongs_to(self, context: object) -> bool:
        """Tell whether a context has made this reference."""
        return self._context is context


def branch(
    context: object,
    key: object,
    *,
    entrypoint: object,
    queue: object,
    data: object,
    retry_policy: object,
    attempt_timeout_ms: object,
) -> BranchSpec:
    """Check the arguments of ``branch``; ``entrypoint`` is the text of a target."""
    name = text("key", key)
    try:
        target = text("entrypoint", entrypoint)
        encoded = (
            b'{"attempt_timeout_ms":%d,"data":%b,"entrypoint":%b,"key":%b,"queue":%b,'
            b'"retry_policy":%b}'
        ) % (
            timeout(attempt_timeout_ms),
            encode("data", data, MAX_FORK_BYTES, VALUE_DEPTH),
            quoted(target),
            quoted(name),
            quoted(text("queue", queue)),
            policy(retry_policy),
        )
        check_size("data", "the whole branch", len(encoded), MAX_FORK_BYTES)
    except ProgramError as error:
        error.key = name
        raise
    spec = BranchSpec(encoded, context)
    object.__setattr__(spec, "_made", (name, target))
    return spec
