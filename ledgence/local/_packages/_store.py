"""The directory of published programs (http-api.md, section 14).

``programs/<id>/<version>/descriptor.json`` names a blob, ``blobs/<hash>.zip`` is one,
and ``unpacked/<hash>/`` holds its files, ready to be run.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ledgence.local._engine._errors import Unavailable
from ledgence.local._engine._work import Descriptor, Program
from ledgence.local._manifest import Manifest
from ledgence.local._packages._archive import Package
from ledgence.local._packages._descriptor import dump_descriptor, load_descriptor
from ledgence.local._packages._errors import PackageError
from ledgence.local._packages._files import discard, sweep, write_whole
from ledgence.local._packages._limits import DESCRIPTOR_BYTES
from ledgence.local._packages._reader import read_package
from ledgence.local._packages._unpack import is_whole, unpack
from ledgence.worker.workflow._fields import is_slug

__all__ = ["ProgramStore", "Publication"]


@dataclass(frozen=True, slots=True)
class Publication:
    """What a publication came to.

    Attributes:
        already_published: The same bytes stood there before.
    """

    descriptor: Descriptor
    already_published: bool


class ProgramStore:
    """Published programs; the engine's ``Programs`` port.

    Any number of threads and processes may use one directory. It is made when
    something is published; until then it is empty.

    Args:
        directory: Where the programs are.
    """

    def __init__(self, directory: str | Path) -> None:
        # Runners are given absolute paths.
        self.directory = Path(directory).absolute()
        self._programs = self.directory / "programs"
        self._blobs = self.directory / "blobs"
        self._unpacked = self.directory / "unpacked"
        self._ready: dict[str, Manifest] = {}

    def resolve(self, program: Program) -> Descriptor | None:
        """Return the descriptor of a version, or None when there is none.

        Raises:
            Unavailable: What is there cannot be read.
        """
        if not (is_slug(program.id) and is_slug(program.version)):
            return None
        path = self._descriptor_path(program)
        try:
            with path.open("rb") as file:
                data = file.read(DESCRIPTOR_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Unavailable(
                f"the program store cannot be read: {error.strerror}",
                details={"path": str(path)},
            ) from error
        return load_descriptor(data, program, path)

    def programs(self) -> Iterator[Program]:
        """Return the published versions in the order of their names."""
        for name in _names(self._programs):
            for version in _names(self._programs / name):
                if (self._programs / name / version / "descriptor.json").is_file():
                    yield Program(name, version)

    def publish(self, package: Package) -> Descriptor:
        """Publish a package; ``put`` also tells whether it was there before.

        Raises:
            PackageError: As ``put``.
        """
        return self.put(package).descriptor

    def put(self, package: Package) -> Publication:
        """Publish a package, once and for good; it is on the disk when this returns.

        Raises:
            PackageError: ``program_conflict``: other bytes have this id and version.
                ``program_store``: the directory cannot be written.
        """
        program = Program(package.manifest.program_id, package.manifest.version)
        descriptor = Descriptor(program, package.digest, len(package.data))
        with self.writing():
            known = self.resolve(program)
            if known is not None and known != descriptor:
                raise _conflict(known, descriptor)
            # Also when it is known: a blob that was damaged is mended.
            if self._blob(descriptor) != package.data:
                write_whole(self._blob_path(descriptor), package.data)
            if known is None:
                path = self._descriptor_path(program)
                write_whole(path, dump_descriptor(descriptor))
        return Publication(descriptor, known is not None)

    def archive_of(self, descriptor: Descriptor) -> bytes:
        """Return the bytes of a published package, verified.

        Raises:
            PackageError: ``program_damaged``: they are not what was published.
        """
        data = self._blob(descriptor)
        if data is None or f"sha256:{sha256(data).hexdigest()}" != descriptor.digest:
            raise _damaged(
                "the archive of a published program is missing or changed",
                descriptor,
                self._blob_path(descriptor),
            )
        return data

    def root_of(self, descriptor: Descriptor) -> tuple[Path, Manifest]:
        """Return the directory with the files of a version, and its manifest.

        The archive is verified and unpacked when that has not been done before; what
        stands there is the whole program or nothing.

        Raises:
            PackageError: ``program_damaged``: the archive is not what was published.
                ``program_store``: the directory cannot be written.
        """
        root = self._unpacked / _hash(descriptor)
        manifest = self._ready.get(descriptor.digest)
        if manifest is None or not root.is_dir():
            manifest = self._prepare(descriptor, root)
            self._ready[descriptor.digest] = manifest
        return root, manifest

    def _prepare(self, descriptor: Descriptor, root: Path) -> Manifest:
        package = read_package(self.archive_of(descriptor))
        manifest = package.manifest
        if Program(manifest.program_id, manifest.version) != descriptor.program:
            raise _damaged(
                "the archive of a published program is that of another program",
                descriptor,
                self._blob_path(descriptor),
            )
        if not is_whole(root, package):
            with self.writing():
                # Somebody else may have done it meanwhile.
                if not is_whole(root, package):
                    discard(root)
                    unpack(package, root)
        return manifest

    def _blob(self, descriptor: Descriptor) -> bytes | None:
        path = self._blob_path(descriptor)
        try:
            with path.open("rb") as file:
                data = file.read(descriptor.size + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unusable(path, error) from error
        return data if len(data) == descriptor.size else None

    def _descriptor_path(self, program: Program) -> Path:
        return self._programs / program.id / program.version / "descriptor.json"

    def _blob_path(self, descriptor: Descriptor) -> Path:
        return self._blobs / f"{_hash(descriptor)}.zip"

    @contextmanager
    def writing(self) -> Generator[None]:
        """Take the turn to write; leftovers of writers that were killed are removed.

        Raises:
            PackageError: ``program_store``: the directory cannot be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                sweep(self.directory)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise _unusable(self.directory, error) from error


def _hash(descriptor: Descriptor) -> str:
    return descriptor.digest.removeprefix("sha256:")


def _names(directory: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if is_slug(name))  # noqa: PTH208 - names alone
    except OSError:
        return []


def _conflict(known: Descriptor, given: Descriptor) -> PackageError:
    program = given.program
    return PackageError(
        f"{program.id}/{program.version} is published with other bytes",
        code="program_conflict",
        kind="conflict",
        details={"published": known.digest, "given": given.digest},
        hint="a version never changes: publish under a new one",
    )


def _damaged(text: str, descriptor: Descriptor, path: Path) -> PackageError:
    program = descriptor.program
    return PackageError(
        text,
        code="program_damaged",
        kind="integrity",
        details={
            "program": f"{program.id}/{program.version}",
            "digest": descriptor.digest,
            "path": str(path),
        },
        hint="publish the same package again",
    )


def _unusable(path: Path, error: OSError) -> PackageError:
    return PackageError(
        f"the program store cannot be used: {error.strerror}",
        code="program_store",
        kind="io",
        details={"path": str(error.filename or path)},
    )
