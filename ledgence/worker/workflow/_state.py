"""The two context variables of an activation; cheap to import.

They are inherited by tasks, by ``asyncio.to_thread`` and by callbacks, and by nothing
else: a thread that is started without the context finds no activation.
"""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False

if TYPE_CHECKING:
    from ledgence.worker.workflow._context import WorkflowContext

# The context of the running activation.
current: ContextVar[WorkflowContext | None] = ContextVar(
    "ledgence_workflow", default=None
)

# The name of the local callable that the code belongs to; None in the controller.
# It is set once per step and never reset: what a callable started stays inside.
boundary: ContextVar[str | None] = ContextVar("ledgence_local_callable", default=None)
