"""The invocation that code belongs to: a context variable, and what it holds."""

from _contextvars import ContextVar

from ledgence.worker._frozen import Frozen

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Any
else:

    def dataclass(*, frozen: bool):  # noqa: ANN202, ARG001 - for checkers; see Frozen
        return lambda cls: cls


@dataclass(frozen=True)
class TraceContext(Frozen):
    """A W3C trace context, as the worker passed it on.

    Attributes:
        traceparent: Version 00: trace id, parent span id and flags in hexadecimal.
        tracestate: At most 512 characters of vendors' members, or None.
    """

    traceparent: str
    tracestate: str | None = None

    if not TYPE_CHECKING:

        def __init__(self, traceparent: str, tracestate: str | None = None) -> None:
            fields = self.__dict__
            fields["traceparent"] = traceparent
            fields["tracestate"] = tracestate


@dataclass(frozen=True)
class InvocationContext(Frozen):
    """Which event is handled, in which attempt, for whom (runner-protocol.md, 7.2).

    Values are those of the event, unvalidated; an absent attribute is None.

    Attributes:
        event_id: The event's ``id``.
        attempt_id: The attempt to handle it; another attempt has another one.
        source: The event's ``source``.
        tenant_id: ``ldgtenantid``.
        namespace: ``ldgnamespace``.
        run_id: ``ldgrunid``.
        task_id: ``ldgtaskid``.
        attempt_no: ``ldgattemptno``, from 1.
        processing_context: The trace context of this processing, in protocols 2 and 3.
        workflow_id: ``ldgworkflowid``, in a workflow activation.
        activation_id: ``ldgactivationid``, likewise.
        parent_workflow_id: ``ldgparentworkflowid``, in a nested workflow.
        root_workflow_id: ``ldgrootworkflowid``; without one the workflow's own id.
    """

    event_id: str
    attempt_id: str
    source: str | None = None
    tenant_id: str | None = None
    namespace: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    attempt_no: int | None = None
    processing_context: TraceContext | None = None
    workflow_id: str | None = None
    activation_id: str | None = None
    parent_workflow_id: str | None = None
    root_workflow_id: str | None = None

    if not TYPE_CHECKING:

        def __init__(  # noqa: PLR0917 - the fields, in their order
            self,
            event_id: str,
            attempt_id: str,
            source: str | None = None,
            tenant_id: str | None = None,
            namespace: str | None = None,
            run_id: str | None = None,
            task_id: str | None = None,
            attempt_no: int | None = None,
            processing_context: TraceContext | None = None,
            workflow_id: str | None = None,
            activation_id: str | None = None,
            parent_workflow_id: str | None = None,
            root_workflow_id: str | None = None,
        ) -> None:
            fields = self.__dict__
            fields["event_id"] = event_id
            fields["attempt_id"] = attempt_id
            fields["source"] = source
            fields["tenant_id"] = tenant_id
            fields["namespace"] = namespace
            fields["run_id"] = run_id
            fields["task_id"] = task_id
            fields["attempt_no"] = attempt_no
            fields["processing_context"] = processing_context
            fields["workflow_id"] = workflow_id
            fields["activation_id"] = activation_id
            fields["parent_workflow_id"] = parent_workflow_id
            fields["root_workflow_id"] = root_workflow_id


class Invocation:
    """One invocation: the values as they were when it began.

    The public record is made for those who ask for it, once.

    Attributes:
        identities: The members of a log record's ``invocation``, in their order:
            event, attempt, source, tenant, namespace, run, task, attempt number,
            workflow, activation, parent workflow, root workflow.
        carrier: The frame's processing context, checked; None without one.
        log_member: The identities as a log record has them, encoded for the first one.
        log_tail: The same with the ids of the carrier's span.
    """

    __slots__ = ("_context", "carrier", "identities", "log_member", "log_tail")

    def __init__(
        self,
        event_id: str,
        attempt_id: str,
        event: "dict[str, Any]",
        carrier: "dict[str, Any] | None" = None,
    ) -> None:
        get = event.get
        workflow_id = get("ldgworkflowid")
        self.carrier = carrier
        self.identities = (
            event_id,
            attempt_id,
            get("source"),
            get("ldgtenantid"),
            get("ldgnamespace"),
            get("ldgrunid"),
            get("ldgtaskid"),
            get("ldgattemptno"),
            workflow_id,
            get("ldgactivationid"),
            get("ldgparentworkflowid"),
            get("ldgrootworkflowid", workflow_id),
        )
        self.log_member: bytes | None = None
        self.log_tail: bytes | None = None
        self._context: InvocationContext | None = None

    @property
    def context(self) -> InvocationContext:
        """What ``current_invocation()`` returns."""
        context = self._context
        if context is None:
            carrier, identities = self.carrier, self.identities
            trace = None
            if carrier is not None:
                trace = TraceContext(carrier["traceparent"], carrier.get("tracestate"))
            context = InvocationContext(*identities[:8], trace, *identities[8:])
            self._context = context
        return context


_current: "ContextVar[Invocation]" = ContextVar("ledgence_invocation")

enter = _current.set
lookup = _current.get  # takes a default


def current() -> Invocation:
    """The invocation of the current context.

    Raises:
        RuntimeError: There is none.
    """
    invocation = _current.get(None)
    if invocation is None:
        raise RuntimeError(
            "no invocation is active here: current_invocation() works in a handler,"
            " in its tasks, and in threads that run in a copy of its context"
        )
    return invocation
