"""Programs that are linked: they run from where their author edits them.

``linked.json`` beside the published programs remembers them, so that a command of
another day, such as ``approval approve``, can run the workflow on.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from ledgence.local._errors import TargetError
from ledgence.local._manifest import MANIFEST_NAME, Manifest, parse_manifest
from ledgence.local._packages import PackageError, ProgramStore
from ledgence.local._shapes import as_list, as_object
from ledgence.local._target import Target, find_target
from ledgence.worker._profile import ProfileError, loads

__all__ = ["Link", "Links", "parse_link"]

_NAMED = re.compile(r"([a-z0-9._-]{1,128})(?:@([a-z0-9._-]{1,128}))?=(.+)", re.DOTALL)
_SLUG = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Link:
    """A linked program.

    Attributes:
        version: The only version it stands for; None stands for every version.
        target: ``/path/to/program.py:function`` or a program directory, absolute.
    """

    name: str
    version: str | None
    target: str

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}@{self.version}"


class Links:
    """The linked programs of a store."""

    def __init__(self, programs: ProgramStore) -> None:
        self._programs = programs
        self._path = programs.directory / "linked.json"

    def all(self) -> list[Link]:
        """Return them, the newest last.

        Raises:
            PackageError: ``program_store``: the file is damaged.
        """
        try:
            found = as_object(loads(self._path.read_bytes()))
        except FileNotFoundError:
            return []
        except (OSError, ProfileError) as error:
            raise _damaged(self._path) from error
        if found is None:
            raise _damaged(self._path)
        try:
            return [
                Link(one["name"], one["version"], one["target"])
                for one in as_list(found["programs"]) or []
            ]
        except (KeyError, TypeError) as error:
            raise _damaged(self._path) from error

    def add(self, *links: Link) -> None:
        """Remember programs; one of the same name and version is replaced."""
        if all(link in self.all() for link in links):
            return
        with self._programs.writing():
            given = {(link.name, link.version) for link in links}
            kept = [one for one in self.all() if (one.name, one.version) not in given]
            self._write([*kept, *links])

    def remove(self, text: str) -> list[Link]:
        """Forget the links of ``NAME`` or ``NAME@VERSION``; return them."""
        name, _, version = text.partition("@")
        gone = [
            one
            for one in self.all()
            if one.name == name and version in ("", one.version or "")
        ]
        if gone:
            with self._programs.writing():
                self._write([one for one in self.all() if one not in gone])
        return gone

    def _write(self, links: list[Link]) -> None:
        rows = [
            {"name": one.name, "version": one.version, "target": one.target}
            for one in links
        ]
        text = json.dumps({"schema_version": 1, "programs": rows}, indent=1)
        draft = self._path.with_suffix(".new")
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(self._path)


def _damaged(path: Path) -> PackageError:
    return PackageError(
        "the list of linked programs cannot be read",
        code="program_store",
        kind="io",
        details={"path": str(path)},
        hint="remove it, and name the programs again with --program",
    )


def parse_link(text: str) -> Link:
    """Read ``[NAME[@VERSION]=]TARGET``.

    Without a name it is that of the manifest, or made of the file's name.

    Raises:
        TargetError: There is nothing that can be run.
    """
    match = _NAMED.fullmatch(text)
    name, version, where = match.groups() if match else (None, None, text)
    target = find_target(where)
    manifest = target.manifest or _manifest_beside(target)
    if name is None and manifest is not None:
        name, version = manifest.program_id, manifest.version
    elif name is None:
        name = _name_of(target)
    elif version is None and target.manifest is not None:
        version = target.manifest.version
    return Link(name, version, _absolute(where))


def _absolute(where: str) -> str:
    path, colon, function = where.rpartition(":")
    if not colon:
        path, function = where, ""
    return os.path.abspath(path) + colon + function  # noqa: PTH100 - links stay as they are


def _manifest_beside(target: Target) -> Manifest | None:
    """Return the manifest of a directory whose handler was named by its file."""
    try:
        found = parse_manifest((target.root / MANIFEST_NAME).read_bytes())
    except (OSError, TargetError):
        return None
    return found if found.handler == target.handler else None


def _name_of(target: Target) -> str:
    module, _, function = target.handler.partition(":")
    words = [module.rpartition(".")[2]]
    if function != "handle":
        words.append(function)
    name = _SLUG.sub("-", "-".join(words).lower()).strip("-.")
    return name or "program"
