"""Which program a person means, and what the engine may bind to it."""

from __future__ import annotations

from pathlib import Path

from ledgence.local._engine import Descriptor, InvalidInput, NotFound, Program
from ledgence.local._host._catalogue import Catalogue
from ledgence.local._operate._find import near
from ledgence.local._operate._links import Link, Links, parse_link
from ledgence.local._packages import ProgramStore
from ledgence.worker.workflow._fields import is_slug

__all__ = ["Bindable", "choose", "link_all", "missing"]

_DEFAULT_VERSION = "dev"
_SHOWN = 10


class Bindable:
    """The engine's programs: linked ones, then published ones.

    Links are looked at only when their program is asked for: most commands need none.
    """

    def __init__(self, programs: ProgramStore, links: Links) -> None:
        self._programs = programs
        self._links = links

    def resolve(self, program: Program) -> Descriptor | None:
        """Return the descriptor of a version, None when there is none.

        Raises:
            TargetError: It is linked to something that cannot be run.
            Unavailable: The program store cannot be read.
        """
        catalogue = Catalogue()
        catalogue.packages = self._programs
        for link in self._links.all():
            if link.name == program.id:
                catalogue.link(link.name, link.target, link.version)
        return catalogue.resolve(program)


def choose(programs: ProgramStore, links: Links, text: str) -> Program:
    """Return the program that ``text`` means; a target on disk is linked.

    Raises:
        TargetError: It is a target, and nothing there can be run.
        InvalidInput: There are several versions.
        NotFound: There is none; the error names what is near.
    """
    if "/" in text or ":" in text or text.endswith(".py"):
        return _link(links, text)
    name, at, version = text.partition("@")
    if not is_slug(name) or (at and not is_slug(version)):
        raise missing(programs, links, text)
    known = _versions(programs, links, name)
    if not known and Path(text).is_dir():
        return _link(links, text)
    if at or version:
        return Program(name, version)
    if not known:
        raise missing(programs, links, name)
    if len(known) > 1:
        raise InvalidInput(
            f"there are {len(known)} versions of {name}",
            details={"versions": ", ".join(known)},
            hint=f"give one: {name}@{known[-1]}",
        )
    return Program(name, known[0])


def _link(links: Links, text: str) -> Program:
    link = parse_link(text)
    links.add(link)
    return Program(link.name, link.version or _DEFAULT_VERSION)


def _versions(programs: ProgramStore, links: Links, name: str) -> list[str]:
    """Return the versions of a program; a linked one is what its author works on."""
    linked = [link for link in links.all() if link.name == name]
    if linked:
        return [linked[-1].version or _DEFAULT_VERSION]
    return [one.version for one in programs.programs() if one.id == name]


def missing(programs: ProgramStore, links: Links, text: str) -> NotFound:
    """Return the error for ``NAME`` or ``NAME@VERSION`` that nobody knows."""
    known = [str(link) for link in links.all()]
    known += [f"{one.id}@{one.version}" for one in programs.programs()]
    name = text.partition("@")[0]
    same = [one for one in known if one.partition("@")[0] == name]
    options = same[:_SHOWN] or near(name, sorted({k.partition("@")[0] for k in known}))
    if options:
        hint = f"did you mean {' or '.join(options)}?"
    elif is_slug(name):
        hint = f"link it: --program {name}=path/to/program.py:function"
    else:
        hint = "the name of a program has 1 to 128 of a-z 0-9 . _ -"
    return NotFound(
        f"program {text[:256]} does not exist",
        details={"known": ", ".join(known[:_SHOWN]) or "none"},
        hint=hint,
    )


def link_all(links: Links, given: tuple[str, ...]) -> list[Link]:
    """Link what the options name."""
    found = [parse_link(text) for text in given]
    links.add(*found)
    return found
