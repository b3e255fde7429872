"""Starts ``ledgence-local`` as a person's shell would."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT

# Long enough for a busy machine, never waited for where a test succeeds.
PATIENCE = 60


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def results(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def statuses(self):
        return [one["status"] for one in self.results]


def argv(*args):
    return [sys.executable, "-m", "ledgence.local", *map(str, args)]


def environment(**changes):
    """The caller's environment, with a place for bytecode outside the checkout."""
    cache = Path(tempfile.gettempdir()) / f"ledgence-tests-{os.getuid()}"
    ours = {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(cache)}
    inherited = dict(os.environ)
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**inherited, **ours, **changes}


def cli(*args, stdin=b"", cwd=None, env=None):
    """Run a command to its end."""
    done = subprocess.run(
        argv(*args),
        input=stdin,
        capture_output=True,
        check=False,
        cwd=cwd,
        env=env or environment(),
        timeout=PATIENCE,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def start_cli(*args, **options):
    """Start a command and leave its streams to the caller."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(
        argv(*args),
        **{**pipes, "stderr": subprocess.PIPE, "env": environment(), **options},
    )


def write_program(directory, source, name="program.py"):
    """Write a program file and return its path."""
    path = directory / name
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return path
