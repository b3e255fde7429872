"""What a controller can read of its activation, and the parts it is made of."""

from __future__ import annotations

from ledgence.worker._exceptions import ArgumentError, RegistryError
from ledgence.worker._profile import thaw
from ledgence.worker.workflow._activation import Activation
from ledgence.worker.workflow._approvals import Approval
from ledgence.worker.workflow._children import Children
from ledgence.worker.workflow._decisions import Decisions
from ledgence.worker.workflow._fields import describe, text
from ledgence.worker.workflow._limits import (
    MAX_DECISION_BYTES,
    MAX_RECORDS_BYTES,
    MAX_STATE_BYTES,
)
from ledgence.worker.workflow._sizes import Meter

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from enum import StrEnum
    from typing import Any, TypeAlias, TypeVar

    from ledgence.worker.workflow._exchange import Exchange
    from ledgence.worker.workflow._forks import Forks
    from ledgence.worker.workflow._journal import Journal, Recorder
    from ledgence.worker.workflow._owned import Owned
    from ledgence.worker.workflow._types import Sizes

    E = TypeVar("E", bound=StrEnum)
    Rpc: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Any]]


# Loaded with the first context of a process: a program that is imported before any
# activation must not have to wait for asyncio.
_exchange_type: type[Exchange] | None = None


def _load_exchange() -> type[Exchange]:
    global _exchange_type  # noqa: PLW0603 # an import statement for each context costs more
    from ledgence.worker.workflow._exchange import Exchange  # noqa: PLC0415 # as above

    _exchange_type = Exchange
    return Exchange


class View:
    """The readable side of ``WorkflowContext``; nothing here is a control call."""

    __slots__ = (
        "_activation",
        "_approved",
        "_children",
        "_decisions",
        "_exchange",
        "_family",
        "_made_forks",
        "_made_journal",
        "_meter",
        "_recorder",
        "_selected",
        "_targets",
    )

    def __init__(
        self,
        payload: dict[str, Any] | Activation,
        rpc: Rpc,
        steps: Recorder | None = None,
    ) -> None:
        activation = payload if isinstance(payload, Activation) else Activation(payload)
        self._activation = activation
        self._recorder = steps
        self._meter = meter = Meter()
        self._exchange = (_exchange_type or _load_exchange())(rpc)
        self._children = children = Children(meter)
        self._decisions = Decisions(activation, children, meter)
        self._made_journal: Journal | None = None
        self._made_forks: Forks | None = None
        self._approved: Callable[..., Any] | None = None
        self._family: type[StrEnum] | None = None
        self._targets: frozenset[str] = frozenset()
        self._selected: StrEnum | None = None
        meter.note("state", len(activation.state), MAX_STATE_BYTES)
        meter.note("inputs", activation.inputs_size, MAX_DECISION_BYTES)
        meter.note("journal", activation.journal_size, MAX_RECORDS_BYTES)

    # Made when they are first used: many activations have neither steps nor forks.

    @property
    def _journal(self) -> Journal:
        if self._made_journal is None:
            from ledgence.worker.workflow._journal import Journal  # noqa: PLC0415 # as above

            self._made_journal = Journal(
                self._activation, self._exchange, self._meter, self._recorder
            )
        return self._made_journal

    @property
    def _forks(self) -> Forks:
        if self._made_forks is None:
            from ledgence.worker.workflow._forks import Forks  # noqa: PLC0415 # as above

            self._made_forks = Forks(self, self._exchange, self._children)
        return self._made_forks

    def _owned(self) -> list[Sequence[Owned]]:
        """The groups of what the activation has started."""
        made = self._made_journal, self._made_forks
        return [entry.owned for entry in made if entry is not None]

    @property
    def closed(self) -> bool:
        """Whether the activation has ended."""
        return self._exchange.closed

    @property
    def workflow_id(self) -> str:
        """The id of this workflow."""
        return self._activation.workflow_id

    @property
    def activation_id(self) -> str:
        """The id of this activation."""
        return self._activation.activation_id

    @property
    def revision(self) -> int:
        """The number of decisions of this workflow before this activation."""
        return self._activation.revision

    @property
    def continuation(self) -> str:
        """Where the workflow goes on; ``start`` at first."""
        return self._activation.continuation

    @property
    def parent_workflow_id(self) -> str | None:
        """The id of the workflow that owns this one, or None."""
        return self._activation.parent_workflow_id

    @property
    def root_workflow_id(self) -> str:
        """The id of the topmost owner; the own id without one."""
        return self._activation.root_workflow_id

    @property
    def entrypoint(self) -> StrEnum | str:
        """The selected member in a registered program, else the continuation."""
        return self._selected or self._activation.continuation

    @property
    def state(self) -> Any:
        """A copy of the state of the last decision; None at first."""
        return thaw(self._activation.state)

    @property
    def inputs(self) -> dict[str, Any]:
        """A copy of the outcomes of the children that have ended, by key."""
        inputs = self._activation.inputs
        return {key: thaw(child.data) for key, child in inputs.items()}

    @property
    def wake(self) -> dict[str, Any] | None:
        """A copy of what woke the workflow: event, timeout, timer or approval."""
        wake = self._activation.wake
        return None if wake is None else thaw(wake.data)

    @property
    def approval(self) -> Approval | None:
        """The approval that woke the workflow, or None."""
        wake = self._activation.wake
        if wake is None or wake.approval is None:
            return None
        return Approval(wake.approval)

    def sizes(self) -> Sizes:
        """Tell how much of the limits is used, in bytes of canonical JSON.

        Nothing is encoded for it; it can be called anywhere, like a property.

        Returns:
            ``{"state", "inputs", "journal", "commands"}``, each ``{"size", "limit"}``:
            the state and the inputs (with the wake) that the activation was given,
            all records, and all staged commands.
        """
        activation, made = self._activation, self._made_journal
        journal = activation.journal_size if made is None else made.size
        return {
            "state": {"size": len(activation.state), "limit": MAX_STATE_BYTES},
            "inputs": {"size": activation.inputs_size, "limit": MAX_DECISION_BYTES},
            "journal": {"size": journal, "limit": MAX_RECORDS_BYTES},
            "commands": {"size": self._children.size, "limit": MAX_DECISION_BYTES},
        }

    def _target(self, argument: str, value: object) -> str:
        """Check a target; return its text."""
        if self._family is None:
            return text(argument, value)
        if type(value) is not self._family:
            name = self._family.__name__
            detail = f"expected a member of {name}, got {describe(value)}"
            raise ArgumentError("invalid_target", detail, argument=argument)
        return value.value

    def _is_target(self, value: str) -> bool:
        return self._family is None or value in self._targets

    def _bind(self, family: type[E], select: Callable[[str], E | None]) -> E:
        """Bind a registry to the activation; return the selected member."""
        self._exchange.check()
        if self._family is not None:
            raise RegistryError("registry_bound")
        selected = select(self._activation.continuation)
        if selected is None:
            detail = describe(self._activation.continuation)
            raise RegistryError("unknown_entrypoint", detail)
        self._family = family
        self._targets = frozenset(entry.value for entry in family)
        self._selected = selected
        return selected
