"""Uses of the local host that mypy and pyright accept in strict mode; never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

from ledgence.local import (
    Awaited,
    CrashPoint,
    Difference,
    History,
    HostListener,
    LocalHost,
    Operation,
    Origin,
    Outcome,
    PlainHost,
    ReplayMismatch,
    ReplayReport,
    RetryPolicy,
    Run,
    RunFailed,
    WaitExpired,
    replay,
    replay_history,
)


class Lines(HostListener):
    """Keeps what programs print."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def output(self, origin: Origin, text: str) -> None:
        """Keep a line."""
        self.lines.append(f"{origin.program}: {text}")


def late(point: CrashPoint) -> bool:
    """Tell where to kill."""
    return point.type == "result" and point.origin.attempt == 1


def plain() -> None:
    """Use a host with plain calls."""
    options = LocalHost(
        Path("store.db"),
        programs={"flow": "flow.py:handle", "other": Path("other")},
        time="real",
        crash=late,
        scope=("acme", "billing"),
        listener=Lines(),
    )
    with options as host:
        assert_type(host, PlainHost)
        host.stub("mail", {"ok": True})
        run = host.start_workflow("flow", {"n": 1}, key="k", queue="q")
        assert_type(run, Run)
        assert_type(host.wait_until_waiting(run), list[Awaited])
        host.send_event(run.id, "go", [1, 2])
        host.decide_approval(run, "refund", "approve", reviewer="Ada")
        outcome = host.result(run, timeout=5.0)
        assert_type(outcome, Outcome)
        history = host.history(run)
        assert_type(history, History)
        assert_type(history.operation("charge", kind="local"), Operation)
        host.advance(60_000)
        policy: RetryPolicy = {"max_attempts": 1, "retry_delay_ms": 0}
        assert_type(host.run_task("mail", retry_policy=policy), Any)


async def with_await() -> None:
    """Use a host with coroutines."""
    async with LocalHost(in_process=True) as host:
        assert_type(host, LocalHost)
        run = await host.submit_task("mail", None, attempt_timeout_ms=60_000)
        try:
            (await host.result(run)).unwrap()
        except RunFailed as error:
            assert_type(error.outcome, Outcome)
        except WaitExpired as expired:
            assert_type(expired.awaited, list[Awaited])


def replays(history: History) -> None:
    """Replay a history."""
    report = replay(history, "flow.py:handle", programs={"c": Path("c")})
    assert_type(report, ReplayReport)
    try:
        replay_history("file.json", Path("flow"), fresh_processes=True)
    except ReplayMismatch as error:
        assert_type(error.differences, tuple[Difference, ...])
