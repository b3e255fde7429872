"""``work``: run what a store has to run."""

from __future__ import annotations

import contextlib
from typing import Any, NoReturn

import click

from ledgence.local._exit import ExitCode
from ledgence.local._operate._call import on_store
from ledgence.local._operate._display import open_display
from ledgence.local._operate._drive import (
    Drive,
    answer,
    follow,
    hosting,
    idle,
    watching,
)
from ledgence.local._operate._find import find_run
from ledgence.local._operate._programs import link_all
from ledgence.local._operate._session import Session
from ledgence.local._operate._show import as_time, show_json

__all__ = ["work"]


def work(text: str | None, given: dict[str, Any]) -> NoReturn:
    """Run one run on, or whatever can run."""

    def one(session: Session) -> int:
        found = find_run(session, str(text))
        link_all(session.links, given["programs"])
        drive = Drive.of(given)
        return answer(session, found, follow(session, found, drive), drive)

    def everything(session: Session) -> int:
        link_all(session.links, given["programs"])
        drive = Drive.of(given)
        display = open_display(session, quiet=drive.quiet)
        with (
            watching() as token,
            contextlib.closing(display),
            hosting(session, drive, display) as hosted,
        ):
            idle(session, hosted, display, token, stay=given["stay"])
        return _rest(session)

    on_store(given, everything if text is None else one)


def _rest(session: Session) -> int:
    at = session.engine.schedule().next_at
    if session.as_json:
        show_json({"next_at": at})
    elif at is None:
        click.echo("nothing is left to run")
    else:
        click.echo(f"nothing can run before {as_time(at)}")
    return ExitCode.SUCCESS
