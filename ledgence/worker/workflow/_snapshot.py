"""The approval snapshot of a wake (workflow-wire.md, section 5)."""

from __future__ import annotations

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow._fields import is_message, quoted
from ledgence.worker.workflow._kinds import is_dict
from ledgence.worker.workflow._limits import (
    ENVELOPE_DEPTH,
    MAX_APPROVAL_BYTES,
    MAX_DECISION_BYTES,
    MAX_REVISION,
    MAX_WAIT_MS,
    MESSAGE_BYTES,
    NAME_BYTES,
    VALUE_DEPTH,
)
from ledgence.worker.workflow._payload import (
    choice,
    encode,
    fit,
    integer,
    invalid,
    members,
    text,
    within,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

_SNAPSHOT = frozenset(
    {
        "scope",
        "workflow_id",
        "key",
        "activation_id",
        "revision",
        "action",
        "proposed_arguments",
        "created_at",
        "deadline",
        "status",
        "decision",
        "resumed_activation_id",
    }
)
_SCOPE = frozenset({"tenant_id", "namespace"})
_ACTION = frozenset({"name", "version", "arguments"})
_DECISION = frozenset({"decision_id", "decision", "reviewer", "reason", "decided_at"})
# A pending or cancelled approval wakes nobody.
_WAKING = frozenset({"approved", "rejected", "expired"})
_WORD = {"approved": "approve", "rejected": "reject"}


class Snapshot:
    """A checked approval snapshot, as the views over it need it.

    The attributes without a type here are the members of the same names. ``scope`` is
    (tenant id, namespace); ``decision`` is None or (decision id, decision, reviewer,
    reason, time).

    Attributes:
        data: The canonical bytes of the whole snapshot.
        action: The canonical bytes of the action.
        arguments: The canonical bytes of the action's arguments.
        proposed: The canonical bytes of the proposed arguments, ``null`` for none.
        name: The name of the action.
        version: The version of the action.
    """

    __slots__ = (
        "action",
        "activation_id",
        "arguments",
        "created_at",
        "data",
        "deadline",
        "decision",
        "key",
        "name",
        "proposed",
        "resumed_activation_id",
        "revision",
        "scope",
        "status",
        "version",
        "workflow_id",
    )

    def __init__(self, fields: dict[str, Any]) -> None:
        self.scope = _scope(fields["scope"])
        self.workflow_id = text(fields, "workflow_id")
        self.key = text(fields, "key")
        self.activation_id = text(fields, "activation_id")
        self.revision = integer(fields, "revision", MAX_REVISION)
        # A pending or cancelled approval wakes nobody.
        self.status = choice(fields, "status", _WAKING)
        self.created_at = integer(fields, "created_at")
        self.deadline = integer(fields, "deadline")
        if not 0 <= self.deadline - self.created_at <= MAX_WAIT_MS:
            expected = f"0 to {MAX_WAIT_MS} ms after created_at"
            raise invalid("$.deadline", expected, self.deadline)
        self.decision = self._decision(fields["decision"])
        self.resumed_activation_id = text(fields, "resumed_activation_id")
        if self.resumed_activation_id == self.activation_id:
            expected = "another activation than the requesting one"
            raise invalid("$.resumed_activation_id", expected, self.activation_id)
        self._read_action(fields["action"])
        self.proposed = _proposal(fields["proposed_arguments"])
        self.data = self._encoded()
        fit("$", len(self.data), fields, MAX_DECISION_BYTES, ENVELOPE_DEPTH)

    def _decision(self, value: object) -> tuple[str, str, str, str | None, int] | None:
        if self.status == "expired":
            if value is not None:
                raise invalid("$.decision", "null for an expired approval", value)
            return None
        try:
            decision = _decision(members(value, _DECISION), _WORD[self.status])
            if not self.created_at <= decision[4] < self.deadline:
                expected = "from created_at to before deadline"
                raise invalid("$.decided_at", expected, decision[4])
        except ActivationError as error:
            raise within(error, "decision") from None
        return decision

    def _read_action(self, value: object) -> None:
        try:
            action = members(value, _ACTION)
            self.name = text(action, "name", NAME_BYTES)
            self.version = text(action, "version")
            arguments = action["arguments"]
            if not is_dict(arguments):
                raise invalid("$.arguments", "an object", arguments)
            self.arguments = encode(
                "$.arguments", arguments, MAX_APPROVAL_BYTES, VALUE_DEPTH
            )
            self.action = b'{"arguments":%b,"name":%b,"version":%b}' % (
                self.arguments,
                quoted(self.name),
                quoted(self.version),
            )
            fit("$", len(self.action), action, MAX_APPROVAL_BYTES, ENVELOPE_DEPTH)
        except ActivationError as error:
            raise within(error, "action") from None

    def _encoded(self) -> bytes:
        """Spell the whole from its parts: nothing large is walked again."""
        tenant, namespace = self.scope
        return (
            b'{"action":%b,"activation_id":%b,"created_at":%d,"deadline":%d,'
            b'"decision":%b,"key":%b,"proposed_arguments":%b,'
            b'"resumed_activation_id":%b,"revision":%d,'
            b'"scope":{"namespace":%b,"tenant_id":%b},"status":%b,"workflow_id":%b}'
        ) % (
            self.action,
            quoted(self.activation_id),
            self.created_at,
            self.deadline,
            self._encoded_decision(),
            quoted(self.key),
            self.proposed,
            quoted(self.resumed_activation_id),
            self.revision,
            quoted(namespace),
            quoted(tenant),
            quoted(self.status),
            quoted(self.workflow_id),
        )

    def _encoded_decision(self) -> bytes:
        if self.decision is None:
            return b"null"
        names = ("decision_id", "decision", "reviewer", "reason", "decided_at")
        fields = dict(zip(names, self.decision, strict=True))
        return encode("$.decision", fields, MAX_DECISION_BYTES, 1)


def read_snapshot(
    value: object, workflow_id: str, activation_id: str, revision: int
) -> Snapshot:
    """Check the snapshot of the approval wake of an activation.

    Args:
        value: The snapshot as received.
        workflow_id: The workflow of the activation that was woken.
        activation_id: Its id.
        revision: Its revision.

    Raises:
        ActivationError: With the path inside the snapshot.
    """
    found = Snapshot(members(value, _SNAPSHOT))
    if found.workflow_id != workflow_id:
        raise invalid("$.workflow_id", "the workflow of the payload", found.workflow_id)
    if found.resumed_activation_id != activation_id:
        expected = "the activation of the payload"
        raise invalid("$.resumed_activation_id", expected, found.resumed_activation_id)
    if found.revision + 1 != revision:
        raise invalid("$.revision", "one less than the payload's", found.revision)
    return found


def _scope(value: object) -> tuple[str, str]:
    try:
        scope = members(value, _SCOPE)
        return text(scope, "tenant_id"), text(scope, "namespace")
    except ActivationError as error:
        raise within(error, "scope") from None


def _decision(
    value: dict[str, Any], word: str
) -> tuple[str, str, str, str | None, int]:
    if value["decision"] != word:
        raise invalid("$.decision", f"{word}, as the status", value["decision"])
    reason = value["reason"]
    if reason is not None and not is_message(reason):
        expected = f"null or a text of at most {MESSAGE_BYTES} UTF-8 bytes"
        raise invalid("$.reason", expected, reason)
    return (
        text(value, "decision_id"),
        word,
        text(value, "reviewer"),
        reason,
        integer(value, "decided_at"),
    )


def _proposal(value: object) -> bytes:
    if value is not None and not is_dict(value):
        raise invalid("$.proposed_arguments", "null or an object", value)
    return encode("$.proposed_arguments", value, MAX_APPROVAL_BYTES, VALUE_DEPTH)
