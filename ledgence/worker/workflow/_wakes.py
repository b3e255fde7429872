"""What woke an activation (workflow-wire.md, section 3)."""

from __future__ import annotations

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow._cloudevent import check_event
from ledgence.worker.workflow._fields import quoted
from ledgence.worker.workflow._kinds import is_dict
from ledgence.worker.workflow._limits import MAX_DECISION_BYTES
from ledgence.worker.workflow._payload import (
    encode,
    integer,
    invalid,
    members,
    text,
    within,
)
from ledgence.worker.workflow._snapshot import Snapshot, read_snapshot

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

_EVENT = frozenset({"kind", "key", "event", "accepted_at"})
_TIMED = frozenset({"kind", "key", "deadline"})
_APPROVAL = frozenset({"kind", "approval"})


class Wake:
    """What woke an activation.

    Attributes:
        data: The canonical bytes of the wake.
        approval: The checked snapshot of an approval wake, else None.
    """

    __slots__ = ("approval", "data")

    def __init__(self, data: bytes, approval: Snapshot | None = None) -> None:
        self.data = data
        self.approval = approval


def read_wake(
    wake: object, workflow_id: str, activation_id: str, revision: int
) -> Wake:
    """Check the wake of an activation.

    Args:
        wake: The wake as received, not None.
        workflow_id: The workflow of the activation.
        activation_id: Its id.
        revision: Its revision.

    Raises:
        ActivationError: With the path inside the payload.
    """
    try:
        kind = wake.get("kind") if is_dict(wake) else None
        if kind == "approval":
            approval = members(wake, _APPROVAL)["approval"]
            return _approval(approval, workflow_id, activation_id, revision)
        if kind == "event":
            return _event(members(wake, _EVENT))
        if kind in ("timer", "timeout"):
            return _timed(members(wake, _TIMED))
        raise invalid("$", "a wake of kind event, timeout, timer or approval", kind)
    except ActivationError as error:
        raise within(error, "wake") from None


def _approval(
    value: object, workflow_id: str, activation_id: str, revision: int
) -> Wake:
    try:
        snapshot = read_snapshot(value, workflow_id, activation_id, revision)
    except ActivationError as error:
        raise within(error, "approval") from None
    return Wake(b'{"approval":%b,"kind":"approval"}' % snapshot.data, snapshot)


def _timed(wake: dict[str, Any]) -> Wake:
    text(wake, "key")
    integer(wake, "deadline")
    return Wake(encode("$", wake, MAX_DECISION_BYTES, 1))


def _event(wake: dict[str, Any]) -> Wake:
    key = text(wake, "key")
    accepted_at = integer(wake, "accepted_at")
    try:
        event = check_event(wake["event"])
    except ActivationError as error:
        raise within(error, "event") from None
    data = b'{"accepted_at":%d,"event":%b,"key":%b,"kind":"event"}'
    return Wake(data % (accepted_at, event, quoted(key)))
