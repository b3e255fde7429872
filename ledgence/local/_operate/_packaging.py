"""``program package``, ``publish`` and ``list``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import click

from ledgence.local._engine import Descriptor, Program
from ledgence.local._operate._call import call
from ledgence.local._operate._links import Links
from ledgence.local._operate._programs import missing
from ledgence.local._operate._session import Place, programs_beside
from ledgence.local._operate._show import facts, show_json, table
from ledgence.local._packages import (
    Package,
    PackageError,
    ProgramStore,
    Publication,
    build_package,
    read_package,
)

__all__ = ["list_programs", "package", "publish", "unlink"]

_MOST_BYTES = 67_108_864


def package(directory: str, given: dict[str, Any]) -> NoReturn:
    """Pack a program directory into a file."""

    def work() -> None:
        root = _directory(directory)
        built = build_package(root)
        manifest = built.manifest
        name = given["output"] or f"{manifest.program_id}-{manifest.version}.zip"
        _check_place(root, name)
        try:
            Path(name).write_bytes(built.data)
        except OSError as error:
            raise PackageError(
                f"the archive cannot be written: {error.strerror}",
                code="package_source",
                details={"path": name},
            ) from error
        _show(built, None, file=name, as_json=given["as_json"])

    call(work, as_json=given["as_json"])


def _check_place(root: Path, name: str) -> None:
    """Refuse an archive that would be a part of the program the next time."""
    try:
        inside = Path(name).resolve().relative_to(root.resolve())
    except ValueError:
        return
    if not any(part.startswith(".") for part in inside.parts):
        raise PackageError(
            "the archive would lie inside the program, and be packed with it later",
            code="package_source",
            details={"path": name},
            hint=f"give another place: -o ../{Path(name).name}",
        )


def publish(source: str, given: dict[str, Any]) -> NoReturn:
    """Publish a directory or an archive."""

    def work() -> None:
        built = _read(source)
        into = given["into"] or programs_beside(Path(given["store"]))
        publication = ProgramStore(into).put(built)
        _show(built, publication, file=None, as_json=given["as_json"])

    call(work, as_json=given["as_json"])


def _read(source: str) -> Package:
    path = Path(source)
    if path.is_file():
        with path.open("rb") as file:
            return read_package(file.read(_MOST_BYTES + 1))
    return build_package(_directory(source))


def _directory(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise PackageError(
            f"there is no program directory {text}",
            code="package_source",
            hint="give a directory with ledgence-program.json",
        )
    return path


def _show(
    built: Package, publication: Publication | None, *, file: str | None, as_json: bool
) -> None:
    program = Program(built.manifest.program_id, built.manifest.version)
    descriptor = Descriptor(program, built.digest, len(built.data))
    for name in built.skipped:
        click.echo(f"ledgence-local: left out: {name}", err=True)
    if as_json:
        show_json(descriptor.to_json())
        return
    known = publication is not None and publication.already_published
    facts(
        {
            "program": f"{program.id}@{program.version}",
            "digest": descriptor.digest,
            "bytes": descriptor.size,
            "entries": len(built.entries),
            "file": file,
            "published": None if publication is None else "before" if known else "now",
        }
    )


def unlink(text: str, given: dict[str, Any]) -> NoReturn:
    """Forget a linked program."""

    def work() -> None:
        programs = ProgramStore(programs_beside(Place.of(given).store))
        links = Links(programs)
        gone = links.remove(text)
        if not gone:
            raise missing(programs, links, text)
        if given["as_json"]:
            show_json([{"id": one.name, "version": one.version} for one in gone])
            return
        for one in gone:
            click.echo(f"{one} is no longer linked to {one.target}")

    call(work, as_json=given["as_json"])


def list_programs(given: dict[str, Any]) -> NoReturn:
    """Print published and linked programs."""

    def work() -> None:
        store = ProgramStore(programs_beside(Place.of(given).store))
        links = Links(store).all()
        published = [store.resolve(program) for program in store.programs()]
        found = [one for one in published if one is not None]
        if given["as_json"]:
            show_json(
                {
                    "published": [one.to_json() for one in found],
                    "linked": [
                        {"id": one.name, "version": one.version, "target": one.target}
                        for one in links
                    ],
                }
            )
            return
        rows: list[tuple[object, ...]] = [
            (one.program.id, one.program.version, f"{one.digest} {one.size} bytes")
            for one in found
        ]
        rows += [(one.name, one.version or "any", one.target) for one in links]
        if rows:
            table(("PROGRAM", "VERSION", "WHAT"), rows)
        else:
            click.echo("no programs", err=True)

    call(work, as_json=given["as_json"])
