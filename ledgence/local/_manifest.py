"""``ledgence-program.json``: the whole check (orchestrator.md, section 2).

A ``TargetError`` has the service's kind: ``invalid_input`` for what is malformed,
``incompatible`` for what is well formed but cannot be run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ledgence.local._errors import Kind, TargetError
from ledgence.local._limits import MANIFEST_BYTES, PROTOCOLS
from ledgence.local._shapes import as_object
from ledgence.local._text import shorten
from ledgence.worker._profile import ProfileError, loads

__all__ = ["MANIFEST_NAME", "Manifest", "parse_manifest"]

MANIFEST_NAME = "ledgence-program.json"

_NAME = re.compile(r"[a-z0-9._-]{1,128}")
_PYTHON = re.compile(r"3\.([0-9]+)")
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_HANDLER = re.compile(rf"{_IDENTIFIER}(\.{_IDENTIFIER})*:{_IDENTIFIER}")
_MEMBERS = {"schema_version", "program", "runtime", "handler", "platform"}
_OLDEST_MINOR = 11


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid manifest.

    Attributes:
        python: ``MAJOR.MINOR`` of the interpreter the package needs.
        os: ``linux`` or ``macos``.
        arch: ``x86_64`` or ``aarch64``.
    """

    program_id: str
    version: str
    python: str
    protocol: int
    handler: str
    os: str
    arch: str


def parse_manifest(data: bytes) -> Manifest:
    """Check the bytes of a manifest.

    Raises:
        TargetError: With ``kind`` ``invalid_input`` or ``incompatible`` and the
            path of the member in ``details``.
    """
    if len(data) > MANIFEST_BYTES:
        raise _refuse("$", f"at most {MANIFEST_BYTES} bytes", f"{len(data)} bytes")
    try:
        value = loads(data, unique=True)
    except ProfileError as error:
        raise _refuse("$", "one JSON object", str(error)) from error
    root = _object(value, _MEMBERS, "$")
    program = _object(root["program"], {"id", "version"}, "$.program")
    runtime = _object(root["runtime"], {"kind", "python", "protocol"}, "$.runtime")
    platform = _object(root["platform"], {"os", "arch"}, "$.platform")
    _supported(root["schema_version"], (1,), "$.schema_version")
    _supported(runtime["kind"], ("python",), "$.runtime.kind")
    _supported(runtime["protocol"], PROTOCOLS, "$.runtime.protocol")
    return Manifest(
        program_id=_name(program["id"], "$.program.id"),
        version=_name(program["version"], "$.program.version"),
        python=_python(runtime["python"]),
        protocol=runtime["protocol"],
        handler=_handler(root["handler"]),
        os=_choice(platform["os"], ("linux", "macos"), "$.platform.os"),
        arch=_choice(platform["arch"], ("x86_64", "aarch64"), "$.platform.arch"),
    )


def _object(value: object, members: set[str], path: str) -> dict[str, Any]:
    found = as_object(value)
    if found is None:
        raise _refuse(path, "an object", _show(value))
    if set(found) != members:
        missing = [f"without {name}" for name in sorted(members - set(found))]
        extra = [f"with {shorten(repr(n))}" for n in sorted(set(found) - members)]
        raise _refuse(
            path, f"exactly {', '.join(sorted(members))}", ", ".join(missing + extra)
        )
    return found


def _supported(value: object, known: tuple[object, ...], path: str) -> None:
    """Refuse another type as malformed and another value as incompatible."""
    if type(value) is not type(known[0]):
        raise _refuse(path, f"{type(known[0]).__name__}", _show(value))
    if value not in known:
        options = " or ".join(str(one) for one in known)
        raise _refuse(path, options, _show(value), kind="incompatible")


def _choice(value: object, options: tuple[str, ...], path: str) -> str:
    if not isinstance(value, str) or value not in options:
        raise _refuse(path, " or ".join(options), _show(value))
    return value


def _name(value: object, path: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value in (".", ".."):
        raise _refuse(path, "1 to 128 of a-z 0-9 . _ -", _show(value))
    return value


def _python(value: object) -> str:
    path = "$.runtime.python"
    match = _PYTHON.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise _refuse(path, "3. and a number, such as 3.12", _show(value))
    minor = match[1]
    if minor.startswith("0") or len(minor) > 3 or int(minor) < _OLDEST_MINOR:
        expected = f"3.{_OLDEST_MINOR} or newer, without leading zeros"
        raise _refuse(path, expected, _show(value), kind="incompatible")
    return match[0]


def _handler(value: object) -> str:
    if not isinstance(value, str) or _HANDLER.fullmatch(value) is None:
        raise _refuse("$.handler", "module:function in ASCII identifiers", _show(value))
    return value


def _show(value: object) -> str:
    return shorten(repr(value[:80] if isinstance(value, str) else value))


def _refuse(
    path: str, expected: str, got: str, *, kind: Kind = "invalid_input"
) -> TargetError:
    word = "cannot be run here" if kind == "incompatible" else "is not valid"
    return TargetError(
        f"{MANIFEST_NAME} {word} at {path}",
        code=f"manifest_{'incompatible' if kind == 'incompatible' else 'invalid'}",
        kind=kind,
        details={"path": path, "expected": expected, "got": got},
    )
