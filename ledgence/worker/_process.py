"""What the public functions and the runner of one process share.

The public module stays free of the runner, and the runner loads nothing of what the
program may never use; here is the little that they have in common.
"""

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Sink(Protocol):
        """Where log records of this process go (protocols 2 and 3)."""

        protocol: int

        def emit(self, frame: bytes) -> None: ...
        def drop(self) -> None: ...

        limit: int

    class Bridge(Protocol):
        """The OpenTelemetry bridge once the program has enabled it."""

        def attach(self, carrier: "dict[str, Any] | None") -> object: ...
        def detach(self, token: Any) -> None: ...
        def span_ids(self) -> "tuple[str, str] | None": ...


sink: "Sink | None" = None
bridge: "Bridge | None" = None
shutdown_callbacks: "list[Callable[[], object]]" = []
