"""Optional measurements of one invocation (runner-protocol.md, 12).

Nothing here ever fails an invocation: what cannot be measured is null or left out.
"""

import sys
from time import monotonic_ns, time_ns

from ledgence.worker import _stdlib
from ledgence.worker._profile import ProfileError, encode_frame

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from types import ModuleType

MAX_BYTES = 131_072  # of the whole member's JSON
MAX_STEPS = 128
_STEP_BYTES = 8_192  # a key of 128 and a callable of 512 bytes, all escapes, and more

_RSS_UNIT = {"linux": 1024, "darwin": 1}


def _load_resource() -> "ModuleType | None":
    try:
        return _stdlib.load("resource")
    except ImportError:
        return None


_resource = _load_resource()


class Observation:
    """What is measured from just before the program's code until the result is known.

    Attributes:
        steps: Where an activation notes its local steps.
    """

    __slots__ = ("_clock_ns", "_started_at_ms", "_usage", "steps")

    def __init__(self) -> None:
        self.steps = StepRecorder()
        self._usage = _usage()
        self._started_at_ms = time_ns() // 1_000_000
        self._clock_ns = monotonic_ns()

    def encode(self) -> bytes:
        """The member's JSON, within its bound; the measurement ends here."""
        elapsed_ns = monotonic_ns() - self._clock_ns
        usage = _usage()
        head = (
            b'{"runtime_started_at_ms":%d,"runtime_elapsed_us":%d,'
            b'"process_cpu_user_us":%b,"process_cpu_system_us":%b,'
            b'"process_lifetime_peak_rss_bytes":%b,"local_steps":['
        ) % (
            self._started_at_ms,
            elapsed_ns // 1000,
            _spent(self._usage, usage, 0),
            _spent(self._usage, usage, 1),
            _peak(usage, sys.platform),
        )
        return self.steps.encode(head, MAX_BYTES)


def _usage() -> "tuple[float, float, int] | None":
    """User and system seconds, and the peak of memory in the system's own unit."""
    if _resource is None:
        return None
    usage = _resource.getrusage(_resource.RUSAGE_SELF)
    return usage[0], usage[1], usage[2]


def _spent(
    before: "tuple[float, float, int] | None",
    after: "tuple[float, float, int] | None",
    index: int,
) -> bytes:
    if before is None or after is None or after[index] < before[index]:
        return b"null"
    return b"%d" % round((after[index] - before[index]) * 1_000_000)


def _peak(usage: "tuple[float, float, int] | None", platform: str) -> bytes:
    unit = _RSS_UNIT.get(platform)
    if usage is None or unit is None:
        return b"null"
    return b"%d" % (usage[2] * unit)


class Step:
    """One local step; the token between ``start`` and ``finish``."""

    __slots__ = ("callable", "clock_ns", "elapsed_us", "key", "started_at_ms", "state")

    def __init__(self, key: str, callable_name: str) -> None:
        self.key = key
        self.callable = callable_name
        self.started_at_ms = time_ns() // 1_000_000
        self.clock_ns = monotonic_ns()
        self.elapsed_us = 0
        self.state = "cancelled"  # unless it is told otherwise


class StepRecorder:
    """The local steps of an activation in the order of their starts; never raises."""

    __slots__ = ("_keys", "_steps", "_truncated")

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._steps: list[Step] = []
        self._truncated = False

    def start(self, key: str, callable_name: str) -> Step | None:
        """Note the start of a step.

        Args:
            key: Its key; only the first step of a key is kept.
            callable_name: The callable as in its record.

        Returns:
            The token for ``finish``.
        """
        if key in self._keys:
            return None
        if len(self._steps) >= MAX_STEPS:
            self._truncated = True
            return None
        step = Step(key, callable_name)
        self._keys.add(key)
        self._steps.append(step)
        return step

    def finish(self, token: Step | None, state: str) -> None:
        """Note the end: ``returned``, ``failed``, ``cancelled`` or ``replayed``."""
        if token is not None:
            token.elapsed_us = (monotonic_ns() - token.clock_ns) // 1000
            token.state = state

    def encode(self, head: bytes, limit: int) -> bytes:
        """The whole member, given what comes before the steps.

        Steps are left out from the end until it has no more than ``limit`` bytes.
        """
        texts = [text for step in self._steps if (text := _step(step))]
        truncated = self._truncated or len(texts) < len(self._steps)
        while True:
            flag = b"true" if truncated else b"false"
            member = b'%b%b],"local_steps_truncated":%b}' % (
                head,
                b",".join(texts),
                flag,
            )
            if len(member) <= limit or not texts:
                return member
            del texts[-1]
            truncated = True


def _step(step: Step) -> bytes:
    """The JSON of one step; empty where it cannot be written."""
    frame = {
        "key": step.key,
        "callable": step.callable,
        "started_at_ms": step.started_at_ms,
        "elapsed_us": step.elapsed_us,
        "state": step.state,
    }
    try:
        return encode_frame(frame, _STEP_BYTES)[:-1]
    except ProfileError:
        return b""
