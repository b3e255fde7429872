"""Warm processes, kept for the next attempt of the same program and scope."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass

from ledgence.local._cancel import CancelToken
from ledgence.local._engine import Scope
from ledgence.local._host._output import Output
from ledgence.local._launch import Launch
from ledgence.local._process import RunnerProcess

__all__ = ["Pool", "PoolKey", "Worker"]


@dataclass(frozen=True, slots=True)
class PoolKey:
    """What a process may be used for: one program as it stands, in one scope."""

    digest: str
    scope: Scope
    launch: Launch


class Worker:
    """A runner process and what belongs to it; one slot uses it at a time."""

    def __init__(self, key: PoolKey, output: Output) -> None:
        self.key = key
        self.output = output
        self.token = CancelToken()
        self.process = RunnerProcess(key.launch, output, cancel=self.token)
        self.started = False

    def hear(self) -> bool:
        """Take what it has said while it was idle; whether it can be used."""
        if self.process.reusable:
            self.process.idle(until=time.monotonic())
        return self.process.reusable

    def close(self) -> None:
        """Let it close in order; then it is gone."""
        self.process.close()
        self._give_back()

    def kill(self) -> bool:
        """End it at once; whether it is certainly gone."""
        self.process.kill()
        self._give_back()
        return self.process.pid is None or self.process.exit_status is not None

    def _give_back(self) -> None:
        self.output.end(self.process.allowance)
        self.token.close()


class Pool:
    """At most so many processes; of the idle ones the least recently used goes first.

    Args:
        most: How many processes may be alive, busy ones included.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._alive = 0
        self._idle: OrderedDict[int, Worker] = OrderedDict()
        self._closing: deque[threading.Thread] = deque()

    @property
    def alive(self) -> int:
        """How many processes there are, busy ones included, but none that closes."""
        return self._alive

    def take(self, key: PoolKey) -> Worker | None:
        """Return an idle process for this key; None when there is none."""
        while (worker := self._pick(key)) is not None:
            if worker.hear():
                return worker
            self.drop(worker)
        return None

    def start(self, key: PoolKey, output: Output) -> Worker:
        """Make room for a process and return it, not yet started.

        Like one that was taken, it comes back with ``put``, ``drop`` or ``part``.
        """
        self._make_room()
        try:
            return Worker(key, output)
        except BaseException:
            with self._lock:
                self._alive -= 1
            raise

    def put(self, worker: Worker) -> None:
        """Keep a process for the next attempt, if it can be used again."""
        if not worker.process.reusable:
            self.drop(worker)
            return
        with self._lock:
            self._idle[id(worker)] = worker

    def drop(self, worker: Worker) -> bool:
        """End a process; whether it is certainly gone."""
        try:
            return worker.kill()
        finally:
            with self._lock:
                self._alive -= 1

    def _retire(self, worker: Worker) -> None:
        """Let a process close in order, and wait for that."""
        try:
            worker.close()
        finally:
            with self._lock:
                self._alive -= 1

    def part(self, worker: Worker) -> None:
        """Let a process close in order, beside what goes on.

        It no longer counts; as many may be closing as there are slots.
        """
        with self._lock:
            self._alive -= 1
        self._begin_closing(worker)
        while len(self._closing) > self._most:
            self._closing.popleft().join()

    def close(self) -> None:
        """Let all idle processes close in order, side by side."""
        with self._lock:
            workers = list(self._idle.values())
            self._idle.clear()
            self._alive -= len(workers)
        for worker in workers:
            self._begin_closing(worker)
        while self._closing:
            self._closing.popleft().join()

    def _begin_closing(self, worker: Worker) -> None:
        thread = threading.Thread(target=worker.close, daemon=True)
        thread.start()
        self._closing.append(thread)

    def _pick(self, key: PoolKey) -> Worker | None:
        with self._lock:
            for number in reversed(self._idle):
                if self._idle[number].key == key:
                    return self._idle.pop(number)
        return None

    def _make_room(self) -> None:
        while True:
            with self._lock:
                if self._alive < self._most or not self._idle:
                    self._alive += 1
                    return
                _, oldest = self._idle.popitem(last=False)
            self._retire(oldest)
