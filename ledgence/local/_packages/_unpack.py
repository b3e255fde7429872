"""From an archive to the files that a runner sees."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ledgence.local._packages._archive import Package
from ledgence.local._packages._files import temporary
from ledgence.local._packages._reader import Member, opened

__all__ = ["is_whole", "unpack"]


def unpack(package: Package, root: Path) -> None:
    """Write all files of a package and then give the directory its name.

    Args:
        package: Checked; its paths lie within the directory.
        root: Where it will stand; nothing is there yet.
    """
    draft = temporary(root.parent)
    with opened(package.data) as (archive, members):
        for member in members:
            path = draft / member.path
            if member.directory:
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                for chunk in member.chunks(archive):
                    file.write(chunk)
                os.fchmod(file.fileno(), member.mode)
    draft.chmod(0o755)
    draft.rename(root)


def is_whole(root: Path, package: Package) -> bool:
    """Tell whether every entry stands there in its size.

    After a loss of power files may be there by name alone.
    """
    with opened(package.data) as (_, members):
        return root.is_dir() and all(_stands(root, member) for member in members)


def _stands(root: Path, member: Member) -> bool:
    try:
        status = os.lstat(root / member.path)
    except OSError:
        return False
    if member.directory:
        return stat.S_ISDIR(status.st_mode)
    return stat.S_ISREG(status.st_mode) and status.st_size == member.size
