"""``check``: whether a worker could load a handler."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NoReturn

import click

from ledgence.local._cancel import CancelToken
from ledgence.local._console import Console
from ledgence.local._launch import Launch
from ledgence.local._operate._call import call
from ledgence.local._operate._show import facts, show_json
from ledgence.local._process import RunnerProcess
from ledgence.local._signals import SignalWatch
from ledgence.local._streams import Stream
from ledgence.local._target import find_interpreter, find_target

__all__ = ["check"]


def check(text: str, given: dict[str, Any]) -> NoReturn:
    """Start a runner, wait until it is ready, and end it."""

    def work() -> None:
        protocol = None if given["protocol"] is None else int(given["protocol"])
        target = find_target(text, protocol=protocol)
        interpreter = find_interpreter(given["python"], target)
        launch = Launch.of(target, interpreter)
        _start(launch, given["start_timeout"])
        shown: dict[str, object] = {
            "handler": target.handler,
            "directory": str(target.root),
            "python": interpreter.version,
            "protocol": target.protocol,
        }
        if target.manifest is not None:
            manifest = target.manifest
            shown["program"] = f"{manifest.program_id}@{manifest.version}"
        if given["as_json"]:
            show_json({"status": "ready", **shown})
        else:
            facts(shown)
            click.echo("ready")

    call(work, as_json=given["as_json"])


def _start(launch: Launch, seconds: float) -> None:
    token = CancelToken()
    console = Console(
        Stream(1, token),
        Stream(2, token),
        pretty=False,
        frames=False,
        runner_directory=str(Path(launch.bootstrap).parent),
        progress=None,
    )
    try:
        with SignalWatch(token):
            process = RunnerProcess(launch, console, cancel=token)
            try:
                process.start(deadline=time.monotonic() + seconds)
                process.close()
            finally:
                process.kill()
                console.end()
    finally:
        token.close()
