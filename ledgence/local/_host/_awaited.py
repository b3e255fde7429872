"""What a run does or waits for, and what would release it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ledgence.local._engine import Inspection, NotFound, Scope
from ledgence.local._host._runs import Awaited, Run
from ledgence.local._text import shorten

__all__ = ["awaited"]

_TERMINAL = ("succeeded", "failed", "cancelled")
_MOST = 64
_DEPTH = 17
_SHOWN = 200


def awaited(look: Inspection, scope: Scope, run: Run, now: int) -> list[Awaited]:
    """Return all that a run waits for, that of its children included.

    Args:
        look: The store.
        scope: Whose run it is.
        run: The run.
        now: The host's time.
    """
    found: list[Awaited] = []
    try:
        for one in _Walk(look, scope.to_json(), now).of(run, key="", depth=0):
            found.append(one)
            if len(found) == _MOST:
                break
    except NotFound:
        return found
    return found


class _Walk:
    """From a run down to the leaves of its tree."""

    def __init__(self, look: Inspection, scope: dict[str, str], now: int) -> None:
        self._look = look
        self._scope = scope
        self._now = now

    def of(self, run: Run, *, key: str, depth: int) -> Iterator[Awaited]:
        if run.kind == "task":
            yield from self._task(run, key)
        elif depth < _DEPTH:
            yield from self._workflow(run, key, depth)

    def _workflow(self, run: Run, key: str, depth: int) -> Iterator[Awaited]:
        shown = self._look.workflow(run.request(self._scope))
        status = shown["summary"]["workflow"]
        if status["state"] in _TERMINAL:
            return
        wait = shown["external_wait"]
        if wait is not None:
            yield self._wait(run, wait)
            return
        if status["activation_id"] is not None:
            yield from self._task(Run(status["activation_id"], "task"), key)
        yield from self._children(run, depth)

    def _children(self, run: Run, depth: int) -> Iterator[Awaited]:
        after: str | None = None
        while True:
            more = {} if after is None else {"after_key": after}
            page = self._look.children(run.request(self._scope, limit=100, **more))
            for child in page["items"]:
                if child["terminal_at"] is None:
                    target = Run(child["target_id"], child["kind"])
                    yield from self.of(
                        target, key=child["command_key"], depth=depth + 1
                    )
            after = page["next_cursor"]
            if after is None:
                return

    def _wait(self, run: Run, wait: dict[str, Any]) -> Awaited:
        kind, key, deadline = wait["kind"], wait["key"], wait["deadline"]
        in_ms = None if deadline is None else max(0, deadline - self._now)
        if kind == "event":
            release = f'send_event("{run.id}", "{key}", data)'
        elif kind == "approval":
            release = f'decide_approval("{run.id}", "{key}", "approve")'
        else:
            release = f"advance({in_ms})"
        return Awaited(run.id, kind, key, deadline, in_ms, release)

    def _task(self, run: Run, key: str) -> Iterator[Awaited]:
        status = self._look.task_status(run.request(self._scope))
        if status["state"] in _TERMINAL:
            return
        if status["state"] == "active":
            yield self._running(run, key)
            return
        at = status["available_at"]
        in_ms = max(0, at - self._now)
        if in_ms:
            detail = self._last_failure(run, status["attempt_count"])
            yield Awaited(run.id, "retry", key, at, in_ms, f"advance({in_ms})", detail)
        else:
            release = "a free slot, and a host that serves its queue"
            queue = f"queue {status['queue']}"
            yield Awaited(run.id, "queued", key, None, None, release, queue)

    def _running(self, run: Run, key: str) -> Awaited:
        attempts = self._look.task_attempts(run.request(self._scope))
        number, deadline = len(attempts), attempts[-1]["deadline"]
        in_ms = max(0, deadline - self._now)
        detail = f"attempt {number} runs"
        if number > 1:
            detail += f"; {self._last_failure(run, number - 1)}"
        release = f"a longer timeout, or advance({in_ms}) to let it time out"
        return Awaited(run.id, "running", key, deadline, in_ms, release, detail)

    def _last_failure(self, run: Run, number: int) -> str:
        """Return how an attempt has failed, in one line."""
        request = run.request(self._scope)
        attempt_id = self._look.task_attempts(request)[number - 1]["attempt_id"]
        attempt = self._look.attempt({**request, "attempt_id": attempt_id})
        if attempt["settlement"] is None:
            return f"attempt {number} was lost"
        message: str = attempt["settlement"]["result"]["failure"]["error"]["message"]
        first = message.strip().partition("\n")[0]
        return f"attempt {number} failed: {shorten(first, _SHOWN)}"
