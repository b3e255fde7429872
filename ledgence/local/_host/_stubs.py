"""Stand-ins for programs, run in the host's own process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ledgence.local._engine import Assignment, business_error, success
from ledgence.local._engine._values import JsonObject
from ledgence.local._limits import DATA_BYTES
from ledgence.worker._profile import ProfileError, encode, thaw

__all__ = ["Stub"]


@dataclass(frozen=True, slots=True)
class Stub:
    """A callable that takes the data of the event, or a fixed outcome.

    What it returns is the output of the task, checked as a program's own output would
    be; an exception that it raises, or is, is the error of the program. A stub that
    stands for a workflow completes with the output, or fails with the error.
    """

    name: str
    outcome: object

    def run(
        self, assignment: Assignment, escape: Callable[[BaseException], None]
    ) -> JsonObject:
        """Return the result for the report of an attempt.

        Args:
            assignment: The attempt.
            escape: Takes what is meant for the caller more than for the program.
        """
        try:
            output = self._outcome(thaw(encode(assignment.event["data"], DATA_BYTES)))
            output = thaw(encode(output, DATA_BYTES))
        except ProfileError as error:
            kind, message = "invalid_output", f"the stub of {self.name}: {error}"
        except Exception as error:  # noqa: BLE001 - it is the outcome of the program
            kind, message = "business_error", _describe(error)
        except BaseException as error:  # noqa: BLE001 - it is passed on
            escape(error)
            kind, message = "business_error", _describe(error)
        else:
            return success(_complete(assignment, output))
        return _failed(assignment, kind, message)

    def _outcome(self, data: object) -> object:
        found = self.outcome
        if isinstance(found, BaseException):
            raise found
        if not callable(found):
            return found
        function: Callable[[object], Any] = found
        output = function(data)
        return _run(output) if inspect.isawaitable(output) else output


def _run(value: Any) -> object:
    import asyncio  # noqa: PLC0415 - only for a coroutine

    return asyncio.run(_awaited(value))


async def _awaited(value: Any) -> object:
    return await value


def _describe(error: BaseException) -> str:
    try:
        return str(error).encode(errors="replace").decode()
    except Exception:  # noqa: BLE001 - the program's own __str__
        return f"{type(error).__name__}, whose own text failed"


def _complete(assignment: Assignment, output: object) -> object:
    if not assignment.activation:
        return output
    return {**_head(assignment), "kind": "complete", "output": output}


def _failed(assignment: Assignment, kind: str, message: str) -> JsonObject:
    if not assignment.activation:
        return business_error(kind, message)
    error = {"kind": kind, "message": message.encode()[:4096].decode(errors="ignore")}
    return success({**_head(assignment), "kind": "fail", "error": error})


def _head(assignment: Assignment) -> JsonObject:
    # A stub ends in its first activation, which has revision 0.
    return {"v": 1, "activation_id": assignment.owner.task_id, "revision": 0}
