"""Programs that run from where their author edits them.

A linked program is not packaged: breakpoints and tracebacks show the author's own
files, and an edit counts from the next process on. Its digest is made of what would be
packaged, so that a warm process is never used for a program that has changed since.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ledgence.local._target import Target

__all__ = ["Fingerprint", "fingerprint"]

# As many entries as a package may have; what is larger is no program directory.
_MOST_FILES = 4_096


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a program on disk is made of.

    Attributes:
        digest: ``sha256:`` and the hash of the handler, all names and contents.
        size: Bytes of all contents, at least 1.
        signature: Changes when a file does; cheap to compute.
    """

    digest: str
    size: int
    signature: tuple[object, ...]


def fingerprint(target: Target, before: Fingerprint | None = None) -> Fingerprint:
    """Return what a program is made of now.

    Args:
        target: The program.
        before: An earlier fingerprint; returned again when no file has changed.

    Raises:
        OSError: A file cannot be read.
        PackageError: A program directory holds what no package can hold.
    """
    files = _files(target)
    signature = tuple(_stamp(path) for path in files.values())
    if before is not None and before.signature == signature:
        return before
    # A manifest would name the handler; a single file has none.
    digest, size = hashlib.sha256(f"{target.handler}\0".encode()), 0
    for name, path in files.items():
        content = path.read_bytes()
        size += len(content)
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return Fingerprint(f"sha256:{digest.hexdigest()}", max(1, size), signature)


def _stamp(path: Path) -> tuple[str, int, int]:
    found = path.stat()
    return str(path), found.st_mtime_ns, found.st_size


def _files(target: Target) -> dict[str, Path]:
    """Return what counts, by its path in the program.

    Of a program directory that is what would be packaged. Beside a single file
    anything may lie, so there the modules next to it and the packages among them count.
    """
    if target.manifest is not None:
        from ledgence.local._packages import collect  # noqa: PLC0415 - only for a directory

        entries = collect(target.root)
        return {one.path: one.source for one in entries if not one.directory}
    names: list[str] = []
    for name in _modules(target.root, ""):
        names.append(name)
        if len(names) > _MOST_FILES:
            names = [_handler_file(target)]
            break
    return {name: target.root / name for name in sorted(names)}


def _handler_file(target: Target) -> str:
    module = target.handler.partition(":")[0].replace(".", "/")
    name = f"{module}.py"
    return name if (target.root / name).is_file() else f"{module}/__init__.py"


def _modules(directory: Path, prefix: str) -> Iterator[str]:
    with os.scandir(directory) as found:
        entries = list(found)
    for entry in entries:
        if entry.name.endswith(".py") and entry.is_file():
            yield f"{prefix}{entry.name}"
        # Links to directories are not followed: no walk goes in circles.
        elif entry.name.isidentifier() and entry.is_dir(follow_symlinks=False):
            inner = directory / entry.name
            if (inner / "__init__.py").is_file():
                yield from _modules(inner, f"{prefix}{entry.name}/")
