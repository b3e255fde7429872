"""The hot paths of the profile, each as one call that every implementation can make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from bench.payloads import PAYLOADS, call, floats

ENDLESS = 2**40  # bytes
SORTED = orjson.OPT_SORT_KEYS
Thunk = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        path: The hot path.
        payload: The name of the value.
        size: Bytes of JSON that one call handles.
        ours: A function from an implementation of the profile to the call.
        references: The calls of other libraries that do as much of it as they can.
    """

    path: str
    payload: str
    size: int
    ours: Callable[[Any], Thunk]
    references: dict[str, Thunk] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The key of the case in files."""
        return f"{self.path}/{self.payload}"


def plain(value: object, *, ordered: bool) -> bytes:
    """What the standard library makes of a value."""
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=ordered
    )
    return text.encode()


def encoding(name: str, value: Any) -> Iterator[Case]:
    """The paths that start from a value."""
    line = orjson.dumps(value)
    frame = {
        "v": 1,
        "type": "result",
        "event_id": "evt-1",
        "attempt_id": "attempt-1",
        "status": "success",
        "output": value,
    }
    yield Case(
        "encode",
        name,
        len(line),
        lambda twin: lambda: twin.encode(value, ENDLESS),
        {
            "orjson": lambda: orjson.dumps(value, option=SORTED),
            "json": lambda: plain(value, ordered=True),
        },
    )
    yield Case(
        "freeze",
        name,
        len(line),
        lambda twin: lambda: twin.freeze(value, ENDLESS),
        {
            "orjson": lambda: orjson.loads(orjson.dumps(value, option=SORTED)),
            "json": lambda: json.loads(plain(value, ordered=True)),
        },
    )
    yield Case(
        "frame",
        name,
        len(line),
        lambda twin: lambda: twin.encode_frame(frame, ENDLESS),
        {
            "orjson": lambda: orjson.dumps(frame),
            "json": lambda: plain(frame, ordered=False),
        },
    )
    yield Case(
        "loads",
        name,
        len(line),
        lambda twin: lambda: twin.loads(line),
        {"orjson": lambda: orjson.loads(line), "json": lambda: json.loads(line)},
    )


def special() -> Iterator[Case]:
    """The paths that have values of their own."""
    binding = call()
    size = len(orjson.dumps(binding))
    yield Case(
        "identity",
        "call 1 KB",
        size,
        lambda twin: lambda: twin.encode(binding, 131072, max_depth=96),
        {
            "orjson": lambda: orjson.dumps(binding, option=SORTED),
            "json": lambda: plain(binding, ordered=True),
        },
    )
    yield Case(
        "fingerprint",
        "call 1 KB",
        size,
        lambda twin: lambda: twin.fingerprint(binding, 131072),
        {
            "orjson": lambda: hashlib.sha256(
                orjson.dumps(binding, option=SORTED)
            ).hexdigest()
        },
    )
    envelope = {"v": 1, "type": "result", "event_id": "evt-1", "attempt_id": "a-1"}
    for name, message in (
        ("short text", "ValueError: no such order"),
        ("long text", 'line "7" could not be read — café\\path\n' * 20),
    ):
        yield Case(
            "fit",
            name,
            256,
            lambda twin, message=message: (
                lambda: twin.fit_error(envelope, "business_error", message, 256)
            ),
        )
    numbers = floats()
    yield Case(
        "allowance",
        "10,000 floats",
        len(orjson.dumps(numbers)),
        lambda twin: lambda: twin.check(numbers, ENDLESS, received=True),
        {
            "orjson": lambda: orjson.dumps(numbers),
            "json": lambda: plain(numbers, ordered=True),
        },
    )


def cases() -> Iterator[Case]:
    """All rows of the table."""
    for name, make in PAYLOADS.items():
        yield from encoding(name, make())
    yield from special()
