"""Narrowing of decoded JSON, so that checkers know what the checks have shown."""

from __future__ import annotations

from typing import Any, TypeGuard

__all__ = ["as_list", "as_object"]


def as_object(value: object) -> dict[str, Any] | None:
    """Return a decoded JSON object, None for anything else."""
    return value if _is_object(value) else None


def as_list(value: object) -> list[Any] | None:
    """Return a decoded JSON array, None for anything else."""
    return value if _is_list(value) else None


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
