"""Runs the samples of a Markdown page and compares what they print.

A fenced block ```` ```python title="name.py" ```` (or another language) is written to
a file. A block ```` ```console ```` is a shell session: lines after ``$ `` are run,
``> `` continues one, the others are the output of the whole block, both streams
together. Ids are all alike, and so are directories in tracebacks, times, and the
seconds that pytest took. A line ``...`` stands for any lines left out. A block after
``<!-- output: SCRIPT -->`` holds lines that this Python script prints.

The lines of a block are compared without their order: logs and results travel by
different ways.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.support.local_cli import PATIENCE, ROOT, environment
from tests.support.plugin_project import PLUGIN

_FENCE = re.compile(r"^( *)```(\w*)(?: title=\"([^\"]+)\")?[^\n]*$")
_OUTPUT = re.compile(r"<!-- output: (\S+) -->")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_GAP = re.compile(r"(?<=\S) {2,}")
_SHORT_ID = re.compile(r"\b(wf|task|att)_[0-9a-f]{8}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b")
_SECONDS = re.compile(r"\bin \d+\.\d\ds\b")
_FILE = re.compile(r'(File ")[^"]*(/[^"/]+")')


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    line: int
    language: str
    title: str | None
    script: str | None
    text: str


def blocks(page):
    """Return the fenced blocks of a page in order."""
    found, script, lines = [], None, page.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        if match := _OUTPUT.fullmatch(lines[number].strip()):
            script = match[1]
        elif match := _FENCE.match(lines[number]):
            indent, language, title = match.groups()
            start = number + 1
            number = start
            while lines[number].strip() != "```":
                number += 1
            text = "\n".join(line.removeprefix(indent) for line in lines[start:number])
            found.append(Block(start, language, title, script, text))
            script = None
        number += 1
    return found


def run_page(page, directory, *, sessions=True):
    """Run a page's samples in ``directory``; return how many blocks were compared.

    Without ``sessions`` only the outputs of named scripts are.
    """
    compared = 0
    for block in blocks(page):
        if block.script is not None:
            shown = _run([sys.executable, block.script], directory)
            _compare(block, ["...", *block.text.splitlines()], shown)
            compared += 1
        elif not sessions:
            continue
        elif block.title is not None:
            file = directory / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "console":
            commands, expected = _session(block.text)
            shown = _run(["/bin/sh", "-c", commands], directory)
            _compare(block, expected, shown)
            compared += 1
    return compared


def _session(text):
    commands, expected = [], []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif line.startswith("> "):
            commands[-1] += "\n" + line[2:]
        else:
            expected.append(line)
    return "\n".join(commands), expected


def _run(command, directory):
    bin_directory = directory / ".bin" if directory != ROOT else _shims()
    _write_shim(bin_directory)
    path = f"{bin_directory}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        check=False,
        cwd=directory,
        env=environment(PATH=path, COLUMNS="80", PYTEST_ADDOPTS="-p no:asyncio"),
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
    )
    return done.stdout.decode().splitlines()


def _shims():
    return Path(environment()["PYTHONPYCACHEPREFIX"]) / "bin"


def _write_shim(directory):
    """Put commands on the path that run this checkout with this Python."""
    directory.mkdir(parents=True, exist_ok=True)
    pytest = " ".join(["-m pytest -p no:cacheprovider", *PLUGIN])
    commands = {"ledgence-local": "-m ledgence.local", "python": "", "pytest": pytest}
    for name, arguments in commands.items():
        draft = directory / f"draft-{os.getpid()}"
        draft.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        draft.chmod(0o755)
        draft.replace(directory / name)


def _compare(block, expected, shown):
    partial = "..." in expected
    wanted = Counter(_plain(line) for line in expected if line != "...")
    got = Counter(_plain(line) for line in shown)
    missing, extra = wanted - got, Counter() if partial else got - wanted
    assert not missing, _difference(block, missing, shown)
    assert not extra, _difference(block, extra, shown)


def _plain(line):
    line = _SHORT_ID.sub(r"\1_ID", _UUID.sub("UUID", line.rstrip()))
    line = _TIME.sub("TIME", _SECONDS.sub("in a moment", line))
    # A column is as wide as what a run happens to put into it.
    return _GAP.sub("  ", _FILE.sub(r"\1…\2", line))


def _difference(block, lines, shown):
    return "\n".join(
        [f"line {block.line}: these lines differ", *lines, "--- printed:", *shown]
    )
