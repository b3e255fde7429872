"""Payload in, frozen activation out: validation only, no behaviour.

workflow-wire.md, sections 1 to 3. Every value is walked once. What is kept of it are
its canonical bytes: they are a private copy, what is compared at replay, and what a
getter makes its copies from. The limits of the whole payload and of all inputs follow
from the sizes of the parts.
"""

from __future__ import annotations

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow._fields import is_text, quoted
from ledgence.worker.workflow._kinds import is_dict, is_list
from ledgence.worker.workflow._limits import (
    ENVELOPE_DEPTH,
    MAX_COMMANDS,
    MAX_DECISION_BYTES,
    MAX_RECORD_BYTES,
    MAX_RECORDS_BYTES,
    MAX_REVISION,
    MAX_STATE_BYTES,
    MAX_STEPS,
    NAME_BYTES,
    SCHEMA,
    VALUE_DEPTH,
)
from ledgence.worker.workflow._payload import (
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

    from ledgence.worker.workflow._outcomes import Child
    from ledgence.worker.workflow._wakes import Wake

_EXTENSION = frozenset({"schema", "payload"})
_REQUIRED = frozenset(
    {
        "v",
        "workflow_id",
        "activation_id",
        "revision",
        "continuation",
        "state",
        "inputs",
        "local_steps",
    }
)
_ALLOWED = _REQUIRED | {"wake", "parent_workflow_id", "root_workflow_id"}
_RECORD = frozenset({"key", "callable", "input", "output"})

# {"key":,"callable":,"input":,"output":} around the four values of a record.
_RECORD_FRAME = 39


class Record:
    """A journal record.

    Attributes:
        callable: The name of the callable.
        input: The canonical bytes of the input; they are what is compared.
        output: The canonical bytes of the output.
        size: The size of the whole record in canonical bytes.
    """

    __slots__ = ("callable", "input", "output", "size")

    def __init__(self, callable_: str, input_: bytes, output: bytes, size: int) -> None:
        self.callable = callable_
        self.input = input_
        self.output = output
        self.size = size


def record_size(key: bytes, callable_: bytes, input_: bytes, output: bytes) -> int:
    """Add up the size of a record from the sizes of its quoted texts and values."""
    return _RECORD_FRAME + len(key) + len(callable_) + len(input_) + len(output)


def list_size(total: int, count: int) -> int:
    """Add up the size of a JSON list from the sizes of its items."""
    return total + 2 + max(count - 1, 0)


class Activation:
    """A checked activation; nothing changes it.

    Attributes:
        workflow_id: T(128).
        activation_id: T(128).
        revision: 0 to 2**64 - 1.
        continuation: T(128).
        parent_workflow_id: T(128), or None for a workflow without a parent.
        root_workflow_id: T(128); the own id without a parent.
        state: Canonical bytes.
        inputs: The children that have ended, sorted by key.
        inputs_size: Bytes of ``inputs``, or of ``{"inputs","wake"}`` with a wake.
        records: The journal, by key in its order.
        records_size: Bytes of all records without commas and brackets.
        wake: What woke the activation, or None.
    """

    __slots__ = (
        "activation_id",
        "continuation",
        "inputs",
        "inputs_size",
        "parent_workflow_id",
        "records",
        "records_size",
        "revision",
        "root_workflow_id",
        "state",
        "wake",
        "workflow_id",
    )

    def __init__(self, payload: object) -> None:
        found = _payload(payload)
        if type(found["v"]) is not int or found["v"] != 1:
            raise invalid("$.v", "the integer 1", found["v"])
        self.workflow_id = text(found, "workflow_id")
        self.activation_id = text(found, "activation_id")
        self.revision = integer(found, "revision", MAX_REVISION)
        self.continuation = text(found, "continuation")
        self.parent_workflow_id, self.root_workflow_id = self._lineage(found)
        state = found["state"]
        self.state = b"null"
        if state is not None:
            self.state = encode("$.state", state, MAX_STATE_BYTES, VALUE_DEPTH)
        self._read_inputs(found["inputs"])
        self.records: dict[str, Record] = {}
        self.records_size = 0
        self._read_records(found["local_steps"])
        self._read_wake(found.get("wake"))
        self._check_inputs_size(found)

    @property
    def journal_size(self) -> int:
        """The size of all records as a list, in bytes."""
        return list_size(self.records_size, len(self.records))

    def _lineage(self, payload: dict[str, Any]) -> tuple[str | None, str]:
        parent = payload.get("parent_workflow_id")
        root = payload.get("root_workflow_id")
        if parent is None and root is None:
            return None, self.workflow_id
        return (
            self._ancestor("$.parent_workflow_id", parent),
            self._ancestor("$.root_workflow_id", root),
        )

    def _ancestor(self, path: str, value: object) -> str:
        if not is_text(value) or value == self.workflow_id:
            expected = "texts that differ from workflow_id for both, or neither"
            raise invalid(path, expected, value)
        return value

    def _read_inputs(self, inputs: object) -> None:
        if not is_dict(inputs) or len(inputs) > MAX_COMMANDS:
            raise invalid("$.inputs", f"an object of at most {MAX_COMMANDS}", inputs)
        self.inputs: dict[str, Child] = {}
        self.inputs_size = len(b"{}")
        if inputs:
            # The rooms that only some activations need are loaded when one does.
            from ledgence.worker.workflow._outcomes import (  # noqa: PLC0415 # as above
                read_inputs,
            )

            self.inputs, self.inputs_size = read_inputs(inputs)

    def _read_wake(self, wake: object) -> None:
        self.wake: Wake | None = None
        if wake is not None:
            from ledgence.worker.workflow._wakes import (  # noqa: PLC0415 # as for inputs
                read_wake,
            )

            self.wake = read_wake(
                wake, self.workflow_id, self.activation_id, self.revision
            )

    def _read_records(self, records: object) -> None:
        if not is_list(records) or len(records) > MAX_STEPS:
            raise invalid("$.local_steps", f"a list of at most {MAX_STEPS}", records)
        for index, entry in enumerate(records):
            try:
                key, record = _read_record(entry)
                if key in self.records:
                    raise invalid("$.key", "a key that no other record has", key)
            except ActivationError as error:
                raise within(error, "local_steps", index) from None
            self.records[key] = record
            self.records_size += record.size
        if records:
            size, limit = self.journal_size, MAX_RECORDS_BYTES
            fit("$.local_steps", size, records, limit, ENVELOPE_DEPTH)

    def _check_inputs_size(self, payload: dict[str, Any]) -> None:
        value = payload["inputs"]
        if self.wake is not None:
            self.inputs_size += len(b'{"inputs":,"wake":}') + len(self.wake.data)
            value = {"inputs": value, "wake": payload["wake"]}
        fit("$.inputs", self.inputs_size, value, MAX_DECISION_BYTES, ENVELOPE_DEPTH)


def open_extension(extension: object) -> Activation:
    """Check the ``extension`` of an invocation.

    Raises:
        ActivationError: Its schema or anything in its payload is not valid.
    """
    found = members(extension, _EXTENSION)
    if type(found["schema"]) is not str or found["schema"] != SCHEMA:
        raise invalid("$.schema", SCHEMA, found["schema"])
    return Activation(found["payload"])


def check_identity(activation: Activation, event: dict[str, Any]) -> None:
    """Check that an activation belongs to the event it came with.

    Raises:
        ActivationError: Naming the attribute that differs.
    """
    root = "ldgrootworkflowid" if "ldgrootworkflowid" in event else "ldgworkflowid"
    for attribute, expected in (
        ("ldgtaskid", activation.activation_id),
        ("ldgactivationid", activation.activation_id),
        ("ldgworkflowid", activation.workflow_id),
        ("ldgparentworkflowid", activation.parent_workflow_id),
        (root, activation.root_workflow_id),
    ):
        if event.get(attribute) != expected:
            detail = f"event attribute {attribute}"
            raise ActivationError("identity_mismatch", detail)


def _payload(payload: object) -> dict[str, Any]:
    if not is_dict(payload):
        raise invalid("$", "an object", payload)
    if _REQUIRED.issubset(payload) and _ALLOWED.issuperset(payload):
        return payload
    return members(payload, _REQUIRED)


def _read_record(entry: object) -> tuple[str, Record]:
    found = members(entry, _RECORD)
    key = text(found, "key")
    name = text(found, "callable", NAME_BYTES)
    input_ = encode("$.input", found["input"], MAX_RECORD_BYTES, VALUE_DEPTH)
    output = encode("$.output", found["output"], MAX_RECORD_BYTES, VALUE_DEPTH)
    size = record_size(quoted(key), quoted(name), input_, output)
    fit("$", size, found, MAX_RECORD_BYTES, ENVELOPE_DEPTH)
    return key, Record(name, input_, output, size)
