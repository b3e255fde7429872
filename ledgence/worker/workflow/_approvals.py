"""Approvals: the action that is asked for, and the answer that woke the workflow.

There is no digest or token: an action is its name, version and arguments, compared by
their canonical bytes (workflow-api.md, sections 10 and 12).
"""

from __future__ import annotations

from enum import StrEnum

from ledgence.worker._exceptions import ApprovalError, ArgumentError
from ledgence.worker._frozen import Frozen
from ledgence.worker._profile import ProfileError, thaw
from ledgence.worker._profile import encode as profile_encode
from ledgence.worker.workflow._callables import effective_arguments, name_of
from ledgence.worker.workflow._fields import (
    check_size,
    describe,
    differing,
    encode,
    mapping,
    members,
    quoted,
    text,
)
from ledgence.worker.workflow._kinds import is_dict
from ledgence.worker.workflow._limits import (
    MAX_APPROVAL_BYTES,
    NAME_BYTES,
    RESERVED_PREFIX,
    VALUE_DEPTH,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar

    from ledgence.worker.workflow._snapshot import Snapshot

    _Action = TypeVar("_Action", bound="ApprovalAction")


class ApprovalStatus(StrEnum):
    """How an approval stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class ApprovalAction:
    """What a reviewer approves: a name, a version and arguments.

    Immutable; equal and hashed by content. Needs no active workflow.

    Args:
        name: T(512); for an action that is run later, ``module:qualified name`` as
            ``for_callable`` makes it.
        version: T(128).
        arguments: A dict of JSON values, 64 levels deep at most. The whole action has
            at most 32768 bytes.

    Raises:
        WorkflowError: An argument is not as above.
    """

    __slots__ = ("_arguments", "_encoded", "_name", "_version")

    def __init__(self, name: str, *, version: str, arguments: dict[str, Any]) -> None:
        checked = text("name", name, NAME_BYTES)
        _fill(self, *_checked(checked, version, mapping("arguments", arguments)))

    if TYPE_CHECKING:
        _name: str
        _version: str
        _arguments: bytes
        _encoded: bytes

    @classmethod
    def for_callable(
        cls, fn: Callable[..., Any], *, version: str, arguments: dict[str, Any]
    ) -> Self:
        """Make the action of calling a callable.

        The arguments are bound to its signature and its defaults are filled in, so
        that the reviewer sees all of them.

        Args:
            fn: A callable with a module and a qualified name; a bound method records
                ``Class.method`` and its ``self`` is no argument.
            version: T(128).
            arguments: Keyword arguments.

        Raises:
            WorkflowError: They do not fit the signature, a parameter is
                positional-only, or something is not as ``ApprovalAction`` takes it.
        """
        name = name_of(fn)
        effective = effective_arguments(fn, mapping("arguments", arguments))
        return _fill(cls.__new__(cls), *_checked(name, version, effective))

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Make the action of a snapshot, which is checked already."""
        return _fill(
            cls.__new__(cls),
            snapshot.name,
            snapshot.version,
            snapshot.arguments,
            snapshot.action,
        )

    @property
    def name(self) -> str:
        """The name of the action."""
        return self._name

    @property
    def version(self) -> str:
        """The version of the action."""
        return self._version

    @property
    def arguments(self) -> dict[str, Any]:
        """A fresh copy of the arguments."""
        arguments: dict[str, Any] = thaw(self._arguments)
        return arguments

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"arguments", "name", "version"}`` as a fresh dict."""
        whole: dict[str, Any] = thaw(self._encoded)
        return whole

    def encoded(self) -> bytes:
        """Return the canonical bytes of the action."""
        return self._encoded

    def __eq__(self, other: object) -> bool:
        if type(other) is not ApprovalAction:
            return NotImplemented
        return self._encoded == other._encoded

    def __hash__(self) -> int:
        return hash(self._encoded)

    def __repr__(self) -> str:
        return f"ApprovalAction({self._name!r}, version={self._version!r})"

    __setattr__ = Frozen.__setattr__
    __delattr__ = Frozen.__delattr__


def _checked(
    name: str, version: object, arguments: dict[str, Any]
) -> tuple[str, str, bytes, bytes]:
    """Check the parts of an action; return them with their canonical bytes."""
    checked = text("version", version)
    encoded = encode("arguments", arguments, MAX_APPROVAL_BYTES, VALUE_DEPTH)
    whole = b'{"arguments":%b,"name":%b,"version":%b}' % (
        encoded,
        quoted(name),
        quoted(checked),
    )
    check_size("arguments", "the whole action", len(whole), MAX_APPROVAL_BYTES)
    return name, checked, encoded, whole


def _fill(
    action: _Action, name: str, version: str, arguments: bytes, whole: bytes
) -> _Action:
    object.__setattr__(action, "_name", name)
    object.__setattr__(action, "_version", version)
    object.__setattr__(action, "_arguments", arguments)
    object.__setattr__(action, "_encoded", whole)
    return action


def action_of(value: object) -> ApprovalAction:
    """Return an action that an author gave as an object or as a dict."""
    if type(value) is ApprovalAction:
        return value
    if not is_dict(value):
        detail = f"expected an ApprovalAction or a dict, got {describe(value)}"
        raise ArgumentError("invalid_type", detail, argument="action")
    found = members("action", value, ("name", "version", "arguments"))
    return ApprovalAction(
        found["name"], version=found["version"], arguments=found["arguments"]
    )


class ApprovalDecision(Frozen):
    """What a reviewer decided; frozen.

    Attributes:
        decision_id: T(128).
        decision: ``approve`` or ``reject``.
        reviewer: T(128).
        reason: A text of at most 4096 bytes, or None.
        decided_at: Unix milliseconds.
    """

    decision_id: str
    decision: str
    reviewer: str
    reason: str | None
    decided_at: int

    def __init__(
        self,
        decision_id: str,
        decision: str,
        reviewer: str,
        reason: str | None,
        decided_at: int,
    ) -> None:
        self.__dict__.update(
            decision_id=decision_id,
            decision=decision,
            reviewer=reviewer,
            reason=reason,
            decided_at=decided_at,
        )


class Approval:
    """The approval that woke this activation; an immutable view.

    Made by ``WorkflowContext.approval``. What its properties return are fresh copies.
    Equal by content.
    """

    __slots__ = ("_snapshot",)

    def __init__(self, snapshot: Snapshot) -> None:
        object.__setattr__(self, "_snapshot", snapshot)

    if TYPE_CHECKING:
        _snapshot: Snapshot

    @property
    def status(self) -> ApprovalStatus:
        """``APPROVED``, ``REJECTED`` or ``EXPIRED``; the other two wake nobody."""
        return ApprovalStatus(self._snapshot.status)

    @property
    def action(self) -> ApprovalAction:
        """The action that was asked for."""
        return ApprovalAction.of(self._snapshot)

    @property
    def decision(self) -> ApprovalDecision | None:
        """What the reviewer decided; None for an expired approval."""
        fields = self._snapshot.decision
        return None if fields is None else ApprovalDecision(*fields)

    @property
    def key(self) -> str:
        """The key that the approval was requested under."""
        return self._snapshot.key

    @property
    def scope(self) -> dict[str, str]:
        """``{"namespace", "tenant_id"}`` of the workflow."""
        tenant, namespace = self._snapshot.scope
        return {"namespace": namespace, "tenant_id": tenant}

    @property
    def workflow_id(self) -> str:
        """The workflow that asked."""
        return self._snapshot.workflow_id

    @property
    def activation_id(self) -> str:
        """The activation that asked."""
        return self._snapshot.activation_id

    @property
    def revision(self) -> int:
        """The revision of the activation that asked."""
        return self._snapshot.revision

    @property
    def resumed_activation_id(self) -> str:
        """The activation that the answer resumed: this one."""
        return self._snapshot.resumed_activation_id

    @property
    def proposed_arguments(self) -> dict[str, Any] | None:
        """The arguments that were proposed to the reviewer, if any."""
        proposed: dict[str, Any] | None = thaw(self._snapshot.proposed)
        return proposed

    @property
    def created_at(self) -> int:
        """When it was requested, in Unix milliseconds."""
        return self._snapshot.created_at

    @property
    def deadline(self) -> int:
        """When it expires or would have expired, in Unix milliseconds."""
        return self._snapshot.deadline

    def to_dict(self) -> dict[str, Any]:
        """Return the whole snapshot as a fresh dict."""
        snapshot: dict[str, Any] = thaw(self._snapshot.data)
        return snapshot

    def __eq__(self, other: object) -> bool:
        if type(other) is not Approval:
            return NotImplemented
        return self._snapshot.data == other._snapshot.data

    def __hash__(self) -> int:
        return hash(self._snapshot.data)

    def __repr__(self) -> str:
        return f"Approval({self.key!r}, {self._snapshot.status})"

    __setattr__ = Frozen.__setattr__
    __delattr__ = Frozen.__delattr__


def step_key(approval_key: str) -> str:
    """Return the journal key of the step that runs an approved action.

    It is the one place where SHA-256 reaches the wire (json-profile.md, section 6).
    """
    # The public hashlib is not loaded: its name is the artifact's.
    for module in ("_sha2", "_sha256", "hashlib"):
        try:
            digest = __import__(module).sha256(approval_key.encode())
        except ImportError:
            continue
        return RESERVED_PREFIX + str(digest.hexdigest())
    raise ImportError("no SHA-256")


def check_approved(
    snapshot: Snapshot | None,
    fn: Callable[..., Any],
    version: object,
    earlier: object,
) -> Snapshot:
    """Check that a callable is the approved action (workflow-api.md, section 12).

    Args:
        snapshot: The approval that woke the activation, if one did.
        fn: The callable that is to run.
        version: The version that the author gives it.
        earlier: The callable of an earlier call of the activation, or None.
    """
    if snapshot is None or snapshot.status != "approved":
        status = "none" if snapshot is None else snapshot.status
        raise ApprovalError("not_approved", f"approval: {status}")
    key = snapshot.key
    for argument, approved, given in (
        ("fn", snapshot.name, name_of(fn)),
        ("version", snapshot.version, text("version", version)),
    ):
        if given != approved:
            detail = f"expected {describe(approved)}, got {describe(given)}"
            raise ApprovalError("action_changed", detail, argument=argument, key=key)
    effective = effective_arguments(fn, thaw(snapshot.arguments))
    try:
        encoded = profile_encode(
            effective, MAX_APPROVAL_BYTES, max_depth=VALUE_DEPTH, received=True
        )
    except ProfileError as error:
        raise ApprovalError("unreviewed_defaults", str(error), key=key) from None
    if encoded != snapshot.arguments:
        diff = differing(snapshot.arguments, encoded)
        raise ApprovalError("unreviewed_defaults", key=key, diff=diff)
    if earlier is not None and fn is not earlier:
        raise ApprovalError("callable_changed", key=key, argument="fn")
    return snapshot
