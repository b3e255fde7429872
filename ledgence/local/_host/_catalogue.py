"""All programs that a host can run: linked, stubs, and published packages."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ledgence.local._engine import (
    Descriptor,
    InvalidInput,
    NotFound,
    Program,
    Unavailable,
)
from ledgence.local._errors import LocalError, TargetError
from ledgence.local._host._linked import Fingerprint, fingerprint
from ledgence.local._host._stubs import Stub
from ledgence.local._launch import Launch
from ledgence.local._target import Interpreter, Target, find_interpreter, find_target
from ledgence.worker.workflow._fields import describe, is_slug

if TYPE_CHECKING:
    from ledgence.local._packages import ProgramStore

__all__ = ["Catalogue", "Source"]

Source = str | Path
"""A target: ``path/to/program.py:function`` or a directory with a manifest."""

_DEFAULT_VERSION = "dev"
_NEAR = 0.6
_SHOWN = 10
_NAME_BYTES = 128


@dataclass(slots=True)
class Linked:
    """A linked program.

    Attributes:
        version: The only version that it stands for; None stands for every version.
    """

    name: str
    version: str | None
    target: Target
    interpreter: Interpreter
    _print: Fingerprint | None = field(default=None, repr=False)

    def fingerprint(self) -> Fingerprint:
        """Return what it is made of now."""
        self._print = fingerprint(self.target, self._print)
        return self._print


class Catalogue:
    """The programs of one host; may be used from any thread.

    Attributes:
        directory: Where published packages are; None when there are none.
        missing: For each name that was asked for in vain, what to say about it.
        seek: Told a name that is not known, before it is refused; it may link it.

    Args:
        python: The interpreter for all programs; None chooses one for each.
    """

    def __init__(self, python: str | None = None) -> None:
        self.directory: Path | None = None
        self._packages: ProgramStore | None = None
        self._python = python
        self._lock = threading.RLock()
        self._linked: dict[tuple[str, str | None], Linked] = {}
        self._stubs: dict[str, Stub] = {}
        self._targets: dict[str, str] = {}
        self.missing: dict[str, NotFound] = {}
        self.seek: Callable[[str], None] | None = None

    @property
    def packages(self) -> ProgramStore | None:
        """Published packages."""
        if self._packages is None and self.directory is not None:
            from ledgence.local._packages import (  # noqa: PLC0415 - not to start with
                ProgramStore,
            )

            self._packages = ProgramStore(self.directory)
        return self._packages

    @packages.setter
    def packages(self, programs: ProgramStore) -> None:
        self._packages = programs

    # What authors register.

    def link(self, name: str, source: Source, version: str | None = None) -> Program:
        """Register a program on disk; one of the same name and version is replaced.

        Raises:
            TargetError: Nothing there can be run, or the name is no program id.
            PackageError: The directory holds what no package can hold.
            OSError: A file cannot be read.
        """
        _check_slug("name", name)
        target = find_target(str(source))
        if version is None and target.manifest is not None:
            version = target.manifest.version
        if version is not None:
            _check_slug("version", version)
        interpreter = find_interpreter(self._python, target)
        with self._lock:
            package = Linked(name, version, target, interpreter)
            package.fingerprint()
            self._linked[name, version] = package
            self.missing.pop(name, None)
        return Program(name, version or _DEFAULT_VERSION)

    def stub(self, name: str, outcome: object) -> None:
        """Let a callable, a value or an exception stand for a program."""
        _check_slug("name", name)
        with self._lock:
            self._stubs[name] = Stub(name, outcome)
            self.missing.pop(name, None)

    def name_of(self, text: str) -> str:
        """Return the name of a program that is given by its name or as a target.

        A target is registered when it is first seen, by the id of its manifest, or by
        the name of its directory and file.

        Raises:
            TargetError: It is a target, and nothing there can be run.
        """
        if ":" not in text and "/" not in text:
            return text
        with self._lock:
            if text not in self._targets:
                target = find_target(text)
                name = _name_for(target)
                self.link(name, text)
                self._targets[text] = name
            return self._targets[text]

    def version_of(self, name: str) -> str:
        """Return the version that a name stands for when none is given."""
        with self._lock:
            if name in self._stubs:
                return _DEFAULT_VERSION
            versions = [v for n, v in self._linked if n == name]
        if not versions and self.packages is not None:
            published = [p.version for p in self.packages.programs() if p.id == name]
            if len(published) > 1:
                raise InvalidInput(
                    f"program {name} is published in several versions",
                    details={"versions": ", ".join(published[:_SHOWN])},
                    hint="name one of them",
                )
            versions += published
        return (versions[-1] if versions else None) or _DEFAULT_VERSION

    # What the engine asks for.

    def resolve(self, program: Program) -> Descriptor | None:
        """Return the descriptor of a program; stubs come first, then linked ones."""
        with self._lock:
            if program.id in self._stubs:
                digest = hashlib.sha256(f"stub\0{program.id}".encode()).hexdigest()
                return Descriptor(program, f"sha256:{digest}", 1)
            package = self._find(program)
            if package is not None:
                return _describe(program, package)
        found = None if self.packages is None else self.packages.resolve(program)
        if found is None:
            self.missing[program.id] = self.not_found(program)
        return found

    def _find(self, program: Program) -> Linked | None:
        found = self._linked_as(program)
        if found is None and self.seek is not None:
            # What cannot be registered stays unknown, and is refused as that.
            with contextlib.suppress(LocalError, OSError):
                self.seek(program.id)
            found = self._linked_as(program)
        return found

    def _linked_as(self, program: Program) -> Linked | None:
        exact = self._linked.get((program.id, program.version))
        return exact or self._linked.get((program.id, None))

    def not_found(self, program: Program) -> NotFound:
        """Return the error for a program that nobody has registered."""
        with self._lock:
            known = {(name, version or "") for name, version in self._linked}
            known |= {(name, "") for name in self._stubs}
        if self.packages is not None:
            known |= {(one.id, one.version) for one in self.packages.programs()}
        names = sorted({name for name, _ in known})
        versions = sorted(v for name, v in known if name == program.id and v)
        shown = ", ".join(names[:_SHOWN]) or "nothing"
        near = difflib.get_close_matches(program.id, names, n=3, cutoff=_NEAR)
        if versions:
            hint = f"there is {program.id} in version {', '.join(versions)}"
        elif near:
            hint = f"did you mean {' or '.join(near)}?"
        else:
            name = program.id
            hint = (
                f'register it with add_program("{name}", "path/to/program.py:handle"),'
                f' or let stub("{name}", ...) stand for it'
            )
        return NotFound(
            f"program {program.id}/{program.version} does not exist",
            details={"registered": shown},
            hint=hint,
        )

    # What the slots ask for.

    def stub_of(self, descriptor: Descriptor) -> Stub | None:
        """Return the stub that stands for a program, None without one."""
        return self._stubs.get(descriptor.program.id)

    def launch(self, descriptor: Descriptor) -> tuple[str, Launch]:
        """Return what to start for a pinned program, and the digest of what that is.

        A linked program runs as it is now, whatever it was when it was pinned.

        Raises:
            LocalError: It cannot be run here, or is gone.
            OSError: A file of it cannot be read.
        """
        with self._lock:
            package = self._find(descriptor.program)
            if package is not None:
                digest = package.fingerprint().digest
                return digest, Launch.of(package.target, package.interpreter)
        if self.packages is None or self.packages.resolve(descriptor.program) is None:
            raise self.not_found(descriptor.program)
        root, manifest = self.packages.root_of(descriptor)
        target = Target(root, manifest.handler, manifest.protocol, manifest)
        interpreter = find_interpreter(self._python, target)
        return descriptor.digest, Launch.of(target, interpreter)


def _describe(program: Program, package: Linked) -> Descriptor:
    try:
        found = package.fingerprint()
    except (OSError, LocalError) as error:
        raise Unavailable(
            f"program {program.id} cannot be read: {error}",
            details={"directory": str(package.target.root)},
        ) from error
    return Descriptor(program, found.digest, found.size)


def _name_for(target: Target) -> str:
    if target.manifest is not None:
        return target.manifest.program_id
    module, _, function = target.handler.partition(":")
    return _slug(f"{target.root.name}-{module}-{function}") or "program"


def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.")
    return slug[-_NAME_BYTES:]


def _check_slug(what: str, text: object) -> None:
    if not is_slug(text):
        better = _slug(text) if isinstance(text, str) else None
        raise TargetError(
            f"{describe(text)} is no {what} of a program: 1 to 128 of a-z 0-9 . _ -",
            code="program_name",
            hint=f"for example {better!r}" if better else None,
        )
