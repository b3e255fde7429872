"""The door between the runner and the workflow API."""

# pyright: reportPrivateUsage=false
# The context is a room of the same house; its private methods are for this door.

from __future__ import annotations

from inspect import isawaitable

from ledgence.worker.workflow._activation import check_identity, open_extension
from ledgence.worker.workflow._context import WorkflowContext
from ledgence.worker.workflow._kinds import is_dict
from ledgence.worker.workflow._state import current

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ledgence.worker.workflow._journal import Recorder


async def run_activation(
    handler: Callable[[dict[str, Any]], Any],
    event: dict[str, Any],
    extension: object,
    rpc: Callable[[str, dict[str, Any]], Awaitable[Any]],
    steps: Recorder | None,
) -> bytes:
    """Run one activation in the running loop and context (workflow-api.md, 4.6).

    Args:
        handler: The handler of the program.
        event: The CloudEvent of the invocation.
        extension: Its extension, not None.
        rpc: ``async (operation, payload) -> result``, maybe with ``send_encoded``.
        steps: The observer of local steps, or None.

    Returns:
        The canonical bytes of the decision.

    Raises:
        BaseException: What went wrong, after everything that was started has ended.
    """
    activation = open_extension(extension)
    check_identity(activation, event)
    context = WorkflowContext(activation, rpc, steps)
    token = current.set(context)
    try:
        try:
            value = handler(event)
            # A decision is a dict; asking the abstract class about it would be slow.
            if not is_dict(value) and isawaitable(value):
                value = await value
            await context._drain()  # noqa: SLF001 # a room of this house
            decision = context._decide(value)  # noqa: SLF001 # as above
        except BaseException:
            await context._finish(cancel=True)  # noqa: SLF001 # as above
            raise
        await context._finish()  # noqa: SLF001 # as above
        return decision
    finally:
        context._release()  # noqa: SLF001 # as above
        current.reset(token)
