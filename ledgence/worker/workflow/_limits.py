"""Every number of the workflow contract, once (workflow-api.md, section 14).

Sizes are bytes of canonical JSON in UTF-8, depths are containers inside each other,
times are milliseconds.
"""

from __future__ import annotations

SCHEMA = "ledgence.workflow.activation.v1"

MAX_CONTEXT_BYTES = 655_360  # the payload of an activation
MAX_STATE_BYTES = 65_536
MAX_DECISION_BYTES = 262_144  # also inputs, staged commands, a child's output
MAX_EVENT_BYTES = 65_536
MAX_RECORD_BYTES = 131_072  # also step arguments, bindings
MAX_RECORDS_BYTES = 262_144  # the journal as a list
MAX_FORK_BYTES = 131_072  # a branch, a whole fork request
MAX_APPROVAL_BYTES = 32_768  # an action, its arguments, a proposal
MAX_COMMANDS = 64  # inputs, staged commands, until, branches
MAX_STEPS = 128  # journal records, keys of an activation, gather
MAX_WAIT_MS = 31_536_000_000  # 365 days
MAX_TIMESTAMP = 253_402_300_799_999  # the end of the year 9999

VALUE_DEPTH = 64  # an application's value
ENVELOPE_DEPTH = 96  # what the library wraps around values

TEXT_BYTES = 128  # keys, ids, queue, version, continuation, error kind
NAME_BYTES = 512  # names of callables and actions
MESSAGE_BYTES = 4_096  # failure message, review reason
SOURCE_BYTES = 2_048  # the source of an event
POLICY_BYTES = 1_024

MAX_REVISION = 2**64 - 1
MAX_ATTEMPTS = 1_000
MAX_RETRY_DELAY_MS = 86_400_000
MIN_ATTEMPT_TIMEOUT_MS = 60_000
MAX_ATTEMPT_TIMEOUT_MS = 86_400_000
DEFAULT_ATTEMPTS = 3
DEFAULT_RETRY_DELAY_MS = 5_000
DEFAULT_ATTEMPT_TIMEOUT_MS = 300_000

RESERVED_PREFIX = "_approval:"

# From this share of a limit on, the size meter warns.
WARNING_PERCENT = 80
