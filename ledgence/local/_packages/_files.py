"""Files that are there whole or not at all, whenever their writer is killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["TEMPORARY", "discard", "sweep", "temporary", "write_whole"]

# No hash, and nothing beside a descriptor, begins like this.
TEMPORARY = ".new-"


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in its place; it survives a loss of power once this returns."""
    _make_directories(path.parent)
    descriptor, name = tempfile.mkstemp(prefix=TEMPORARY, dir=path.parent)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
        os.fchmod(descriptor, 0o644)
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    Path(name).replace(path)
    _sync(path.parent)


def temporary(directory: Path) -> Path:
    """Make a directory to be renamed within ``directory`` when it is complete."""
    _make_directories(directory)
    return Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=directory))


def discard(path: Path) -> None:
    """Remove a directory in one step; its remains are temporary by name."""
    if path.exists():
        grave = temporary(path.parent)
        path.rename(grave / "old")
        shutil.rmtree(grave)


def sweep(store: Path) -> None:
    """Remove what killed writers left; only for who holds the lock of the store."""
    # Not in ``programs`` itself: a program's name may begin like this.
    for directory in (store / "blobs", store / "unpacked", *store.glob("programs/*/*")):
        for leftover in directory.glob(f"{TEMPORARY}*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)


def _make_directories(path: Path) -> None:
    """Make a directory and note it, and those above it, on the disk."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for one in missing:
        _sync(one.parent)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
