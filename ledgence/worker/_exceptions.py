"""The error tree of ``ledgence.worker``; imports nothing of the package.

```text
ValueError
└── ProfileError        a value is outside the JSON profile, or bytes are not JSON
Exception
└── WorkflowError       the workflow API refused something (the root for authors)
```
"""

from __future__ import annotations

__all__ = ["ProfileError", "WorkflowError"]

_MEANING = {
    "bytes": "too large",
    "depth": "nested too deeply",
    "cycle": "a container inside itself",
    "type": "not a JSON value",
    "key_type": "an object member name that is not a str",
    "surrogate": "a lone surrogate in a text",
    "int_range": "an integer outside -2**63 to 2**64-1",
    "non_finite": "NaN or an infinity",
    "utf8": "not UTF-8",
    "syntax": "not JSON",
    "constant": "NaN or Infinity in JSON",
    "duplicate": "a repeated member name",
}


class ProfileError(ValueError):
    """A value outside the JSON profile (json-profile.md, section 1).

    Attributes:
        reason: One of the stable reasons of the profile, such as ``bytes``.
        path: Where, for example ``$.orders[3].total``; None for decoding.
        limit: For ``bytes`` the limit in bytes, for ``depth`` the depth; else None.
        size: The exact size in bytes where it was found out; else None.
    """

    def __init__(
        self,
        reason: str,
        path: str | None = None,
        limit: int | None = None,
        size: int | None = None,
    ) -> None:
        super().__init__(reason, path, limit, size)
        self.reason = reason
        self.path = path
        self.limit = limit
        self.size = size

    def __str__(self) -> str:
        text = _MEANING.get(self.reason, self.reason)
        if self.path is not None:
            text = f"{self.path}: {text}"
        if self.size is not None and self.limit is not None:
            return f"{text} ({self.size} bytes, limit {self.limit})"
        if self.limit is not None:
            return f"{text} (limit {self.limit})"
        return text


class WorkflowError(Exception):
    """The root of everything the workflow API refuses."""
