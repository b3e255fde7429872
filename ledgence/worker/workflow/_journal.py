"""Local steps: bindings, replay, commits (workflow-api.md, sections 4 and 5).

A step is known by its key, the name of its callable and the canonical bytes of its
input. These bytes are made once; they are compared at replay, sent with the commit and
read to call the callable. The size of the journal is a running sum, so that a commit
costs the same however many came before it.
"""

from __future__ import annotations

import asyncio
from inspect import isawaitable

from ledgence.worker._exceptions import BindingError, LimitError
from ledgence.worker._profile import thaw
from ledgence.worker.workflow._activation import Record, list_size
from ledgence.worker.workflow._bindings import Binding, encoded_binding
from ledgence.worker.workflow._fields import check_size, differing
from ledgence.worker.workflow._limits import (
    MAX_RECORD_BYTES,
    MAX_RECORDS_BYTES,
    MAX_STEPS,
    WARNING_PERCENT,
)
from ledgence.worker.workflow._owned import Owned
from ledgence.worker.workflow._state import boundary

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Protocol

    from ledgence.worker.workflow._activation import Activation
    from ledgence.worker.workflow._exchange import Exchange
    from ledgence.worker.workflow._sizes import Meter

    class Recorder(Protocol):
        """Observes steps; it never raises."""

        def start(self, key: str, callable_name: str, /) -> Any: ...

        def finish(self, token: Any, state: str, /) -> None: ...


# Values that are no awaitables, whose abstract class is slow to ask.
_PLAIN = frozenset({dict, list, str, int, float, bool, type(None)})

# From this size on the meter is told.
_NEARLY_FULL = MAX_RECORDS_BYTES * WARNING_PERCENT // 100


class Step(Owned):
    """A local step of this activation, replayed or started."""

    __slots__ = ("binding", "journal", "output")

    def __init__(self, journal: Journal, binding: Binding) -> None:
        super().__init__(journal.exchange, binding.key)
        self.journal = journal
        self.binding = binding
        self.output = b""

    def value(self) -> Any:
        """Make a fresh copy of the output."""
        return thaw(self.output)

    def replay(self, output: bytes) -> None:
        """Take the output of a record; nothing runs."""
        self.output = output
        self.done = True

    async def work(self) -> None:
        """Call the callable, check its value, and commit it."""
        binding, recorder = self.binding, self.journal.recorder
        boundary.set(binding.callable)
        token = None
        if recorder is not None:
            token = recorder.start(binding.key, binding.callable)
        try:
            result = binding.fn(**thaw(binding.arguments))
            if type(result) not in _PLAIN and isawaitable(result):
                result = await result
            output = binding.checked(result)
        except BaseException as error:
            if recorder is not None:
                was_cancelled = isinstance(error, asyncio.CancelledError)
                recorder.finish(token, "cancelled" if was_cancelled else "failed")
            raise
        if recorder is not None:
            recorder.finish(token, "returned")
        await self.journal.commit(self, output)
        self.output = output


class Journal:
    """The records of an activation and its steps.

    Attributes:
        records: What the host has stored, by key: replayed and committed records.
        steps: The steps of this activation, by key in the order of their first call.
        recorder: Observes what runs, or None.
    """

    __slots__ = (
        "_keys",
        "_meter",
        "_total",
        "exchange",
        "owned",
        "recorder",
        "records",
        "steps",
    )

    def __init__(
        self,
        activation: Activation,
        exchange: Exchange,
        meter: Meter,
        recorder: Recorder | None,
    ) -> None:
        self.exchange = exchange
        self.recorder = recorder
        self.records = dict(activation.records)
        self.steps: dict[str, Step] = {}
        self.owned: list[Step] = []
        self._meter = meter
        self._total = activation.records_size
        # Distinct keys, used here or journalled.
        self._keys = len(self.records)

    @property
    def size(self) -> int:
        """The size of the journal as a list, in bytes."""
        return list_size(self._total, len(self.records))

    def step(self, binding: Binding) -> Step:
        """Find or start the step of a binding.

        Raises:
            BindingError: The key stands for something else.
            LimitError: It is the 129th key, or the binding is too large for a record.
        """
        key = binding.key
        step = self.steps.get(key)
        record = self.records.get(key)
        known = record if step is None else step.binding
        if known is None:
            return self._started(binding)
        if known.input != binding.input or known.callable != binding.callable:
            recorded = encoded_binding(key, known.callable, known.input)
            diff = differing(recorded, binding.encoded())
            raise BindingError("binding_changed", key=key, diff=diff)
        return step or self._replayed(binding, self.records[key].output)

    def _started(self, binding: Binding) -> Step:
        key = binding.key
        if self._keys >= MAX_STEPS:
            raise LimitError("too_many", "keys of steps", key=key, limit=MAX_STEPS)
        if binding.size > MAX_RECORD_BYTES:
            what = "key, callable and input"
            check_size(None, what, binding.size, MAX_RECORD_BYTES, key)
        step = Step(self, binding)
        step.start()
        self._keys += 1
        self.steps[key] = step
        self.owned.append(step)
        return step

    def _replayed(self, binding: Binding, output: bytes) -> Step:
        step = self.steps[binding.key] = Step(self, binding)
        step.replay(output)
        if self.recorder is not None:
            token = self.recorder.start(binding.key, binding.callable)
            self.recorder.finish(token, "replayed")
        return step

    def release(self) -> None:
        """Forget the steps at the end of the activation.

        They know the journal, and their tasks the context: such circles would keep
        every activation in memory until the collector comes.
        """
        self.steps.clear()
        self.owned.clear()

    async def commit(self, step: Step, output: bytes) -> None:
        """Have the host store the record of a step.

        Raises:
            LimitError: The journal would be too large; nothing is sent.
            AcknowledgementError: The host did not acknowledge, or did not before.
        """
        exchange, binding = self.exchange, step.binding
        if not exchange.take():
            await exchange.turn()
        try:
            size = binding.record_size(output)
            total = list_size(self._total + size, len(self.records) + 1)
            if total >= _NEARLY_FULL:
                check_size(None, "the journal", total, MAX_RECORDS_BYTES, binding.key)
                self._meter.note("journal", total, MAX_RECORDS_BYTES)
            reply = await exchange.send(
                step,
                "local_step.commit",
                binding.record(output),
                lambda: binding.plain_record(output),
            )
            if not _is_acknowledgement(reply):
                raise exchange.refused(reply, '{"committed":true}')
            self._total += size
            self.records[binding.key] = Record(
                binding.callable, binding.input, output, size
            )
        finally:
            exchange.release()


def _is_acknowledgement(reply: object) -> bool:
    return (
        type(reply) is dict
        and reply.keys() == {"committed"}
        and reply["committed"] is True
    )
