"""Plays recorded activations in real runner processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any, Self

from ledgence.local._cancel import CancelToken
from ledgence.local._conversation import Invocation
from ledgence.local._engine._values import JsonObject
from ledgence.local._errors import InputError, RunFailure, StartRefused
from ledgence.local._frames import Request, Result
from ledgence.local._launch import Launch
from ledgence.local._process import RunnerProcess
from ledgence.local._replay._compare import Played
from ledgence.local._replay._format import refusal
from ledgence.local._replay._invocation import invocation_of
from ledgence.local._replay._output import Output
from ledgence.local._replay._shape import Place
from ledgence.worker._profile_path import spell

__all__ = ["Player", "PlayerHere"]

Answer = Callable[[Request], object]


class Player:
    """A program that is played to, activation by activation.

    Args:
        launch: What to start.
        output: Takes what the program writes.
        timeout: Seconds for one activation, a start of the process included.
        fresh: Give every activation a process of its own.
    """

    def __init__(
        self, launch: Launch, output: Output, *, timeout: float, fresh: bool
    ) -> None:
        self._launch = launch
        self._output = output
        self._timeout = timeout
        self._fresh = fresh
        self._cancel = CancelToken()
        self._process: RunnerProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._retire()
        self._cancel.close()

    def play(self, activation: JsonObject, place: Place) -> Played:
        """Play one activation.

        Args:
            activation: It has a decision.
            place: Where it stands in the history.

        Raises:
            StartRefused: The program cannot be started; its output says why.
            HistoryError: No runner can have had this activation.
        """
        played = Played()
        invocation = invocation_of(activation, place)
        try:
            result = self._invoke(invocation, lambda asked: _answer(asked, played))
        except StartRefused:
            raise
        except InputError as error:
            expected = "what fits the frame of a runner"
            raise refusal(spell(place), expected, error.summary) from error
        except RunFailure as failure:
            played.result = f"{failure.summary} [{failure.code}]"
        else:
            played.result = result
            played.steps = _steps(result)
        return played

    def _invoke(self, invocation: Invocation, answer: Answer) -> Result:
        deadline = time.monotonic() + self._timeout
        process = self._warm(deadline)
        return process.invoke(invocation, deadline=deadline, answer=answer)

    def _warm(self, deadline: float) -> RunnerProcess:
        process = self._process
        if process is not None and process.reusable and not self._fresh:
            return process
        self._retire()
        process = RunnerProcess(self._launch, self._output, cancel=self._cancel)
        self._process = process
        process.start(deadline=deadline)
        return process

    def _retire(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()
            self._output.end()


class PlayerHere(Player):
    """Plays in this process, so that a debugger can stop in the program."""

    def __init__(self, launch: Launch, output: Output) -> None:
        super().__init__(launch, output, timeout=0.0, fresh=False)
        from ledgence.local._host._inprocess import InProcess  # noqa: PLC0415 - it is above this room

        self._here = InProcess(contextlib.nullcontext)

    def _invoke(self, invocation: Invocation, answer: Answer) -> Result:
        return self._here.run("", self._launch, invocation, answer)


def _answer(request: Request, played: Played) -> object:
    """Acknowledge everything, so that all that differs comes to light."""
    payload: Any = request.payload
    played.requests.append((request.operation, payload))
    if request.operation == "workflow.fork":
        keys = [branch["key"] for branch in payload["branches"]]
        return {"committed": True, "key": payload["key"], "branch_keys": keys}
    return {"committed": True}


def _steps(result: Result) -> frozenset[str] | None:
    seen = result.observations
    if seen is None or seen["local_steps_truncated"]:
        return None
    return frozenset(step["key"] for step in seen["local_steps"])
