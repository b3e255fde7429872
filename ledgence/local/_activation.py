"""The first activation of a workflow and the acknowledgement of its requests.

The context is that of orchestrator.md, section 7; commits and forks are checked as
in its sections 8 and 13, as far as one attempt of one activation can break them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ledgence.local._errors import CommitRefused, Kind
from ledgence.local._events import Attempt
from ledgence.local._frames import Request
from ledgence.local._limits import (
    BRANCHES,
    CALLABLE_BYTES,
    FORK_BYTES,
    FORK_REQUEST_BYTES,
    JOURNAL_BYTES,
    JOURNAL_RECORDS,
    KEY_BYTES,
    RECORD_BYTES,
    REQUEST_DEPTH,
)
from ledgence.local._shapes import as_list, as_object
from ledgence.local._text import is_text
from ledgence.worker._profile import ProfileError, encode

__all__ = ["FirstActivation", "first_extension"]

_SCHEMA = "ledgence.workflow.activation.v1"
_RECORD = {"key": KEY_BYTES, "callable": CALLABLE_BYTES}
_BRANCH = {"key", "entrypoint", "queue", "data", "retry_policy", "attempt_timeout_ms"}


def first_extension(attempt: Attempt) -> dict[str, Any]:
    """Return the extension of revision 0, continuation ``start``."""
    return {
        "schema": _SCHEMA,
        "payload": {
            "v": 1,
            "workflow_id": attempt.workflow_id,
            "activation_id": attempt.task_id,
            "revision": 0,
            "continuation": "start",
            "state": None,
            "inputs": {},
            "local_steps": [],
        },
    }


@dataclass(slots=True)
class FirstActivation:
    """Answers what the first activation asks; everything is kept in memory."""

    _records: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _forks: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _branches: set[str] = field(default_factory=set[str])

    def answer(self, request: Request) -> object:
        """Return the result of a request.

        Raises:
            CommitRefused: The service would refuse it and end the attempt.
        """
        if request.operation == "local_step.commit":
            return self._commit(request.payload)
        if request.operation == "workflow.fork":
            return self._fork(request.payload)
        raise _refuse("unknown_operation", f"nobody offers {request.operation!r}")

    def _commit(self, payload: object) -> object:
        record = _shape(payload, {"key", "callable", "input", "output"})
        for name, limit in _RECORD.items():
            if not is_text(record[name], limit):
                raise _refuse("commit_shape", f"{name} is no text of {limit} bytes")
        data = _canonical(record, RECORD_BYTES, "commit_size")
        if not self._known(self._records, record["key"], data):
            # The array of all records: brackets and commas around them.
            size = sum(map(len, self._records.values())) + len(self._records)
            if len(self._records) >= JOURNAL_RECORDS:
                raise _refuse("journal_full", f"{JOURNAL_RECORDS} records are kept")
            if size + len(data) + 2 > JOURNAL_BYTES:
                raise _refuse("journal_full", f"more than {JOURNAL_BYTES} bytes")
            self._records[record["key"]] = data
        return {"committed": True}

    def _fork(self, payload: object) -> object:
        fork = _shape(payload, {"key", "branches"})
        branches = as_list(fork["branches"])
        if not is_text(fork["key"]) or branches is None:
            raise _refuse("fork_shape", "a key and a list of branches are needed")
        keys = [_branch_key(branch) for branch in branches]
        if not 1 <= len(keys) <= BRANCHES or len(set(keys)) != len(keys):
            raise _refuse("fork_shape", f"1 to {BRANCHES} branches of distinct keys")
        data = _canonical(fork, FORK_BYTES, "fork_size")
        if not self._known(self._forks, fork["key"], data):
            self._check_budget(keys, data)
            self._forks[fork["key"]] = data
            self._branches.update(keys)
        return {"committed": True, "key": fork["key"], "branch_keys": keys}

    def _check_budget(self, keys: list[str], data: bytes) -> None:
        taken = self._branches.intersection(keys)
        if taken:
            text = f"the branch key {min(taken)!r} is taken"
            raise _refuse("fork_conflict", text, kind="conflict")
        size = sum(map(len, self._forks.values())) + len(data)
        if len(self._branches) + len(keys) > BRANCHES or size > FORK_REQUEST_BYTES:
            text = f"{BRANCHES} children and {FORK_REQUEST_BYTES} bytes at most"
            raise _refuse("fork_budget", text)

    def _known(self, stored: dict[str, bytes], key: str, data: bytes) -> bool:
        if key in stored and stored[key] != data:
            text = f"the key {key!r} is stored with other content"
            raise _refuse("commit_conflict", text, kind="conflict")
        return key in stored


def _shape(payload: object, members: set[str]) -> dict[str, Any]:
    found = as_object(payload)
    if found is None or set(found) != members:
        raise _refuse("request_shape", f"exactly {sorted(members)} are needed")
    return found


def _branch_key(value: object) -> str:
    branch = as_object(value)
    if branch is None or set(branch) != _BRANCH:
        raise _refuse("fork_shape", f"a branch has exactly {sorted(_BRANCH)}")
    key = branch["key"]
    if not is_text(key) or not isinstance(key, str):
        raise _refuse("fork_shape", f"a branch key has 1 to {KEY_BYTES} bytes")
    return key


def _canonical(value: object, limit: int, code: str) -> bytes:
    try:
        return encode(value, limit, max_depth=REQUEST_DEPTH, received=True)
    except ProfileError as error:
        raise _refuse(code, str(error)) from error


def _refuse(code: str, text: str, *, kind: Kind = "invalid_input") -> CommitRefused:
    return CommitRefused(
        f"the service would refuse this request: {text}", code=code, kind=kind
    )
