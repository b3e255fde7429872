"""What a difference usually comes from."""

from __future__ import annotations

__all__ = ["causes_of"]

_VARIES = "a value that is another in every run: a time, a random number, an id, a set"
_ORDER = "an order that is another in every run: of a set, or of what ends first"
_MOVED = "a function that was renamed or moved"

_BY_CODE = {
    "binding_changed": (
        _VARIES,
        "a changed argument or a changed version of an operation",
    ),
    "unknown_entrypoint": ("an entrypoint that was renamed or removed",),
    "key_taken": ("a key that is now used for something else",),
}
_BY_WHAT = {
    "step": (
        "a step that was added, removed or given another key",
        "a branch of the code that depends on something outside the activation",
    ),
    "fork": ("branches that were added, removed or given other data", _VARIES),
    "command": ("a child that was added, removed or given another key", _VARIES),
}
_RESULT = (
    "an error in the new code; its output says more",
    "state or inputs of an older shape that the new code does not read",
)
_BY_PATH = {
    "$.continuation": ("a continuation that was renamed",),
    "$.commands": (_ORDER,),
    "$.kind": ("a branch of the code that now decides in another way",),
    "$.until": (_ORDER, "a child that is no longer waited for"),
}


def causes_of(
    what: str, path: str, expected: str, got: str, code: str | None
) -> tuple[str, ...]:
    """Return what such a difference usually comes from, the likeliest first."""
    if code == "binding_changed" and path.startswith("$.callable"):
        return (_MOVED,)
    if code in _BY_CODE:
        return _BY_CODE[code]
    if what == "result":
        return _RESULT
    if what in _BY_WHAT and "(absent)" in (expected, got):
        return _BY_WHAT[what]
    if what == "decision":
        for begin, causes in _BY_PATH.items():
            if path == begin or path.startswith((begin + ".", begin + "[")):
                return causes
    return (_VARIES, "a changed computation")
