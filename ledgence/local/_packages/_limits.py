"""The numbers of packages (orchestrator.md, section 2), once; sizes are bytes."""

from __future__ import annotations

from typing import Final

ARCHIVE_BYTES: Final = 67_108_864
UNPACKED_BYTES: Final = 268_435_456
FILE_BYTES: Final = 67_108_864
ENTRIES: Final = 4_096
NAME_BYTES: Final = 1_024
COMPONENT_BYTES: Final = 255
DESCRIPTOR_BYTES: Final = 16_384

CHUNK: Final = 262_144
