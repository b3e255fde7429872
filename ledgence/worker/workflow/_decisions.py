"""The decision dicts that a handler returns, and their check (workflow-wire.md, 9).

A decision is a plain dict that its author may copy, change and build by hand, so what
the handler returns is checked whatever made it. State, commands and the rest are each
encoded once for that; the canonical bytes of the whole are put together from theirs.
"""

from __future__ import annotations

from ledgence.worker._exceptions import (
    ArgumentError,
    DecisionError,
    ProgramError,
)
from ledgence.worker._profile import ProfileError, freeze, thaw
from ledgence.worker._profile import encode as profile_encode
from ledgence.worker.workflow._approvals import action_of
from ledgence.worker.workflow._children import own_key
from ledgence.worker.workflow._fields import (
    check_size,
    describe,
    encode,
    integer,
    is_message,
    items,
    listed,
    mapping,
    members,
    quoted,
    text,
    unfit,
)
from ledgence.worker.workflow._kinds import is_dict, is_list
from ledgence.worker.workflow._limits import (
    ENVELOPE_DEPTH,
    MAX_APPROVAL_BYTES,
    MAX_COMMANDS,
    MAX_DECISION_BYTES,
    MAX_STATE_BYTES,
    MAX_WAIT_MS,
    MESSAGE_BYTES,
    VALUE_DEPTH,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ledgence.worker.workflow._activation import Activation
    from ledgence.worker.workflow._children import Children
    from ledgence.worker.workflow._sizes import Meter

_COMMON = frozenset({"v", "activation_id", "revision", "kind"})
_CHECKPOINT = _COMMON | {"continuation", "state", "commands"}
_MEMBERS = {
    "complete": _COMMON | {"output"},
    "fail": _COMMON | {"error"},
    "continue": _CHECKPOINT,
    "suspend": _CHECKPOINT | {"until"},
    "wait": _CHECKPOINT | {"wait"},
}
_EVENT = ("kind", "key", "timeout_ms")
_TIMER = ("kind", "key", "delay_ms")
_APPROVAL = ("kind", "key", "action", "timeout_ms")


class Decisions:
    """Makes and checks the decisions of one activation.

    Args:
        activation: Whose identity they carry.
        children: Whose staged commands they carry.
        meter: Told the sizes of what is returned.
    """

    __slots__ = ("_activation", "_children", "_identity", "_meter")

    def __init__(
        self, activation: Activation, children: Children, meter: Meter
    ) -> None:
        self._activation = activation
        self._children = children
        self._meter = meter
        self._identity = 1, activation.activation_id, activation.revision

    def complete(self, output: object) -> Any:
        """Make a ``complete`` decision."""
        if len(self._children):
            raise self._dropped()
        decision = {
            "activation_id": self._activation.activation_id,
            "kind": "complete",
            "output": output,
            "revision": self._activation.revision,
            "v": 1,
        }
        # One walk checks the output, counts the whole and makes the copy. The
        # decision itself is the container around an output of at most 64.
        try:
            return freeze(decision, MAX_DECISION_BYTES, max_depth=VALUE_DEPTH + 1)
        except ProfileError as error:
            raise _inside("output", output, error) from None

    def fail(self, kind: object, message: object) -> Any:
        """Make a ``fail`` decision."""
        checked = text("kind", kind)
        if not is_message(message):
            expected = f"at most {MESSAGE_BYTES} UTF-8 bytes of text"
            detail = f"expected {expected}, got {describe(message)}"
            raise ArgumentError("invalid_text", detail, argument="message")
        return {
            "activation_id": self._activation.activation_id,
            "error": {"kind": checked, "message": message},
            "kind": "fail",
            "revision": self._activation.revision,
            "v": 1,
        }

    def checkpoint(
        self,
        kind: str,
        continuation: str,
        state: object,
        *,
        until: bytes | None = None,
        wait: bytes | None = None,
    ) -> Any:
        """Make a decision of a kind that goes on later.

        Args:
            kind: ``continue``, ``suspend`` or ``wait``.
            continuation: A checked target.
            state: What the author wants to keep.
            until: The canonical bytes of the keys of a ``suspend``.
            wait: The canonical bytes of the object of a ``wait``.
        """
        encoded = encode("state", state, MAX_STATE_BYTES, VALUE_DEPTH)
        return thaw(self._assembled(kind, continuation, encoded, until, wait))

    def decide(self, value: object, allowed: Callable[[str], bool]) -> bytes:
        """Check what the handler returned; return its canonical bytes.

        Args:
            value: The returned value.
            allowed: Tells whether a continuation may be a target here.

        Raises:
            WorkflowError: It is no valid decision of this activation.
        """
        if not is_dict(value):
            raise DecisionError("not_a_decision", f"got {describe(value)}")
        kind = value.get("kind")
        names = _MEMBERS.get(kind) if type(kind) is str else None
        if names is None:
            detail = f"expected a kind of {listed(_MEMBERS)}, got {describe(kind)}"
            raise DecisionError("not_a_decision", detail)
        if value.keys() != names:
            detail = f"{kind} takes exactly {listed(names)}, got {listed(value)}"
            raise DecisionError("invalid_decision", detail)
        self._check_identity(value)
        try:
            if kind == "complete":
                if len(self._children):
                    raise self._dropped()
                # The decision is the container around an output of at most 64.
                decision = _whole("output", value, VALUE_DEPTH + 1)
            elif kind == "fail":
                decision = _whole("error", value, ENVELOPE_DEPTH)
            else:
                decision = self._checkpointed(value, allowed)
        except ArgumentError as error:
            raise DecisionError(
                "invalid_decision",
                error.detail,
                argument=error.argument,
                path=error.path,
                key=error.key,
            ) from None
        self._meter.note("decision", len(decision), MAX_DECISION_BYTES)
        return decision

    def _check_identity(self, value: dict[str, Any]) -> None:
        names = ("v", "activation_id", "revision")
        found = value["v"], value["activation_id"], value["revision"]
        if found == self._identity and tuple(map(type, found)) == (int, str, int):
            return
        name, got, expected = next(
            entry
            for entry in zip(names, found, self._identity, strict=True)
            if type(entry[1]) is not type(entry[2]) or entry[1] != entry[2]
        )
        detail = f"expected {expected!r}, got {describe(got)}"
        raise DecisionError("invalid_decision", detail, argument=name)

    def _checkpointed(
        self, value: dict[str, Any], allowed: Callable[[str], bool]
    ) -> bytes:
        # Only the parts are encoded below, not the names of the whole.
        members("decision", value, _MEMBERS[value["kind"]])
        continuation = text("continuation", value["continuation"])
        if not allowed(continuation):
            detail = f"got {describe(continuation)}"
            raise ArgumentError("invalid_target", detail, argument="continuation")
        commands = value["commands"]
        if not self._are_staged(commands):
            count = len(commands) if is_list(commands) else describe(commands)
            detail = f"{len(self._children)} are staged, the decision has {count}"
            raise DecisionError("stale_decision", detail)
        state = encode("state", value["state"], MAX_STATE_BYTES, VALUE_DEPTH)
        self._meter.note("state", len(state), MAX_STATE_BYTES)
        until = wait = None
        if "until" in value:
            depth = ENVELOPE_DEPTH - 1
            until = encode("until", value["until"], MAX_DECISION_BYTES, depth)
        elif "wait" in value:
            wait = _read_wait(mapping("wait", value["wait"]))
        return self._assembled(value["kind"], continuation, state, until, wait)

    def _are_staged(self, commands: object) -> bool:
        try:
            found = profile_encode(
                commands, MAX_DECISION_BYTES, max_depth=ENVELOPE_DEPTH
            )
        except ProfileError:
            return False
        return found == self._children.encoded()

    def _assembled(
        self,
        kind: str,
        continuation: str,
        state: bytes,
        until: bytes | None,
        wait: bytes | None,
    ) -> bytes:
        """Put the canonical bytes of a decision together from those of its parts."""
        whole = (
            b'{"activation_id":%b,"commands":%b,"continuation":%b,"kind":"%b",'
            b'"revision":%d,"state":%b%b,"v":1%b}'
        ) % (
            quoted(self._activation.activation_id),
            self._children.encoded(),
            quoted(continuation),
            kind.encode(),
            self._activation.revision,
            state,
            b"" if until is None else b',"until":' + until,
            b"" if wait is None else b',"wait":' + wait,
        )
        check_size(None, "the whole decision", len(whole), MAX_DECISION_BYTES)
        return whole

    def _dropped(self) -> DecisionError:
        count = len(self._children)
        return DecisionError("commands_dropped", f"{count} are staged")


def _whole(argument: str, decision: dict[str, Any], depth: int) -> bytes:
    """Encode a decision in one walk; ``argument`` is its only member of any size."""
    try:
        return profile_encode(decision, MAX_DECISION_BYTES, max_depth=depth)
    except ProfileError as error:
        raise _inside(argument, decision[argument], error) from None


def _inside(argument: str, value: object, error: ProfileError) -> ProgramError:
    """Turn an error of a whole decision into one of the value inside it."""
    prefix = "$." + argument
    if error.path is not None and error.path.startswith(prefix):
        error.path = "$" + error.path[len(prefix) :]
    else:
        error.path = "$"
    return unfit(argument, value, error)


def until_keys(until: object, context: object) -> bytes:
    """Check what a ``suspend`` waits for; return the canonical bytes of its keys."""
    given = items("until", until, MAX_COMMANDS)
    keys = [own_key("until", ref, context) for ref in given]
    if len(set(keys)) < len(keys):
        raise ArgumentError("duplicate_key", argument="until")
    return b"[%b]" % b",".join(map(quoted, keys))


def event_wait(key: object, timeout_ms: object) -> bytes:
    """Return the canonical bytes of an event wait."""
    name = text("key", key)
    timeout = b"null"
    if timeout_ms is not None:
        timeout = b"%d" % integer("timeout_ms", timeout_ms, 0, MAX_WAIT_MS)
    return b'{"key":%b,"kind":"event","timeout_ms":%b}' % (quoted(name), timeout)


def timer_wait(key: object, delay_ms: object) -> bytes:
    """Return the canonical bytes of a timer wait."""
    name = text("key", key)
    delay = integer("delay_ms", delay_ms, 0, MAX_WAIT_MS)
    return b'{"delay_ms":%d,"key":%b,"kind":"timer"}' % (delay, quoted(name))


def approval_wait(
    key: object, action: object, timeout_ms: object, proposed: bytes | None
) -> bytes:
    """Return the canonical bytes of an approval wait.

    Args:
        key: The key of the approval.
        action: An ``ApprovalAction`` or a dict of the same content.
        timeout_ms: How long to wait; required.
        proposed: The canonical bytes of the proposed arguments; None leaves the
            member out.
    """
    name = text("key", key)
    whole = action_of(action).encoded()
    timeout = integer("timeout_ms", timeout_ms, 0, MAX_WAIT_MS)
    proposal = b"" if proposed is None else b'"proposed_arguments":%b,' % proposed
    return b'{"action":%b,"key":%b,"kind":"approval",%b"timeout_ms":%d}' % (
        whole,
        quoted(name),
        proposal,
        timeout,
    )


def proposal(value: object) -> bytes | None:
    """Return the canonical bytes of proposed arguments, None for none."""
    if value is None:
        return None
    proposed = mapping("proposed_arguments", value)
    return encode("proposed_arguments", proposed, MAX_APPROVAL_BYTES, VALUE_DEPTH)


def _read_wait(wait: dict[str, Any]) -> bytes:
    """Check the wait of a decision that may have been built by hand."""
    kind = wait.get("kind")
    if type(kind) is not str:
        kind = None
    if kind == "event":
        members("wait", wait, _EVENT)
        return event_wait(wait["key"], wait["timeout_ms"])
    if kind == "timer":
        members("wait", wait, _TIMER)
        return timer_wait(wait["key"], wait["delay_ms"])
    if kind == "approval":
        proposed = None
        if "proposed_arguments" in wait:
            # Unlike the method, a hand may spell the absence out.
            proposed = proposal(wait["proposed_arguments"]) or b"null"
            members("wait", wait, (*_APPROVAL, "proposed_arguments"))
        else:
            members("wait", wait, _APPROVAL)
        action = mapping("wait.action", wait["action"])
        return approval_wait(wait["key"], action, wait["timeout_ms"], proposed)
    detail = f"expected a wait of kind event, timer or approval, got {describe(kind)}"
    raise ArgumentError("invalid_members", detail, argument="wait")
