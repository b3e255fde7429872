"""Mistakes that mypy and pyright both find, on every line that says so; never run."""

from __future__ import annotations

from ledgence.local import History, LocalHost, replay_history


def plain() -> None:
    """Misuse a host with plain calls."""
    LocalHost(time="fast")  # wrong
    LocalHost(slotz=1)  # wrong
    with LocalHost(programs={"flow": 5}) as host:  # wrong
        host.start_workflow("flow", key=5)  # wrong
        host.start_workflow(5)  # wrong
        host.result(7)  # wrong
        host.decide_approval("wf_1", "k", "accept")  # wrong
        host.send_event("wf_1", "k", kind="x")  # wrong
        wrong: str = host.history("wf_1")  # wrong
        host.advance("1h")  # wrong
        del wrong


async def with_await() -> None:
    """Forget an await."""
    async with LocalHost() as host:
        run = host.submit_task("mail")
        await host.result(run)  # wrong


def replays(history: History) -> None:
    """Misuse a replay."""
    replay_history(history)  # wrong
    replay_history(history, "flow.py:handle", fresh=True)  # wrong
    history.operation(5)  # wrong
