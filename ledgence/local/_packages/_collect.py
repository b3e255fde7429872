"""What of a program directory goes into its package, in the archive's order."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ledgence.local._packages._errors import PackageError
from ledgence.local._packages._limits import ENTRIES, FILE_BYTES, UNPACKED_BYTES
from ledgence.local._packages._names import Names, parts_of

__all__ = ["Entry", "collect", "reserved"]

_EXECUTE = 0o111
_SQLITE = b"SQLite format 3\0"
_STORE_ENDS = ("", "-host", "-wal", "-shm", "-journal", ".programs")
_CACHES = frozenset(("__pycache__", "node_modules"))
_BYTECODE = (".pyc", ".pyo")
_SECRETS = frozenset(("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials"))
_SECRET_FILES = frozenset(("credentials.json", "credentials.toml", "credentials.ini"))


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a directory of a program.

    Attributes:
        parts: Its path inside the package, by components.
        mode: The permission bits of the archive: 0755 for a directory; 0644 and the
            file's execute bits for a file.
        size: Bytes when it was looked at; 0 for a directory.
    """

    parts: tuple[str, ...]
    source: Path
    directory: bool
    mode: int
    size: int

    @property
    def path(self) -> str:
        """The path inside the package."""
        return "/".join(self.parts)


@dataclass(slots=True)
class _Walk:
    """One look through a program directory."""

    skipped: list[str]
    names: Names = field(default_factory=Names)
    count: int = 0
    size: int = 0

    def visit(self, directory: Path, above: tuple[str, ...]) -> Iterator[Entry]:
        listing = sorted(_listing(directory), key=lambda one: one.name)
        stores = _stores(directory, {one.name for one in listing})
        for found in listing:
            path = "/".join((*above, found.name))
            if found.name in stores or _is_skipped(found):
                self.skipped.append(path)
                continue
            entry = self._take(found, path)
            yield entry
            if entry.directory:
                yield from self.visit(entry.source, entry.parts)

    def _take(self, found: os.DirEntry[str], path: str) -> Entry:
        try:
            status = found.stat(follow_symlinks=False)
        except OSError as error:
            raise _unreadable(Path(found.path), error) from error
        directory = stat.S_ISDIR(status.st_mode)
        if not directory and not stat.S_ISREG(status.st_mode):
            raise _special(path, status.st_mode)
        entry = Entry(
            parts=parts_of(path),
            source=Path(found.path),
            directory=directory,
            mode=0o755 if directory else 0o644 | (status.st_mode & _EXECUTE),
            size=0 if directory else status.st_size,
        )
        reserved(entry.path)
        self.names.add(entry.path, entry.parts, directory=directory)
        self._count(entry)
        return entry

    def _count(self, entry: Entry) -> None:
        self.count += 1
        self.size += entry.size
        for what, limit, value in (
            ("files and directories", ENTRIES, self.count),
            ("bytes in one file", FILE_BYTES, entry.size),
            ("bytes together", UNPACKED_BYTES, self.size),
        ):
            if value > limit:
                raise PackageError(
                    "the program is too large for a package",
                    code="package_size",
                    details={
                        "at": entry.path,
                        "expected": f"at most {limit} {what}",
                        "got": value,
                    },
                    hint="keep what the program does not need elsewhere",
                )


def collect(root: Path, *, skipped: list[str] | None = None) -> list[Entry]:
    """Return what is packed of a directory, sorted by path, component by component.

    Left out are hidden files, environments, caches, bytecode, credentials, private SSH
    keys and the stores of local hosts, with all that lies below them.

    Args:
        root: The program directory.
        skipped: Gets the paths that were left out.

    Raises:
        PackageError: It holds a link, a special file or a path that is not portable,
            or it is too large.
    """
    walk = _Walk([] if skipped is None else skipped)
    return list(walk.visit(root, ()))


def reserved(path: str) -> None:
    """Refuse what only the runner brings (http-api.md, section 14).

    Raises:
        PackageError: ``package_reserved``.
    """
    if path == "ledgence/__init__.py" or f"{path}/".startswith("ledgence/worker/"):
        raise PackageError(
            "a package may not bring its own ledgence.worker",
            code="package_reserved",
            details={"path": path},
            hint="leave it out: every worker has it",
        )


def _listing(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError as error:
        raise _unreadable(directory, error) from error


def _stores(directory: Path, names: set[str]) -> set[str]:
    """Return what belongs to the store of a local host: it changes while it is used."""
    found: set[str] = set()
    for name in names:
        store = name.removesuffix("-host")
        if store == name or store not in names:
            continue
        with contextlib.suppress(OSError), (directory / store).open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                found |= {store + end for end in _STORE_ENDS}
    return found


def _is_skipped(found: os.DirEntry[str]) -> bool:
    name = found.name
    if name.startswith(".") or name in _CACHES or name in _SECRETS:
        return True
    if name in _SECRET_FILES or name.endswith(_BYTECODE):
        return True
    environment = Path(found.path, "pyvenv.cfg")
    return found.is_dir(follow_symlinks=False) and environment.is_file()


def _special(path: str, mode: int) -> PackageError:
    link = stat.S_ISLNK(mode)
    return PackageError(
        f"a package may not hold a {'link' if link else 'special file'}",
        code="package_link",
        details={"path": path},
        hint="put the file itself there" if link else "move it elsewhere",
    )


def _unreadable(path: Path, error: OSError) -> PackageError:
    return PackageError(
        f"the program cannot be read: {error.strerror}",
        code="package_source",
        details={"path": str(path)},
    )
