"""Narrowing of decoded JSON, so that checkers know what the checks have shown."""

from __future__ import annotations

from typing import Any, cast

__all__ = ["as_list", "as_object"]


def as_object(value: object) -> dict[str, Any] | None:
    """Return a decoded JSON object, None for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any] | None:
    """Return a decoded JSON array, None for anything else."""
    if not isinstance(value, list):
        return None
    items: list[Any] = value
    return items
