"""``descriptor.json``: which bytes a program version stands for."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ledgence.local._engine._errors import Unavailable
from ledgence.local._engine._work import Descriptor, Program
from ledgence.local._packages._limits import DESCRIPTOR_BYTES
from ledgence.local._shapes import as_object
from ledgence.worker._profile import ProfileError, loads

__all__ = ["dump_descriptor", "load_descriptor"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def dump_descriptor(descriptor: Descriptor) -> bytes:
    """Return the file: compact JSON, members in the contract's order."""
    return json.dumps(descriptor.to_json(), separators=(",", ":")).encode()


def load_descriptor(data: bytes, program: Program, path: Path) -> Descriptor:
    """Read the file that stands at the place of ``program``.

    Raises:
        Unavailable: It is not a descriptor of that program.
    """
    try:
        found = as_object(loads(data, unique=True)) if _fits(data) else None
    except ProfileError:
        found = None
    if found is not None and set(found) == {"program", "digest", "size"}:
        digest, size = found["digest"], found["size"]
        if (
            found["program"] == program.to_json()
            and isinstance(digest, str)
            and _DIGEST.fullmatch(digest)
            and type(size) is int
            and size > 0
        ):
            return Descriptor(program, digest, size)
    raise Unavailable(
        f"the descriptor of {program.id}/{program.version} is damaged",
        details={"path": str(path)},
        hint="remove it and publish the program again",
    )


def _fits(data: bytes) -> bool:
    return len(data) <= DESCRIPTOR_BYTES
