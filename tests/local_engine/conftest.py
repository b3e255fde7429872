"""Stores that a test has opened are closed when it ends."""

from tests.support.closed_stores import closed_stores

__all__ = ["closed_stores"]
