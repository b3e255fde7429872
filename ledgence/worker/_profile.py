"""The one JSON profile: the compiled twin where it fits, else the pure one.

Chosen once, when this module is first imported (json-profile.md, section 1):
``LEDGENCE_PURE_PYTHON`` set to anything but empty or ``0`` forces the pure twin;
a compiled twin that is missing, or whose ``BUILD`` is not this source tree's, is
passed over in silence. ``IMPLEMENTATION`` says which one runs.
"""

from __future__ import annotations

import os
import sys

from ledgence.worker._exceptions import ProfileError

__all__ = [
    "BUILD",
    "IMPLEMENTATION",
    "ProfileError",
    "check",
    "check_wire",
    "encode",
    "encode_frame",
    "fingerprint",
    "fit_error",
    "freeze",
    "loads",
    "thaw",
]

# Raised with every change of behaviour or signature of the twins: a binary of
# another number beside these sources is stale and must not be used.
BUILD = 1

TYPE_CHECKING = False  # type checkers read the pure twin; nothing is imported for them

if TYPE_CHECKING:
    from types import ModuleType

    from ledgence.worker import _profile_py as _twin
else:

    def _compiled() -> ModuleType | None:
        """The compiled twin if it may be used; nothing else is ever tried."""
        forced = os.environ.get("LEDGENCE_PURE_PYTHON", "") not in {"", "0"}
        if forced or sys.implementation.name != "cpython":
            return None
        try:
            from ledgence.worker import _profile_c  # noqa: PLC0415 - it may be missing
        except ImportError:
            return None
        return _profile_c if getattr(_profile_c, "BUILD", None) == BUILD else None

    _twin = _compiled()
    if _twin is None:
        from ledgence.worker import _profile_py as _twin

IMPLEMENTATION = "pure" if _twin.__name__.endswith("_py") else "native"

check = _twin.check
check_wire = _twin.check_wire
encode = _twin.encode
encode_frame = _twin.encode_frame
fingerprint = _twin.fingerprint
fit_error = _twin.fit_error
freeze = _twin.freeze
loads = _twin.loads
thaw = _twin.thaw
