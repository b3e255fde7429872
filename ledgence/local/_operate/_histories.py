"""``history export`` and ``history replay``."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import click

from ledgence.local._errors import InputError, TargetError
from ledgence.local._exit import ExitCode
from ledgence.local._operate._call import call
from ledgence.local._operate._find import find_run
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import show_json
from ledgence.local._replay import History
from ledgence.local._replay import replay as play

__all__ = ["export", "replay"]


def export(session: Session, text: str, output: str | None) -> None:
    """Write the history of a run."""
    found = find_run(session, text)
    about = session.about(**{f"{found.kind}_id": found.id})
    if found.kind == "task":
        history = History.of_task(session.look, about)
    else:
        history = History.of_workflow(session.look, about)
    if output is None:
        click.echo(history.dumps(), nl=False)
        return
    try:
        history.save(output)
    except OSError as error:
        raise InputError(
            f"{output} cannot be written: {error.strerror}", code="output_unwritable"
        ) from error
    click.echo(f"ledgence-local: {found.kind} {found.id} is in {output}", err=True)


def replay(file: str, target: str, given: dict[str, Any]) -> NoReturn:
    """Replay a history against code."""

    def work() -> int:
        report = play(
            Path(file),
            target,
            programs=dict(map(_named, given["programs"])),
            timeout=given["timeout"],
            fresh_processes=given["fresh"],
            python=given["python"],
        )
        if given["as_json"]:
            show_json(
                {
                    "compared": report.compared,
                    "differences": [asdict(one) for one in report.differences],
                    "skipped": [asdict(one) for one in report.skipped],
                }
            )
            failed = bool(report.differences)
            return ExitCode.PROGRAM_FAILURE if failed else ExitCode.SUCCESS
        for one in report.skipped:
            where = "" if one.revision is None else f" activation {one.revision}"
            text = f"{one.workflow_id}{where} is skipped: {one.reason}"
            click.echo(f"ledgence-local: {text}", err=True)
        report.check()
        click.echo(f"{report.compared} activations are as the history says")
        return ExitCode.SUCCESS

    call(work, as_json=given["as_json"])


def _named(text: str) -> tuple[str, str]:
    name, equals, target = text.partition("=")
    if not equals:
        raise TargetError(
            f"{text} names no program",
            code="program_unnamed",
            hint=f"write NAME={os.fspath(text)}",
        )
    return name, target
