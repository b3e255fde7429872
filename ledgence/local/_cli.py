"""The door of ``ledgence-local``; the commands are loaded when they are used."""

from __future__ import annotations

import sys
from io import TextIOWrapper

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from ledgence.local._commands import cli  # noqa: PLC0415 - the import may fail
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write(
            "ledgence-local needs the extra `local`:"
            " pip install 'ledgence-worker[local]'\n"
        )
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        # Values are UTF-8 whatever the locale, as `run` writes them.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    cli(prog_name="ledgence-local")
