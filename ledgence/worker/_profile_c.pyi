# The compiled twin: the signatures of _profile_py, which a test compares.
from typing import Any

from ledgence.worker._exceptions import ProfileError as ProfileError

BUILD: int

def encode(
    value: Any, limit: int, *, max_depth: int = 64, received: bool = False
) -> bytes: ...
def check(
    value: Any, limit: int, *, max_depth: int = 64, received: bool = False
) -> int: ...
def freeze(
    value: Any, limit: int, *, max_depth: int = 64, received: bool = False
) -> Any: ...
def thaw(data: bytes) -> Any: ...
def fingerprint(
    value: Any, limit: int, *, max_depth: int = 96, received: bool = False
) -> str: ...
def check_wire(value: Any, *, max_depth: int = 64) -> None: ...
def encode_frame(
    value: dict[str, Any], limit: int, *, max_depth: int = 65
) -> bytes: ...
def fit_error(
    envelope: dict[str, Any],
    kind: str,
    message: str,
    limit: int,
    *,
    status: str = "error",
) -> dict[str, Any]: ...
def loads(line: bytes, *, unique: bool = False) -> Any: ...
