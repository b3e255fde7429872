"""The commands of ``ledgence-local`` and their options.

Only click is imported here: what a command does stands in ``ledgence.local._operate``
and is loaded when it is called, so that ``--help`` and completion are quick.
"""

from __future__ import annotations

from ledgence.local._commands._approval import approval
from ledgence.local._commands._check import check
from ledgence.local._commands._event import event
from ledgence.local._commands._history import history
from ledgence.local._commands._program import program
from ledgence.local._commands._root import cli
from ledgence.local._commands._run import run
from ledgence.local._commands._task import task
from ledgence.local._commands._work import work
from ledgence.local._commands._workflow import workflow

__all__ = ["cli"]

for _command in (
    *(run, check, work, workflow, task, event, approval, history, program),
):
    cli.add_command(_command)
