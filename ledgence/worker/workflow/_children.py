"""Tasks and subworkflows: staging their commands, and reading their results.

A command is kept as its canonical bytes, made once from those of its data. The size of
all commands is a running sum, so that a child costs the same however many came before.
"""

from __future__ import annotations

from ledgence.worker._exceptions import (
    ArgumentError,
    BindingError,
    ChildError,
    LimitError,
    ProgramError,
)
from ledgence.worker._profile import thaw
from ledgence.worker.workflow._activation import list_size
from ledgence.worker.workflow._fields import (
    check_size,
    describe,
    differing,
    encode,
    integer,
    is_slug,
    members,
    quoted,
    text,
)
from ledgence.worker.workflow._generics import Generic
from ledgence.worker.workflow._limits import (
    DEFAULT_ATTEMPTS,
    DEFAULT_RETRY_DELAY_MS,
    MAX_ATTEMPT_TIMEOUT_MS,
    MAX_ATTEMPTS,
    MAX_COMMANDS,
    MAX_DECISION_BYTES,
    MAX_RETRY_DELAY_MS,
    MIN_ATTEMPT_TIMEOUT_MS,
    VALUE_DEPTH,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from ledgence.worker.workflow._outcomes import Child
    from ledgence.worker.workflow._sizes import Meter

    # A plain TaskRef stays allowed in strictly checked programs. The default is read by
    # type checkers only, which understand it for every Python.
    T = TypeVar("T", default=Any)  # pyright: ignore[reportGeneralTypeIssues] # as above
else:
    T = None

_DEFAULT_POLICY = b'{"max_attempts":%d,"retry_delay_ms":%d}' % (
    DEFAULT_ATTEMPTS,
    DEFAULT_RETRY_DELAY_MS,
)


class TaskRef(Generic[T]):
    """A reference to a child task of this activation.

    Made by ``WorkflowContext.task``. It is a name, not the work: it cannot be awaited.
    Pass it to ``suspend(until=[...])`` now and read the result, by key, in a later
    activation. In annotations ``TaskRef[Invoice]`` says what ``get_result`` returns.

    Attributes:
        key: The key of the child, T(128).
    """

    __slots__ = ("_context", "key")

    def __init__(self, key: str, context: object) -> None:
        self.key = key
        self._context = context

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key!r})"

    def belongs_to(self, context: object) -> bool:
        """Tell whether a context has made this reference."""
        return self._context is context


class WorkflowRef(TaskRef[T]):
    """A reference to an owned subworkflow; made by ``WorkflowContext.workflow``."""

    __slots__ = ()


class Children:
    """The staged commands of an activation.

    Attributes:
        branches: Branch keys of the forks that were started, to the fork's key.
    """

    __slots__ = ("_commands", "_list", "_meter", "_total", "branches")

    def __init__(self, meter: Meter) -> None:
        self._commands: dict[str, bytes] = {}
        self._total = 0
        self._list = b"[]"
        self._meter = meter
        self.branches: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._commands)

    def __contains__(self, key: str) -> bool:
        return key in self._commands

    @property
    def size(self) -> int:
        """The size of all commands as a list, in bytes."""
        return list_size(self._total, len(self._commands))

    def encoded(self) -> bytes:
        """Return the canonical bytes of all commands as a list, in staging order."""
        if not self._list:
            self._list = b"[%b]" % b",".join(self._commands.values())
        return self._list

    def stage(
        self,
        key: object,
        *,
        program: object,
        version: object,
        queue: object,
        data: object,
        retry_policy: object,
        attempt_timeout_ms: object,
        is_workflow: bool,
    ) -> str:
        """Stage a command (workflow-wire.md, section 7) and return its key.

        The same command again changes nothing.

        Raises:
            ArgumentError: An argument is not as ``task`` takes it.
            BindingError: The key is staged with another command or is a branch's.
            LimitError: It is the 65th command, or all together are too large.
        """
        name = text("key", key)
        try:
            command = (
                b'{"attempt_timeout_ms":%d,"data":%b,"key":%b,%b'
                b'"program":{"id":"%b","version":"%b"},"queue":%b,"retry_policy":%b}'
            ) % (
                timeout(attempt_timeout_ms),
                encode("data", data, MAX_DECISION_BYTES, VALUE_DEPTH),
                quoted(name),
                b'"kind":"workflow",' if is_workflow else b"",
                _slug("program", program),
                _slug("version", version),
                quoted(text("queue", queue)),
                policy(retry_policy),
            )
            self._add(name, command)
        except ProgramError as error:
            error.key = name
            raise
        return name

    def _add(self, key: str, command: bytes) -> None:
        staged = self._commands.get(key)
        if staged is not None:
            if staged != command:
                diff = differing(staged, command)
                raise BindingError("binding_changed", diff=diff)
            return
        if key in self.branches:
            detail = f"a branch of fork {describe(self.branches[key])}"
            raise BindingError("key_taken", detail)
        if len(self._commands) >= MAX_COMMANDS:
            raise LimitError("too_many", "child commands", limit=MAX_COMMANDS)
        total = list_size(self._total + len(command), len(self._commands) + 1)
        check_size("data", "all staged commands", total, MAX_DECISION_BYTES)
        self._commands[key] = command
        self._total += len(command)
        self._list = b""
        self._meter.note("commands", total, MAX_DECISION_BYTES)


def timeout(value: object) -> int:
    """Check an attempt timeout, in ms."""
    low, high = MIN_ATTEMPT_TIMEOUT_MS, MAX_ATTEMPT_TIMEOUT_MS
    return integer("attempt_timeout_ms", value, low, high)


def policy(value: object) -> bytes:
    """Check a retry policy; return its canonical bytes."""
    if value is None:
        return _DEFAULT_POLICY
    found = members("retry_policy", value, ("max_attempts", "retry_delay_ms"))
    attempts, delay = found["max_attempts"], found["retry_delay_ms"]
    return b'{"max_attempts":%d,"retry_delay_ms":%d}' % (
        integer("retry_policy.max_attempts", attempts, 1, MAX_ATTEMPTS),
        integer("retry_policy.retry_delay_ms", delay, 0, MAX_RETRY_DELAY_MS),
    )


def _slug(argument: str, value: object) -> bytes:
    if is_slug(value):
        return value.encode()
    detail = f"expected 1 to 128 of a-z 0-9 . _ -, got {describe(value)}"
    raise ArgumentError("invalid_text", detail, argument=argument)


def own_key(argument: str, ref: object, context: object) -> str:
    """Return the key of a reference of this context, or a key that is given as such."""
    if isinstance(ref, TaskRef):
        if not ref.belongs_to(context):
            raise ArgumentError("foreign_reference", argument=argument, key=ref.key)
        return text(argument, ref.key)
    if type(ref) is str:
        return text(argument, ref)
    detail = f"expected a TaskRef, a WorkflowRef or a key, got {describe(ref)}"
    raise ArgumentError("invalid_reference", detail, argument=argument)


def result(ref: object, inputs: dict[str, Child], context: object) -> Any:
    """Return a copy of the output of a child that has succeeded.

    Raises:
        ChildError: There is no such child, it is of the other kind, or it did not
            succeed.
    """
    key = own_key("ref", ref, context)
    child = inputs.get(key)
    if child is None:
        raise ChildError("child_unknown", key=key)
    if isinstance(ref, TaskRef) and child.is_workflow != isinstance(ref, WorkflowRef):
        detail = f"the child is a {'workflow' if child.is_workflow else 'task'}"
        raise ChildError("child_kind", detail, key=key)
    outcome = thaw(child.data)["outcome"]
    if child.state != "succeeded":
        detail = _reason(child.state, outcome)
        raise ChildError("child_not_succeeded", detail, key=key)
    return outcome["output"]


def _reason(state: str, outcome: dict[str, Any]) -> str:
    """Say in a line how a child ended: its state, error kind and message."""
    failure = outcome.get("failure", outcome)
    error = failure.get("error")
    if error is None:
        return state if failure is outcome else f"{state}, {failure['kind']}"
    return f"{state}, {error['kind'][:80]}: {error['message'][:200]}"
