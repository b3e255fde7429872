"""Packing: the same files give the same bytes."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from ledgence.local._manifest import MANIFEST_NAME, Manifest, parse_manifest
from ledgence.local._packages._collect import Entry, collect
from ledgence.local._packages._errors import PackageError
from ledgence.local._packages._limits import ARCHIVE_BYTES, CHUNK

__all__ = ["Package", "build_package"]

_UNIX = 3
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_DIRECTORY_FLAG = 0x10


@dataclass(frozen=True, slots=True)
class Package:
    """A package that was checked.

    Attributes:
        data: The bytes of the archive, at most 64 MiB.
        digest: ``sha256:`` and the hash of these bytes.
        skipped: What of the source was left out; empty for one that was read.
    """

    manifest: Manifest
    data: bytes = field(repr=False)
    digest: str
    entries: tuple[str, ...] = field(repr=False)
    skipped: tuple[str, ...] = field(default=(), repr=False)


def build_package(root: Path) -> Package:
    """Pack a program directory.

    Args:
        root: A directory with ``ledgence-program.json``.

    Raises:
        TargetError: The manifest is missing or not valid.
        PackageError: Something in the directory cannot be packed.
    """
    skipped: list[str] = []
    entries = collect(root, skipped=skipped)
    manifest = _manifest(root, entries)
    data = _pack(entries)
    return Package(
        manifest=manifest,
        data=data,
        digest=f"sha256:{sha256(data).hexdigest()}",
        entries=tuple(entry.path + "/" * entry.directory for entry in entries),
        skipped=tuple(skipped),
    )


def _manifest(root: Path, entries: list[Entry]) -> Manifest:
    for entry in entries:
        if entry.path == MANIFEST_NAME and not entry.directory:
            return parse_manifest(b"".join(_read(entry)))
    raise PackageError(
        f"the program has no {MANIFEST_NAME}",
        code="package_source",
        details={"directory": str(root)},
        hint="a package needs one at its root",
    )


def _pack(entries: list[Entry]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", allowZip64=False) as archive:
        for entry in entries:
            with archive.open(_info(entry), "w") as file:
                for chunk in _read(entry):
                    file.write(chunk)
                    _limit(buffer.tell(), entry.path)
    _limit(buffer.tell(), "the archive's directory")
    return buffer.getvalue()


def _info(entry: Entry) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(entry.path + "/" * entry.directory, _EARLIEST)
    info.create_system = _UNIX
    info.file_size = entry.size
    if entry.directory:
        info.external_attr = (stat.S_IFDIR | entry.mode) << 16 | _DIRECTORY_FLAG
    else:
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (stat.S_IFREG | entry.mode) << 16
    return info


def _read(entry: Entry) -> Iterator[bytes]:
    """Read a file whole, and never what was put in its place meanwhile."""
    if entry.directory:
        return
    size = 0
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with open(os.open(entry.source, flags), "rb") as file:  # noqa: PTH123 - flags
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _changed(entry)
            while chunk := file.read(min(CHUNK, entry.size - size + 1)):
                size += len(chunk)
                if size > entry.size:
                    raise _changed(entry)
                yield chunk
    except OSError as error:
        raise PackageError(
            f"the program cannot be read: {error.strerror}",
            code="package_source",
            details={"path": str(entry.source)},
        ) from error
    if size != entry.size:
        raise _changed(entry)


def _changed(entry: Entry) -> PackageError:
    return PackageError(
        "the program changed while it was packed",
        code="package_source",
        details={"path": str(entry.source)},
        hint="try again",
    )


def _limit(size: int, at: str) -> None:
    if size > ARCHIVE_BYTES:
        raise PackageError(
            "the program is too large for a package",
            code="package_size",
            details={
                "at": at,
                "expected": f"at most {ARCHIVE_BYTES} bytes packed",
                "got": f"at least {size}",
            },
            hint="keep what the program does not need elsewhere",
        )
