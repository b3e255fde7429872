"""Where a store's file may be."""

from __future__ import annotations

from pathlib import Path

from ledgence.local._store._sqlite import StoreError

__all__ = ["locate"]


def locate(given: str | Path, *, create: bool) -> Path | None:
    """Return the path of a store's file; None when it is missing.

    Args:
        given: What the caller named.
        create: It may be missing; its directory is made.

    Raises:
        StoreError: ``store_unusable``: no file can be there.
    """
    path = Path(given)
    if not path.name or "\0" in str(path) or path.name == ":memory:":
        raise _unusable(path, "that is no name of a file")
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path
        return path if path.exists() else None
    except OSError as error:
        raise _unusable(path, error.strerror or type(error).__name__) from error


def _unusable(path: Path, reason: str) -> StoreError:
    shown = str(path)[:200]
    return StoreError(
        f"a store cannot be kept at {shown!r}: {reason}",
        code="store_unusable",
        details={"path": shown},
        hint="name a file in a directory that you can write to",
    )
