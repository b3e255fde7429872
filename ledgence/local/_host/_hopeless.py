"""Errors that no retry can cure, and what the local host says about them."""

from __future__ import annotations

import re

__all__ = ["advice"]

# Texts of the workflow API begin with their code; a reason may stand before.
_CODE = re.compile(r"(?:^|: )(binding_changed|key_taken|unknown_entrypoint|too_large):")

_ADVICE = {
    "binding_changed": "the code differs from what this run has recorded: give a new"
    " call a new key, or run the code that began it",
    "key_taken": "the run has another child of this key: give the call another key",
    "unknown_entrypoint": "the code has no entrypoint that this run waits with: keep"
    " one for every continuation of running workflows",
    "too_large": "the value is larger than the limit: store it elsewhere and pass a"
    " reference",
}


def advice(message: str) -> str | None:
    """Return what to do about an error that a retry does not help, None for others."""
    found = _CODE.search(message)
    return None if found is None else f"a retry does not help; {_ADVICE[found[1]]}"
