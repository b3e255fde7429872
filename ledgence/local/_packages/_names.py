"""Which paths a package may hold: those that mean the same on every system."""

from __future__ import annotations

from ledgence.local._packages._errors import PackageError
from ledgence.local._packages._limits import COMPONENT_BYTES, NAME_BYTES
from ledgence.local._text import shorten

__all__ = ["Names", "parts_of"]

_DEVICES = frozenset(
    (
        *("con", "prn", "aux", "nul"),
        *(f"{name}{digit}" for name in ("com", "lpt") for digit in "123456789"),
    )
)


def parts_of(path: str) -> tuple[str, ...]:
    """Return the components of a path of a package.

    Args:
        path: With ``/`` between components and none at the ends.

    Raises:
        PackageError: ``package_path``: it is not portable.
    """
    if not path.isascii():
        raise _refuse(path, "ASCII characters")
    if not 0 < len(path) <= NAME_BYTES:
        raise _refuse(path, f"1 to {NAME_BYTES} bytes", f"{len(path)} bytes")
    parts = tuple(path.split("/"))
    for part in parts:
        _check(path, part)
    return parts


def _check(path: str, part: str) -> None:
    if not 0 < len(part) <= COMPONENT_BYTES:
        expected = f"components of 1 to {COMPONENT_BYTES} bytes"
        raise _refuse(path, expected, f"one of {len(part)}")
    if part in (".", ".."):
        raise _refuse(path, "no component . or ..")
    for char in part:
        if char in "\\:" or char < " " or char == "\x7f":
            raise _refuse(path, "no backslash, colon or control character")
    if part[-1] in ". ":
        raise _refuse(path, "no component with a dot or a space at its end")
    if part.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        raise _refuse(path, "no name of a device, such as con or lpt1")


class Names:
    """The paths of one package, which must not collide on any system."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, bool]] = {}
        self._entries: set[str] = set()

    def add(self, path: str, parts: tuple[str, ...], *, directory: bool) -> None:
        """Take a path in.

        Raises:
            PackageError: ``package_path``: it occurs twice, differs from another by
                case alone, or is a file here and a directory there.
        """
        if path in self._entries:
            raise _refuse(path, "each path once", "it occurs twice")
        self._entries.add(path)
        for depth in range(1, len(parts)):
            self._note("/".join(parts[:depth]), directory=True)
        self._note(path, directory=directory)

    def _note(self, path: str, *, directory: bool) -> None:
        known = self._seen.setdefault(path.lower(), (path, directory))
        if known[0] != path:
            raise _refuse(path, "paths that differ by more than case", known[0])
        if known[1] != directory:
            raise _refuse(path, "a file or a directory", "both")


def _refuse(path: str, expected: str, got: str | None = None) -> PackageError:
    details: dict[str, object] = {
        "path": shorten(ascii(path), 200),
        "expected": expected,
    }
    if got is not None:
        details["got"] = shorten(got, 200)
    return PackageError(
        "a package may not hold this path",
        code="package_path",
        details=details,
        hint="rename it",
    )
