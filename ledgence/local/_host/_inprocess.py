"""Handlers run in the host's own process, so that a debugger can stop in them.

Both ends of the conversation are the real ones: the parent's ``Conversation`` and the
runner's ``Invoker`` exchange the frames that would cross the pipes, so that a program
sees the same event, the same context and the same rules for its values. What cannot be
the same: nobody can kill it, it shares the interpreter and its modules with the host,
and one handler runs at a time.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ledgence.local._conversation import Conversation, Invocation, State
from ledgence.local._errors import LocalError, ProcessGone, StartRefused
from ledgence.local._frames import Request, Result
from ledgence.local._launch import Launch
from ledgence.worker._observations import Observation
from ledgence.worker._runner import frames, tracebacks
from ledgence.worker._runner.channel import Channel
from ledgence.worker._runner.invoke import Invoker, describe, needs_await
from ledgence.worker.workflow._run import run_activation

__all__ = ["InProcess"]

Answer = Callable[[Request], object]


class _Refused(BaseException):
    """Ends an activation whose request is not answered, as killing it would."""


class _NoChannel(Channel):
    """Stands where a runner has its pipes; there are none, and nothing forks."""

    def __init__(self) -> None:
        self.forked = False


class InProcess:
    """Runs handlers here, one at a time.

    Args:
        standing: Lets the host's clock stand still meanwhile: there are no deadlines.
    """

    def __init__(self, standing: Callable[[], AbstractContextManager[None]]) -> None:
        self._standing = standing
        self._lock = threading.Lock()
        self._programs: dict[str, _Program] = {}

    def run(
        self, digest: str, launch: Launch, invocation: Invocation, answer: Answer
    ) -> Result:
        """Run one invocation.

        Raises:
            InputError: The invocation is too large for a frame.
            StartRefused: The handler cannot be imported.
            ProcessGone: The handler ended with what would have ended a process.
            LocalError: What ``answer`` raised.
        """
        talk = Conversation(launch.protocol, os.getpid(), launch.python_version)
        talk.state = State.IDLE
        call = frames.read(talk.invoke(invocation), launch.protocol)
        if call is None:
            raise RuntimeError("an invocation was read as a shutdown")
        with self._lock, self._standing():
            program = self._programs.setdefault(digest, _Program(launch))
            with program.entered():
                invoker = _Invoker(program.handler(), talk, answer)
                line = _last_word(invoker, call)
        result = talk.understand(line)
        if not isinstance(result, Result):
            raise TypeError(f"an invoker made a {type(result).__name__}")
        return result


def _last_word(invoker: _Invoker, call: frames.Call) -> bytes:
    try:
        return invoker.run(call)
    except _Refused as refusal:
        cause = refusal.__cause__
        raise cause if isinstance(cause, LocalError) else refusal from None
    except BaseException as error:
        raise ProcessGone(
            f"the handler raised {type(error).__name__}, which ends a process",
            code="process_gone",
        ) from error


@dataclass(slots=True)
class _Program:
    """A program's modules, which are its own while its handler runs."""

    launch: Launch
    _modules: dict[str, ModuleType] = field(default_factory=dict[str, ModuleType])

    def handler(self) -> Callable[[Any], Any]:
        """Import the handler's module, if need be, and return the handler."""
        module_name, _, function = self.launch.handler.partition(":")
        try:
            module = importlib.import_module(module_name)
            found: Callable[[Any], Any] | None = getattr(module, function, None)
        except Exception as error:
            tracebacks.report(error)
            raise StartRefused(
                f"the program cannot be imported: {type(error).__name__}: {error}",
                code="start_refused",
                phase="startup",
            ) from error
        if found is None or not callable(found):
            raise StartRefused(
                f"{self.launch.handler} is absent or not callable",
                code="start_refused",
                phase="startup",
            )
        return found

    @contextmanager
    def entered(self) -> Generator[None]:
        """Let the program's modules stand in the interpreter for a while.

        Programs have modules of the same names. A module of this very program that
        was imported before, by a test say, is used as it is.
        """
        root = self.launch.package_root
        outside = self._put_aside(root)
        sys.modules.update(self._modules)
        before = set(sys.modules)
        sys.path.insert(0, root)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(root)
            for name in set(sys.modules) - before:
                if _is_inside(sys.modules[name], root):
                    self._modules[name] = sys.modules[name]
            for name in self._modules:
                sys.modules.pop(name, None)
            sys.modules.update(outside)

    def _put_aside(self, root: str) -> dict[str, ModuleType]:
        """Take the modules away that stand where the program has its own."""
        names = {Path(entry.name).stem for entry in os.scandir(root)}
        taken = {
            name: module
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] in names
            and name.partition(".")[0] not in sys.stdlib_module_names
            and not name.startswith("ledgence")
            and not _is_inside(module, root)
        }
        for name in taken:
            del sys.modules[name]
        return taken


def _is_inside(module: ModuleType, root: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and os.path.realpath(file).startswith(f"{root}/")


class _Invoker(Invoker):
    """The runner's own way from a call to a frame, in an ordinary event loop."""

    def __init__(
        self, handler: Callable[[Any], Any], talk: Conversation, answer: Answer
    ) -> None:
        super().__init__(handler, _NoChannel(), talk.max_frame_bytes)
        self._talk = talk
        self._answer = answer

    def answer(self, call: frames.Call, observation: Observation | None) -> bytes:
        """Call the handler and turn what comes of it into a frame."""
        if call.version < 3:
            return super().answer(call, observation)
        if call.extension is not None:
            return self._activate(call, observation)
        try:
            output = asyncio.run(self._handle(call))
        except Exception as error:  # noqa: BLE001 - it becomes a result
            return self.business_error(call, error)
        return self.returned(call, output)

    async def _handle(self, call: frames.Call) -> object:
        output = self.handler(call.event)
        return await output if needs_await(output) else output

    def _activate(self, call: frames.Call, observation: Observation | None) -> bytes:
        requests = frames.Requests(call, self.limit)

        async def rpc(operation: str, payload: dict[str, Any]) -> object:
            return self._request(requests, requests.encode(operation, payload))

        main = run_activation(
            self.handler,
            call.event,
            call.extension,
            rpc,
            None if observation is None else observation.steps,
        )
        try:
            return frames.decided(call, asyncio.run(main), self.limit)
        except Exception as error:  # noqa: BLE001 - it becomes a result
            tracebacks.report(error)
            return frames.failure(call, "workflow_error", describe(error), self.limit)

    def _request(self, requests: frames.Requests, line: bytes) -> object:
        request = self._talk.understand(line)
        if not isinstance(request, Request):
            raise TypeError(f"a request was read as a {type(request).__name__}")
        try:
            reply = self._answer(request)
        except LocalError as error:
            raise _Refused from error
        return requests.check_reply(self._talk.reply(reply))
