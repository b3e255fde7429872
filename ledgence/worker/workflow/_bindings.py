"""What the key of a step stands for: callable and input (json-profile.md, 6)."""

from __future__ import annotations

from enum import StrEnum

from ledgence.worker._exceptions import ArgumentError, ProgramError
from ledgence.worker._profile import thaw
from ledgence.worker._profile_path import spell
from ledgence.worker.workflow._callables import effective_arguments, name_of
from ledgence.worker.workflow._fields import (
    check_size,
    describe,
    encode,
    mapping,
    quoted,
    text,
)
from ledgence.worker.workflow._limits import (
    MAX_RECORD_BYTES,
    RESERVED_PREFIX,
    VALUE_DEPTH,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from typing import Any


class OperationKind(StrEnum):
    """What an operation is: a call of a model or of a tool."""

    MODEL = "model"
    TOOL = "tool"


class Binding:
    """What a key stands for, and how to run it.

    Args:
        key: The key of the step.
        callable_: The name of the callable.
        fn: The callable.
        arguments: The canonical bytes of the keyword arguments.
        envelope: (kind, version) of an operation; its input is an object of these and
            the arguments. The input of other steps is their arguments.

    Attributes:
        input: The canonical bytes of the input.
        head: ``{"key":...,"callable":...,"input":``, the begin of the record.
        size: The size of the whole binding in canonical bytes.
    """

    __slots__ = (
        "arguments",
        "callable",
        "envelope",
        "fn",
        "head",
        "input",
        "key",
        "size",
    )

    def __init__(
        self,
        key: str,
        callable_: str,
        fn: Callable[..., Any],
        arguments: bytes,
        envelope: tuple[str, str] | None = None,
    ) -> None:
        self.key = key
        self.callable = callable_
        self.fn = fn
        self.arguments = self.input = arguments
        self.envelope = envelope
        self.head = b'{"key":%b,"callable":%b,"input":' % (
            quoted(key),
            quoted(callable_),
        )
        if envelope is not None:
            self.input = b'{"arguments":%b,"kind":%b,"v":1,"version":%b}' % (
                arguments,
                quoted(envelope[0]),
                quoted(envelope[1]),
            )
        self.size = len(self.head) + len(self.input) + len(b"}")

    def encoded(self) -> bytes:
        """Return the canonical bytes of the whole binding."""
        return encoded_binding(self.key, self.callable, self.input)

    def record_size(self, output: bytes) -> int:
        """Return the size of the record with an output in canonical bytes."""
        return self.size + len(b',"output":') + len(output)

    def checked(self, output: object) -> bytes:
        """Return the canonical bytes of an output that fits a record."""
        encoded = encode("output", output, MAX_RECORD_BYTES, VALUE_DEPTH, key=self.key)
        size = self.record_size(encoded)
        if size > MAX_RECORD_BYTES:
            check_size("output", "the record", size, MAX_RECORD_BYTES, self.key)
        return encoded

    def record(self, output: bytes) -> bytes:
        """Return the record with an output in the bytes of the wire."""
        sent = self.input
        if self.envelope is not None:
            # The envelope is not in canonical order there.
            kind, version = map(quoted, self.envelope)
            sent = b'{"v":1,"kind":%b,"version":%b,"arguments":%b}' % (
                kind,
                version,
                self.arguments,
            )
        return b'%b%b,"output":%b}' % (self.head, sent, output)

    def plain_record(self, output: bytes) -> dict[str, Any]:
        """Return the record with an output as a dict in the order of the wire."""
        input_: dict[str, Any] = thaw(self.arguments)
        if self.envelope is not None:
            kind, version = self.envelope
            input_ = {"v": 1, "kind": kind, "version": version, "arguments": input_}
        return {
            "key": self.key,
            "callable": self.callable,
            "input": input_,
            "output": thaw(output),
        }


def encoded_binding(key: str, callable_: str, input_: bytes) -> bytes:
    """Put the canonical bytes of a binding together."""
    return b'{"callable":%b,"input":%b,"key":%b}' % (
        quoted(callable_),
        input_,
        quoted(key),
    )


def local_binding(
    key: object,
    fn: Callable[..., Any],
    kwargs: dict[str, Any],
    recorded: Container[str],
) -> Binding:
    """Check the arguments of ``local``.

    Args:
        key: The key.
        fn: The callable.
        kwargs: Its keyword arguments; they are not bound to its signature.
        recorded: The keys of the journal. A value that the host has stored may be
            longer here than there.
    """
    name = _step_key(key)
    try:
        callable_ = name_of(fn)
        arguments = encode(
            "arguments",
            kwargs,
            MAX_RECORD_BYTES,
            VALUE_DEPTH,
            received=name in recorded,
        )
    except ProgramError as error:
        error.key = name
        _name_argument(error, kwargs)
        raise
    return Binding(name, callable_, fn, arguments)


def operation_binding(
    key: object,
    fn: Callable[..., Any],
    *,
    kind: object,
    version: object,
    arguments: object,
    recorded: Container[str],
) -> Binding:
    """Check the arguments of ``operation``; ``recorded`` as for ``local_binding``."""
    name = _step_key(key)
    try:
        if type(kind) is not OperationKind:
            detail = f"got {describe(kind)}"
            raise ArgumentError("invalid_kind", detail, argument="kind")
        checked = text("version", version)
        callable_ = name_of(fn, f"{kind.value}:")
        effective = effective_arguments(fn, mapping("arguments", arguments))
        # The envelope is a container around the arguments and 64 levels deep at most.
        encoded = encode(
            "arguments",
            effective,
            MAX_RECORD_BYTES,
            VALUE_DEPTH - 1,
            received=name in recorded,
        )
    except ProgramError as error:
        error.key = name
        raise
    return Binding(name, callable_, fn, encoded, (kind.value, checked))


def _step_key(key: object) -> str:
    name = text("key", key)
    if name.startswith(RESERVED_PREFIX):
        raise ArgumentError("reserved_key", argument="key", key=name)
    return name


def _name_argument(error: ProgramError, kwargs: dict[str, Any]) -> None:
    """Make the path of an error relative to the keyword argument it leads into."""
    path = error.path or "$"
    for name in kwargs:
        spelled = spell((name,))
        rest = path[len(spelled) :]
        if path.startswith(spelled) and rest[:1] in ("", ".", "["):
            error.argument, error.path = name, "$" + rest
            return
