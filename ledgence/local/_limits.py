"""Every number of the parent's side of the contract, once.

Sizes are bytes, times are seconds unless the name says otherwise.
"""

from __future__ import annotations

from typing import Final

PROTOCOLS: Final = (1, 2, 3)
WORKFLOW_PROTOCOL: Final = 3

# runner-protocol.md, sections 1 and 16: one number for both runner limits.
FRAME_BYTES: Final = 2_097_152
MIN_FRAME_BYTES: Final = 256
LINE_DEPTH: Final = 127
OUTPUT_DEPTH: Final = 64
DECISION_DEPTH: Final = 96

READY_SECONDS: Final = 10.0
CLOSING_SECONDS: Final = 2.0
# orchestrator.md, section 3: the service's default attempt time-out.
ATTEMPT_SECONDS: Final = 300.0

REQUEST_BYTES: Final = 147_456
REQUEST_DEPTH: Final = 96
EXTENSION_BYTES: Final = 655_360
RECORD_BYTES: Final = 131_072
JOURNAL_BYTES: Final = 262_144
JOURNAL_RECORDS: Final = 128
FORK_BYTES: Final = 131_072
FORK_REQUEST_BYTES: Final = 262_144
BRANCHES: Final = 64

OBSERVATION_BYTES: Final = 131_072
OBSERVED_STEPS: Final = 128
TIMESTAMP_MS: Final = 253_402_300_799_999

LOG_LINE_BYTES: Final = 16_384
LOG_DEPTH: Final = 64
# Raw stderr and structured logs share this much per invocation.
CAPTURE_BYTES: Final = 65_536

KEY_BYTES: Final = 128
CALLABLE_BYTES: Final = 512

# orchestrator.md, sections 2 and 3.
DATA_BYTES: Final = 1_048_576
DATA_DEPTH: Final = 64
MANIFEST_BYTES: Final = 65_536
