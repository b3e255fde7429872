"""Reading an archive from elsewhere: everything is checked, nothing is run."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

from ledgence.local._limits import MANIFEST_BYTES
from ledgence.local._manifest import MANIFEST_NAME, parse_manifest
from ledgence.local._packages._archive import Package
from ledgence.local._packages._collect import reserved
from ledgence.local._packages._errors import PackageError
from ledgence.local._packages._limits import (
    ARCHIVE_BYTES,
    CHUNK,
    ENTRIES,
    FILE_BYTES,
    UNPACKED_BYTES,
)
from ledgence.local._packages._names import Names, parts_of

__all__ = ["Member", "opened", "read_package"]

_END = struct.Struct("<4s4H2IH")
_END_MARK = b"PK\x05\x06"
_LOCATOR_MARK = b"PK\x06\x07"
_LOCATOR_BYTES = 20
_LOCAL = struct.Struct("<4s5H3I2H")
_ZIP64_EXTRA = 0x0001
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNIX = 3


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive whose name, kind and size were checked.

    Attributes:
        mode: Its permission bits once it is unpacked.
    """

    path: str
    directory: bool
    mode: int
    size: int
    info: zipfile.ZipInfo

    def chunks(self, archive: zipfile.ZipFile) -> Iterator[bytes]:
        """Return the content; it has exactly the size and checksum that it claims.

        Raises:
            PackageError: ``package_archive``: it has not.
        """
        with _broken(self.path):
            left = self.size
            with archive.open(self.info) as file:
                while chunk := file.read(min(CHUNK, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        break
                    yield chunk
            if left:
                raise zipfile.BadZipFile("another size than the archive says")


def read_package(data: bytes) -> Package:
    """Check the bytes of an archive.

    Raises:
        TargetError: Its manifest is not valid.
        PackageError: It is no package.
    """
    with opened(data) as (archive, members):
        manifest = None
        for member in members:
            content = b"".join(_bounded(archive, member))
            if member.path == MANIFEST_NAME and not member.directory:
                manifest = parse_manifest(content)
    if manifest is None:
        raise _refuse("at the root", MANIFEST_NAME, "none")
    return Package(
        manifest=manifest,
        data=data,
        digest=f"sha256:{sha256(data).hexdigest()}",
        entries=tuple(one.path + "/" * one.directory for one in members),
    )


def _bounded(archive: zipfile.ZipFile, member: Member) -> Iterator[bytes]:
    """Read all, and hand on no more than a manifest may have."""
    size = 0
    for chunk in member.chunks(archive):
        size += len(chunk)
        if size <= MANIFEST_BYTES + CHUNK:
            yield chunk


@contextmanager
def opened(data: bytes) -> Generator[tuple[zipfile.ZipFile, list[Member]]]:
    """Open an archive; its directory is checked, its contents are not yet.

    Raises:
        PackageError: It is no ZIP of the permitted kind, or holds what is refused.
    """
    if not 0 < len(data) <= ARCHIVE_BYTES:
        expected = f"1 to {ARCHIVE_BYTES} bytes"
        raise _refuse("the archive", expected, f"{len(data)} bytes")
    _check_end(data)
    with _broken("the archive"):
        archive = zipfile.ZipFile(io.BytesIO(data), allowZip64=False)
    with archive:
        infos = archive.infolist()
        if not 1 <= len(infos) <= ENTRIES:
            raise _refuse("the archive", f"1 to {ENTRIES} entries", str(len(infos)))
        _check_places(data, infos, archive.start_dir)
        yield archive, _members(infos)


def _check_end(data: bytes) -> None:
    """Refuse more than one disk, ZIP64, and anything after the archive."""
    place = data.rfind(_END_MARK, max(0, len(data) - _END.size - 65_535))
    if place < 0 or len(data) - place < _END.size:
        raise _refuse("the end", "a ZIP archive", "no end record")
    _, disk, first, here, total, size, start, comment = _END.unpack_from(data, place)
    if place + _END.size + comment != len(data):
        raise _refuse("the end", "nothing after the archive", "more bytes")
    if disk or first or here != total:
        raise _refuse("the end", "one disk", "several")
    locator = place - _LOCATOR_BYTES
    zip64 = locator >= 0 and data[locator:place].startswith(_LOCATOR_MARK)
    if zip64 or total == 0xFFFF or 0xFFFFFFFF in (size, start):
        raise _refuse("the end", "no ZIP64", "ZIP64")
    if start + size != place:
        raise _refuse("the end", "a directory that fits the file", "another place")


def _check_places(data: bytes, infos: list[zipfile.ZipInfo], end: int) -> None:
    """Refuse entries that share bytes: small archives would become huge."""
    at = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        if info.header_offset < at:
            raise _refuse(_show(info), f"an entry from {at}", "one inside another")
        with _broken(_show(info)):
            header = _LOCAL.unpack_from(data, info.header_offset)
        if 0xFFFFFFFF in header[-4:-2]:
            raise _refuse(_show(info), "no ZIP64", "ZIP64")
        at = info.header_offset + _LOCAL.size + sum(header[-2:]) + info.compress_size
    if at > end:
        raise _refuse("the archive", "entries before its directory", "one inside it")


def _members(infos: list[zipfile.ZipInfo]) -> list[Member]:
    names = Names()
    total = 0
    found: list[Member] = []
    for info in infos:
        member = _member(info)
        names.add(member.path, parts_of(member.path), directory=member.directory)
        reserved(member.path)
        total += member.size
        if member.size > FILE_BYTES or total > UNPACKED_BYTES:
            expected = f"{FILE_BYTES} bytes in a file, {UNPACKED_BYTES} together"
            raise PackageError(
                "the package is too large",
                code="package_size",
                details={
                    "at": member.path,
                    "expected": f"at most {expected}",
                    "got": f"{member.size} and {total}",
                },
            )
        found.append(member)
    return found


def _member(info: zipfile.ZipInfo) -> Member:
    _check_kind(info)
    # The name as it is in the file: zipfile cuts it at a NUL.
    name = info.orig_filename
    directory = name.endswith("/")
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    if stat.S_IFMT(mode) not in (0, stat.S_IFDIR if directory else stat.S_IFREG):
        raise PackageError(
            "a package holds regular files and directories only",
            code="package_link",
            details={"path": ascii(name), "mode": oct(mode)},
        )
    if directory and info.file_size:
        raise _refuse(_show(info), "a directory without content", "content")
    return Member(
        path=name.removesuffix("/"),
        directory=directory,
        mode=0o755 if directory else 0o644 | (mode & 0o111),
        size=info.file_size,
        info=info,
    )


def _check_kind(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise _refuse(_show(info), "no encryption", "an encrypted entry")
    if info.compress_type not in _METHODS:
        method = f"method {info.compress_type}"
        raise _refuse(_show(info), "stored or deflated entries", method)
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        if kind == _ZIP64_EXTRA:
            raise _refuse(_show(info), "no ZIP64", "a ZIP64 field")
        extra = extra[4 + size :]


@contextmanager
def _broken(at: str) -> Generator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        struct.error,
        NotImplementedError,  # a compression or version that zipfile does not know
        EOFError,
        OSError,
        UnicodeError,
        ValueError,
        RuntimeError,
    ) as error:
        raise _refuse(at, "a sound ZIP archive", str(error)[:200]) from error


def _show(info: zipfile.ZipInfo) -> str:
    return ascii(info.orig_filename[:200])


def _refuse(at: str, expected: str, got: str) -> PackageError:
    return PackageError(
        "this is no package",
        code="package_archive",
        details={"at": at, "expected": expected, "got": got},
    )
