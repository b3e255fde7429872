"""What is needed to start a runner, and the command line that does it."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ledgence.local._limits import FRAME_BYTES

if TYPE_CHECKING:
    from ledgence.local._target import Interpreter, Target

__all__ = ["Launch", "default_bootstrap", "describe_exit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One program, one interpreter, one protocol (runner-protocol.md, section 1).

    Attributes:
        package_root: The absolute directory of the program.
        handler: ``module:function`` inside it.
        python_version: ``MAJOR.MINOR`` of ``python``.
    """

    python: str
    bootstrap: str
    package_root: str
    handler: str
    python_version: str
    protocol: int
    max_frame_bytes: int = FRAME_BYTES

    @classmethod
    def of(
        cls, target: Target, interpreter: Interpreter, runner: str | None = None
    ) -> Self:
        """Return the launch of a target.

        Args:
            target: The program.
            interpreter: What runs it.
            runner: Another bootstrap than that of the installed helper.
        """
        return cls(
            python=interpreter.path,
            bootstrap=str(Path(runner or default_bootstrap()).absolute()),
            package_root=str(target.root),
            handler=target.handler,
            python_version=interpreter.version,
            protocol=target.protocol,
        )

    def argv(self) -> list[str]:
        """Return the command line exactly as the worker gives it."""
        limit = str(self.max_frame_bytes)
        argv = [self.python, "-I", "-S", "-B", self.bootstrap]
        argv += ["--package-root", self.package_root, "--handler", self.handler]
        argv += ["--python-version", self.python_version]
        argv += ["--max-input-bytes", limit, "--max-output-bytes", limit]
        if self.protocol > 1:  # runners of protocol 1 do not know the option
            argv += ["--protocol-version", str(self.protocol)]
        return argv


@functools.cache
def default_bootstrap() -> str:
    """Return the bootstrap of the installed ``ledgence.worker``, alone in a directory.

    Programs find what lies beside the helper. On a worker that is nothing; where the
    helper is installed it is everything else that is installed, so programs get a
    directory that only leads to the helper. It goes when this process ends.
    """
    import ledgence.worker  # noqa: PLC0415 - only to find its directory

    home = Path(tempfile.mkdtemp(prefix="ledgence-runner-"))
    atexit.register(_remove, home, os.getpid())
    package = home / "ledgence"
    package.mkdir()
    (package / "worker").symlink_to(Path(next(iter(ledgence.worker.__path__))))
    return str(package / "worker" / "bootstrap.py")


def _remove(home: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked child
        shutil.rmtree(home, ignore_errors=True)


def describe_exit(status: int | None) -> str:
    """Return words for an exit status as ``subprocess`` gives it."""
    if status is None:
        return "is still there"
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
