"""The door of ``ledgence-local``; the commands are loaded when they are used."""

from __future__ import annotations

import sys

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
    cli(prog_name="ledgence-local")
