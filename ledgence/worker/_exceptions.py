"""The error tree of ``ledgence.worker``; imports nothing of the package.

```text
ValueError
└── ProfileError            a value is outside the JSON profile, or bytes are not JSON
Exception
└── WorkflowError           the root of everything that the workflow API refuses
    ├── ProgramError        who wrote the program must act
    │   ├── ArgumentError       a value given to a call is not one it takes
    │   ├── LimitError          too large or too many
    │   ├── PlacementError      the call was made where no call may be made
    │   ├── BindingError        a key was reused for something else
    │   ├── ApprovalError       the action is not the one that was approved
    │   ├── ChildError          the child has no result to give
    │   ├── DecisionError       the handler returned no valid decision
    │   ├── RegistryError       the entrypoints of a program do not fit together
    │   └── StepCancelledError  a step cancelled itself
    └── HostError           who runs the worker must act
        ├── ActivationError     what the host sent is no valid activation
        └── AcknowledgementError  the host did not acknowledge a request
```

A class says who must act, ``code`` says what happened; both are stable. The text is
made from the attributes and may change between releases.
"""

from __future__ import annotations

__all__ = [
    "CODES",
    "AcknowledgementError",
    "ActivationError",
    "ApprovalError",
    "ArgumentError",
    "BindingError",
    "ChildError",
    "DecisionError",
    "HostError",
    "LimitError",
    "PlacementError",
    "ProfileError",
    "ProgramError",
    "RegistryError",
    "StepCancelledError",
    "WorkflowError",
]

_MEANING = {
    "bytes": "too large",
    "depth": "nested too deeply",
    "cycle": "a container inside itself",
    "type": "not a JSON value",
    "key_type": "an object member name that is not a str",
    "surrogate": "a lone surrogate in a text",
    "int_range": "an integer outside -2**63 to 2**64-1",
    "non_finite": "NaN or an infinity",
    "utf8": "not UTF-8",
    "syntax": "not JSON",
    "constant": "NaN or Infinity in JSON",
    "duplicate": "a repeated member name",
}


class ProfileError(ValueError):
    """A value outside the JSON profile (json-profile.md, section 1).

    Attributes:
        reason: One of the stable reasons of the profile: ``bytes``, ``depth``,
            ``cycle``, ``type``, ``key_type``, ``surrogate``, ``int_range`` or
            ``non_finite``; of decoding ``utf8``, ``syntax``, ``constant``,
            ``duplicate``, ``int_range`` or ``depth``.
        path: Where, for example ``$.orders[3].total``; None for decoding.
        limit: For ``bytes`` the limit in bytes, for ``depth`` the number of containers
            that may be inside each other; else None.
        size: The exact size in bytes where it was found out; else None.
    """

    def __init__(
        self,
        reason: str,
        path: str | None = None,
        limit: int | None = None,
        size: int | None = None,
    ) -> None:
        super().__init__(reason, path, limit, size)
        self.reason = reason
        self.path = path
        self.limit = limit
        self.size = size

    def __str__(self) -> str:
        text = _MEANING.get(self.reason, self.reason)
        if self.path is not None:
            text = f"{self.path}: {text}"
        if self.limit is None:
            return text
        if self.reason == "depth":
            return f"{text}: more than {self.limit} containers inside each other"
        if self.size is None:
            return f"{text}: more than {self.limit} bytes of JSON"
        return f"{text}: {self.size} bytes of JSON, at most {self.limit} are allowed"


# Every code of a WorkflowError: what happened, and what to do next. Programs and
# harnesses in the field look for some of the words; workflow-api.md, section 16, lists
# them. docs/reference/error-codes.md explains each code and is checked against this.
CODES = {
    # ArgumentError
    "invalid_text": (
        "not a text of the allowed form",
        "pass a plain str without control characters; of an enum member, its value",
    ),
    "invalid_integer": (
        "not an int in the allowed range",
        "pass a plain int; a bool or a float is none",
    ),
    "invalid_type": ("not of the type that this call takes", None),
    "invalid_members": ("not an object with exactly these members", None),
    "not_json": (
        "not a JSON value",
        "convert it to None, bool, int, float, str, list, tuple or dict of str",
    ),
    "duplicate_key": ("the same key twice", "give every entry a key of its own"),
    "reserved_key": (
        "the prefix _approval: is reserved for approved_local",
        "choose another key",
    ),
    "invalid_callable": (
        "not a callable with a module and a qualified name",
        "pass a function or a method; wrap a functools.partial in a def",
    ),
    "unbound_arguments": (
        "the arguments do not fit the signature of the callable",
        "name every argument as the callable does; it takes keywords only",
    ),
    "invalid_kind": (
        "not a member of OperationKind",
        "pass OperationKind.MODEL or .TOOL",
    ),
    "invalid_target": (
        "not a member of the registered enum family",
        "pass a member of the enum class that this Workflow was made with",
    ),
    "invalid_reference": (
        "not a reference of the right sort",
        "pass what task, workflow, branch or fork returned; some take a key",
    ),
    "foreign_reference": (
        "the reference belongs to another activation",
        "keep keys, not references, in state and globals; make references anew",
    ),
    "fork_not_acknowledged": (
        "the fork is not acknowledged: join takes only what fork returned",
        "await ctx.fork(...) and pass its result",
    ),
    # LimitError
    "too_large": (
        "too large",
        "store the bulk elsewhere and pass a reference to it; a retry will not help",
    ),
    "too_deep": ("nested too deeply", "flatten the value; a retry will not help"),
    "too_many": ("too many in one activation", "continue in another activation"),
    # PlacementError
    "no_activation": (
        "no workflow activation is active here",
        "call it while the handler of an activation runs, in its context",
    ),
    "inside_callable": (
        "a workflow call inside a local callable: use the controller",
        "return a value from the callable and make the call after awaiting the step",
    ),
    "wrong_loop": (
        "a workflow call outside the controller event loop",
        "make it in the handler or in a task of its loop, not in a thread",
    ),
    "context_closed": (
        "the workflow context is closed: its activation has ended",
        "await what uses it before the handler returns; get the context anew",
    ),
    # BindingError
    "binding_changed": (
        "the key was used before with a different binding",
        "give a new call a new key; keep what running workflows have recorded",
    ),
    "key_taken": ("the key already belongs to another child", "choose another key"),
    # ApprovalError
    "not_approved": (
        "this activation was not resumed by an approved approval",
        "look at ctx.approval.status before you call approved_local",
    ),
    "action_changed": (
        "the callable or version is not the approved one",
        "pass the callable and version that the action was made with",
    ),
    "unreviewed_defaults": (
        "the callable has defaults that the reviewer has not seen",
        "make the action with ApprovalAction.for_callable; request the approval anew",
    ),
    "callable_changed": (
        "another callable of the approved name was used before",
        "keep the callable in one variable; obj.method is new at every access",
    ),
    # ChildError
    "child_unknown": (
        "no child of that key has ended",
        "suspend until it has; look into ctx.inputs for the keys",
    ),
    "child_kind": (
        "the kind does not match the child",
        "use a WorkflowRef for a workflow and a TaskRef for a task, or the key",
    ),
    "child_not_succeeded": (
        "the child did not succeed",
        "look at its state and outcome in ctx.inputs before you ask for the result",
    ),
    # DecisionError
    "not_a_decision": (
        "the handler returned no decision",
        "return ctx.complete(...), ctx.suspend(...) or another decision, or await it",
    ),
    "invalid_decision": (
        "the returned decision is not valid",
        "return what a method of the context made, without changing it",
    ),
    "stale_decision": (
        "the decision does not carry the staged child commands",
        "make the decision after the last task(...) or workflow(...)",
    ),
    "commands_dropped": (
        "complete would drop the staged child commands",
        "suspend until the children have ended, or do not stage them",
    ),
    # RegistryError
    "registry_enum": (
        "not a StrEnum class of entrypoints",
        "pass a StrEnum with one or more members, no aliases, texts as values",
    ),
    "registry_entry": ("not a member of the enum family of this Workflow", None),
    "registry_flag": ("default is not a bool", None),
    "registry_callable": ("the handler of an entrypoint must be a callable", None),
    "registry_duplicate": ("duplicate handler for an entrypoint", "keep one of them"),
    "registry_frozen": (
        "the registry is frozen: build() was called",
        "register every entrypoint before build()",
    ),
    "registry_incomplete": (
        "every member requires a handler",
        "register one with @workflow.entrypoint(member)",
    ),
    "registry_default": (
        "exactly one default entrypoint is required",
        "give one entrypoint default=True",
    ),
    "registry_start": (
        "the start entrypoint must be the default",
        "give the member with the value 'start' default=True",
    ),
    "registry_bound": (
        "a built handler has run in this activation before",
        "call one built handler once in an activation",
    ),
    "unknown_entrypoint": (
        "unknown workflow entrypoint",
        "keep an entrypoint for every continuation that running workflows wait with",
    ),
    # StepCancelledError
    "step_cancelled": (
        "a step was cancelled from within",
        "let a callable return or raise; do not cancel its task",
    ),
    # ActivationError
    "invalid_activation": (
        "the activation that the host sent is not valid",
        "check that host and helper fit together; the program was not called",
    ),
    "identity_mismatch": (
        "the identity of the activation does not match its event",
        "check that host and helper fit together; the program was not called",
    ),
    # AcknowledgementError
    "not_acknowledged": (
        "acknowledgement failed: the host's reply is not the expected one",
        "the host retries the activation; what it has stored is replayed",
    ),
    "exchange_failed": (
        "acknowledgement failed: the exchange with the host broke off",
        "the host retries the activation; what it has stored is replayed",
    ),
    "activation_spoiled": (
        "acknowledgement failed before: this activation can only fail",
        "let the first error pass; the host retries the activation",
    ),
}

_SHOWN = 80  # code points of a key or a detail that a text shows


class WorkflowError(Exception):
    """The root of everything that the workflow API refuses.

    Programs may raise it themselves with any arguments. The subclasses are raised by
    the library; all have the attributes below, None where they do not apply.

    Attributes:
        code: What happened; one of the codes in the documentation. Stable.
        key: The key of the step, child, fork, wait or approval.
        argument: The name of the argument that was refused.
        path: Where inside the argument, as ``$.orders[3].total``; for an activation
            that is not valid, where inside its payload.
        limit: The limit that was passed, in bytes, entries or levels.
        size: The size that was found; None when it was not counted to the end.
        diff: For a changed binding, the differences field by field: dicts with the
            texts ``path``, ``expected`` and ``got``.
        largest: For ``too_large`` values, up to three dicts with ``path``, ``size``
            (bytes) and ``exact`` (False: at least that size).
    """

    code: str = "workflow_error"
    key: str | None = None
    argument: str | None = None
    path: str | None = None
    limit: int | None = None
    size: int | None = None
    diff: tuple[dict[str, str], ...] | None = None
    largest: tuple[dict[str, object], ...] | None = None


class _CodedError(WorkflowError):
    """A WorkflowError whose text is made from its code and attributes.

    Args:
        code: One of ``CODES``.
        detail: Expected against got, one short phrase.
        fields: Values for the attributes of ``WorkflowError``.
    """

    def __init_subclass__(cls) -> None:
        # Programs in the field look at type(error).__name__. Tracebacks and pickle go
        # by __qualname__, which stays the class's own.
        cls.__name__ = "WorkflowError"

    # Only these two are arguments of the base class, so that copy and pickle can
    # make the object again; the rest travels in __dict__.
    def __init__(self, code: str, detail: str = "", **fields: object) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail
        self.__dict__.update(fields)

    def __str__(self) -> str:
        what, advice = CODES[self.code]
        lines = [f"{self.code}: {what}{self._where()}{self._numbers()}"]
        if self.detail:
            lines[0] += f": {self.detail}"
        lines += [f"  {_difference(entry)}" for entry in (self.diff or ())[:3]]
        if self.largest:
            lines.append("  largest: " + ", ".join(map(_part, self.largest)))
        if advice:
            lines.append(f"  next: {advice}")
        return "\n".join(lines)

    def _where(self) -> str:
        places: list[str] = []
        if self.key is not None:
            places.append(f"key {shown(self.key)}")
        if self.argument is not None:
            places.append(f"argument {self.argument[:_SHOWN]}")
        if self.path not in (None, "$"):
            places.append(f"at {_shortened(self.path)}")
        return f" ({', '.join(places)})" if places else ""

    def _numbers(self) -> str:
        if self.limit is None:
            return ""
        if self.size is None:
            return f": limit {self.limit}"
        return f": {self.size}, limit {self.limit}"


class ProgramError(_CodedError):
    """The program asked for something that it may not do; who wrote it must act."""


class ArgumentError(ProgramError):
    """A value given to a call is not one that the call takes."""


class LimitError(ProgramError):
    """A value is too large or nested too deeply, or there are too many of a thing."""


class PlacementError(ProgramError):
    """A workflow call was made where none may be made (workflow-api.md, 2.1)."""


class BindingError(ProgramError):
    """A key was used again for something else; ``diff`` says what differs."""


class ApprovalError(ProgramError):
    """``approved_local`` was asked to run something that was not approved."""


class ChildError(ProgramError):
    """``get_result`` was asked for a result that does not exist."""


class DecisionError(ProgramError):
    """The handler returned something that is not a valid decision."""


class RegistryError(ProgramError):
    """The entrypoints of a ``Workflow`` do not fit together."""


class StepCancelledError(ProgramError):
    """A step ended cancelled although nobody but itself could cancel it."""


class HostError(_CodedError):
    """The host sent something wrong or nothing at all; who runs it must act."""


class ActivationError(HostError):
    """The extension of an invocation is not a valid activation of its event."""


class AcknowledgementError(HostError):
    """A commit or fork was not acknowledged; the activation can only fail now."""


def shown(text: str) -> str:
    """Quote a text for an error: ASCII only, cut after 80 code points."""
    cut = text[:_SHOWN]
    return ascii(cut) + ("..." if len(text) > len(cut) else "")


def _shortened(path: str | None) -> str:
    """Cut a long path in the middle: both its ends help to find the place."""
    text = path or "$"
    return text if len(text) <= _SHOWN else f"{text[:40]}...{text[-37:]}"


def _difference(entry: dict[str, str]) -> str:
    return f"{entry['path']}: expected {entry['expected']}, got {entry['got']}"


def _part(entry: dict[str, object]) -> str:
    least = "" if entry["exact"] else "at least "
    return f"{entry['path']} {least}{entry['size']} bytes"
