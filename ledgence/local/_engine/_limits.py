"""Every number that only the host enforces, once (orchestrator.md, section 15).

What programs must keep too stands in ``ledgence.worker.workflow._limits``. Sizes are
bytes of the service's compact JSON, times are milliseconds.
"""

from __future__ import annotations

from typing import Final

# Submission, section 3.
KEY_BYTES: Final = 255
CORRELATION_BYTES: Final = 512
DATA_BYTES: Final = 1_048_576
SUBMISSION_BYTES: Final = 2_097_152

# Attempts, section 4.
LEASE_MS: Final = 60_000
# After the deadline, or after a request to cancel, so much is left to report.
GRACE_MS: Final = 30_000
REPORT_BYTES: Final = 8_388_608

RETRYABLE: Final = frozenset(
    ("unavailable", "io", "capacity", "runtime", "timed_out", "cancelled")
)
TERMINAL_KINDS: Final = frozenset(
    ("invalid_input", "not_found", "integrity", "incompatible", "protocol")
)
PHASES: Final = frozenset(
    ("admission", "preparation", "startup", "execution", "cleanup")
)

# Forks and children, sections 10 and 13.
FORKS: Final = 64
FORKED_BYTES: Final = 262_144
LIVE_WORKFLOWS: Final = 64
DEPTH: Final = 16

# Events and approvals, sections 11 and 12.
EVENT_COMMAND_BYTES: Final = 71_680
PENDING_EVENTS: Final = 128
PENDING_BYTES: Final = 262_144
SNAPSHOT_BYTES: Final = 98_304

# Outages of the program store while a decision is applied, section 9.
APPLY_RETRY_MS: Final = 500
APPLY_RETRY_MOST_MS: Final = 30_000
APPLY_GIVE_UP_MS: Final = 86_400_000

# Background passes, section 14: work per transaction.
DRAIN_PASS: Final = 16
PASS: Final = 64

PAGE: Final = 50
PAGE_MOST: Final = 100
APPROVALS_PAGE: Final = 10
CURSOR_BYTES: Final = 8_192
HISTORY_PAGE: Final = 100
