"""Many events through one warm process, as far as it stays usable."""

from __future__ import annotations

import selectors
import time
from dataclasses import dataclass
from typing import Any

from ledgence.local._activation import FirstActivation, first_extension
from ledgence.local._cancel import CancelToken
from ledgence.local._console import Console
from ledgence.local._conversation import Invocation
from ledgence.local._errors import (
    DeadlineExceeded,
    InputError,
    Interrupted,
    LocalError,
    RunFailure,
)
from ledgence.local._events import build_event, new_attempt
from ledgence.local._exit import ExitCode, exit_code_of, exit_code_of_signal
from ledgence.local._frames import Result
from ledgence.local._inputs import Input, Inputs
from ledgence.local._launch import Launch
from ledgence.local._process import RunnerProcess
from ledgence.local._progress import Progress
from ledgence.local._shapes import as_object

__all__ = ["Batch", "Plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done.

    Attributes:
        timeout: Seconds for one event, a start of the process included.
        start_timeout: Seconds for a start alone.
        workflow: Send each event as the first activation of a workflow.
        observe: Keep the runner's measurements in the results.
    """

    launch: Launch
    inputs: Inputs
    timeout: float
    start_timeout: float
    workflow: bool = False
    observe: bool = False


_MORE_TIME = {
    "startup": "--start-timeout and --timeout allow more seconds",
    "execution": "--timeout allows more seconds",
}


class Batch:
    """One call of the command ``run``."""

    def __init__(
        self,
        plan: Plan,
        console: Console,
        *,
        cancel: CancelToken,
        progress: Progress | None = None,
    ) -> None:
        self._plan = plan
        self._console = console
        self._cancel = cancel
        self._progress = progress
        self._process: RunnerProcess | None = None
        self._runs = 0
        self._succeeded = 0
        self._code = 0
        self._stopped = False

    def run(self) -> int:
        """Run every event and return the exit code.

        Raises:
            BrokenPipeError: The reader of the results went away; all is cleaned up.
        """
        try:
            self._run_all()
            self._close()
        except Interrupted as stop:
            self._stop()
            self._code = exit_code_of_signal(stop.signal)
        finally:
            self._kill()
            if self._progress is not None:
                self._progress.close()
        self._summary()
        return self._code

    def _run_all(self) -> None:
        for item in self._plan.inputs.read(self._wait):
            self._runs += 1
            self._run_one(item)
            if self._progress is not None:
                failed = self._runs - self._succeeded
                self._progress.update(
                    runs=self._runs, failed=failed, position=item.position
                )
            if self._stopped:
                break

    def _run_one(self, item: Input) -> None:
        """Run one event, count it and print its result."""
        head: dict[str, Any] = {"run": self._runs}
        if item.line is not None:
            head["line"] = item.line
        if item.problem is not None:
            self._report(head, item.problem)
            return
        try:
            result = self._invoke(item.data)
        except LocalError as error:
            self._report(head, error)
            return
        except Interrupted:
            self._stop()
            stopped = {"kind": "cancelled", "message": "the run was stopped"}
            self._console.end()
            self._console.result({**head, "status": "interrupted", "error": stopped})
            raise
        self._count(self._judge(result))
        self._console.result({**head, **self._describe(result)})

    def _count(self, code: int) -> None:
        # Before the result is printed, which may be interrupted.
        self._succeeded += code == ExitCode.SUCCESS
        self._code = max(self._code, code)

    def _invoke(self, data: object) -> Result:
        attempt = new_attempt(workflow=self._plan.workflow)
        extension = first_extension(attempt) if self._plan.workflow else None
        invocation = Invocation(build_event(attempt, data), extension)
        self._console.begin(self._runs, attempt.event_id)
        deadline = time.monotonic() + self._plan.timeout
        process = self._warm()
        try:
            if process is None:
                process = self._start(deadline)
            answer = FirstActivation().answer
            return process.invoke(invocation, deadline=deadline, answer=answer)
        finally:
            self._end_of_run()

    def _warm(self) -> RunnerProcess | None:
        """Return the process of the run before when it can be used again."""
        process = self._process
        if process is not None and process.reusable:
            process.idle(until=time.monotonic())
        if process is not None and process.reusable:
            return process
        self._close()
        return None

    def _start(self, deadline: float) -> RunnerProcess:
        self._process = process = RunnerProcess(
            self._plan.launch, self._console, cancel=self._cancel
        )
        try:
            latest = time.monotonic() + self._plan.start_timeout
            process.start(deadline=min(deadline, latest))
        except RunFailure:
            # Another start would fare no better.
            self._stopped = True
            raise
        return process

    def _end_of_run(self) -> None:
        if self._process is not None:
            allowance = self._process.allowance
            self._console.end(
                dropped_bytes=allowance.dropped_bytes,
                dropped_logs=allowance.dropped_logs,
            )

    def _wait(self, descriptor: int) -> None:
        """Wait for input, and hear what the idle process says meanwhile."""
        if self._process is not None and self._process.reusable:
            self._process.idle(readable=descriptor)
            if self._process.reusable:
                return
        selector = selectors.SelectSelector()
        selector.register(descriptor, selectors.EVENT_READ)
        selector.register(self._cancel.fileno(), selectors.EVENT_READ)
        with selector:
            selector.select()
        self._cancel.check()

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()
            self._console.end()
            if process.trouble is not None:
                self._console.note(f"no run is affected, but {process.trouble}")

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            self._console.end()

    def _stop(self) -> None:
        self._stopped = True
        if self._progress is not None:
            self._progress.close()
        self._console.stop()

    def _report(self, head: dict[str, Any], error: LocalError) -> None:
        status = "not_run" if isinstance(error, InputError) else "failed"
        body: dict[str, Any] = {"kind": error.kind, "code": error.code}
        if isinstance(error, RunFailure):
            body["phase"] = error.phase
            if error.exit_status is not None:
                body["exit_status"] = error.exit_status
        body["message"] = error.summary
        if isinstance(error, DeadlineExceeded):
            error.hint = _MORE_TIME[error.phase]
        self._count(exit_code_of(error))
        self._console.note(f"run {head['run']}: {error}")
        self._console.result({**head, "status": status, "error": body})

    def _describe(self, result: Result) -> dict[str, Any]:
        value: dict[str, Any] = {"status": result.status}
        if result.error is None:
            value["output"] = result.output
        else:
            value["error"] = dict(zip(("kind", "message"), result.error, strict=True))
        if self._plan.observe:
            value["observations"] = result.observations
        return value

    def _judge(self, result: Result) -> int:
        if result.error is None:
            decision = as_object(result.output) if self._plan.workflow else None
            failed = decision is not None and decision.get("kind") == "fail"
            return ExitCode.PROGRAM_FAILURE if failed else ExitCode.SUCCESS
        if result.error[0] == "invalid_output":
            return ExitCode.INVALID_OUTPUT
        return ExitCode.PROGRAM_FAILURE

    def _summary(self) -> None:
        if self._plan.inputs.many or self._code >= ExitCode.INTERRUPTED:
            failed = self._runs - self._succeeded
            text = f"{self._runs} runs: {self._succeeded} succeeded, {failed} did not"
            if self._stopped:
                text += "; stopped before the end"
            self._console.note(text)
