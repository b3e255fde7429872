"""The workflow authoring API, protocol 3.

```python
from ledgence.worker.workflow import workflow_context

async def handle(event):
    ctx = workflow_context()
    profile = await ctx.local("profile", fetch_profile, user_id=event["data"]["user"])
    return ctx.complete(profile)
```

The names in ``__all__`` are the contract. Decision shapes (``Decision`` and its kinds)
and the subclasses of ``WorkflowError`` can be imported from here as well, for
annotations and ``except`` clauses; they are loaded when they are asked for.
"""

from __future__ import annotations

from ledgence.worker._exceptions import WorkflowError
from ledgence.worker.workflow._approvals import (
    Approval,
    ApprovalAction,
    ApprovalDecision,
    ApprovalStatus,
)
from ledgence.worker.workflow._bindings import OperationKind
from ledgence.worker.workflow._branches import BranchSpec, ForkRef
from ledgence.worker.workflow._children import TaskRef, WorkflowRef
from ledgence.worker.workflow._context import (
    WorkflowContext,
    get_workflow_context,
    workflow_context,
)
from ledgence.worker.workflow._limits import (
    MAX_APPROVAL_BYTES,
    MAX_COMMANDS,
    MAX_CONTEXT_BYTES,
    MAX_DECISION_BYTES,
    MAX_EVENT_BYTES,
    MAX_FORK_BYTES,
    MAX_RECORD_BYTES,
    MAX_RECORDS_BYTES,
    MAX_STATE_BYTES,
    MAX_STEPS,
    MAX_TIMESTAMP,
    MAX_WAIT_MS,
    SCHEMA,
)
from ledgence.worker.workflow._registry import Workflow
from ledgence.worker.workflow._state import current as _current

_workflow = _current  # for tool builders

TYPE_CHECKING = False

if TYPE_CHECKING:
    from ledgence.worker._exceptions import (
        AcknowledgementError as AcknowledgementError,
    )
    from ledgence.worker._exceptions import ActivationError as ActivationError
    from ledgence.worker._exceptions import ApprovalError as ApprovalError
    from ledgence.worker._exceptions import ArgumentError as ArgumentError
    from ledgence.worker._exceptions import BindingError as BindingError
    from ledgence.worker._exceptions import ChildError as ChildError
    from ledgence.worker._exceptions import DecisionError as DecisionError
    from ledgence.worker._exceptions import HostError as HostError
    from ledgence.worker._exceptions import LimitError as LimitError
    from ledgence.worker._exceptions import PlacementError as PlacementError
    from ledgence.worker._exceptions import ProgramError as ProgramError
    from ledgence.worker._exceptions import RegistryError as RegistryError
    from ledgence.worker._exceptions import StepCancelledError as StepCancelledError
    from ledgence.worker.workflow._types import Command as Command
    from ledgence.worker.workflow._types import CompleteDecision as CompleteDecision
    from ledgence.worker.workflow._types import ContinueDecision as ContinueDecision
    from ledgence.worker.workflow._types import Decision as Decision
    from ledgence.worker.workflow._types import FailDecision as FailDecision
    from ledgence.worker.workflow._types import RetryPolicy as RetryPolicy
    from ledgence.worker.workflow._types import Sizes as Sizes
    from ledgence.worker.workflow._types import SuspendDecision as SuspendDecision
    from ledgence.worker.workflow._types import WaitDecision as WaitDecision
else:

    def __getattr__(name: str) -> object:
        from ledgence.worker.workflow._extras import load  # noqa: PLC0415 # rarely asked for

        return load(name)


__all__ = [
    "MAX_APPROVAL_BYTES",
    "MAX_COMMANDS",
    "MAX_CONTEXT_BYTES",
    "MAX_DECISION_BYTES",
    "MAX_EVENT_BYTES",
    "MAX_FORK_BYTES",
    "MAX_RECORDS_BYTES",
    "MAX_RECORD_BYTES",
    "MAX_STATE_BYTES",
    "MAX_STEPS",
    "MAX_TIMESTAMP",
    "MAX_WAIT_MS",
    "SCHEMA",
    "Approval",
    "ApprovalAction",
    "ApprovalDecision",
    "ApprovalStatus",
    "BranchSpec",
    "ForkRef",
    "OperationKind",
    "TaskRef",
    "Workflow",
    "WorkflowContext",
    "WorkflowError",
    "WorkflowRef",
    "get_workflow_context",
    "workflow_context",
]
