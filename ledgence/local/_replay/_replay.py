"""Histories against other code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ledgence.local._engine._values import JsonObject
from ledgence.local._launch import Launch, default_bootstrap
from ledgence.local._replay._compare import compare
from ledgence.local._replay._errors import Difference, HistoryError
from ledgence.local._replay._history import History
from ledgence.local._replay._output import Output
from ledgence.local._replay._player import Player, PlayerHere
from ledgence.local._replay._report import ReplayReport, Skipped
from ledgence.local._replay._shape import Place
from ledgence.local._target import find_interpreter, find_target, require_workflows

__all__ = ["Replay", "replay", "replay_history"]

TIMEOUT_SECONDS = 60.0
Source = History | Mapping[str, Any] | str | os.PathLike[str]
Targets = Mapping[str, str | os.PathLike[str]]


def replay_history(
    history: Source,
    target: str | os.PathLike[str],
    *,
    programs: Targets | None = None,
    timeout: float = TIMEOUT_SECONDS,
    fresh_processes: bool = False,
    in_process: bool = False,
    python: str | None = None,
) -> ReplayReport:
    """Check that code still does what a history says; one line makes a test.

    Every recorded activation is played to the code in a real runner process: the same
    event and context, and the whole journal, so that no function whose result is
    recorded is called again. What the code asks for and decides is compared with the
    record. A step that the history does not have does run: keep replays away from
    credentials, as you do with tests.

    Args:
        history: An exported file, its path, or a ``History``.
        target: ``path/to/program.py:function`` or a program directory.
        programs: The code of owned workflows by the id of their program; those of
            other programs are skipped. Branches are played with their parent's.
        timeout: Seconds for one activation.
        fresh_processes: Give every activation a process of its own.
        in_process: Play in this process, where a debugger can stop; then there is no
            time-out, and a step that is gone is not noticed.
        python: The interpreter, as for ``ledgence-local run``.

    Returns:
        How many activations were compared, and what was skipped and why: what has no
        accepted decision cannot be compared.

    Raises:
        ReplayMismatch: The code differs; ``differences`` has each of them.
        HistoryError: The history cannot be used, or holds nothing to compare.
        TargetError: The target cannot be run.
        StartRefused: The program cannot be imported.
    """
    __tracebackhide__ = True  # a test shows the line of its author
    report = replay(
        history,
        target,
        programs=programs,
        timeout=timeout,
        fresh_processes=fresh_processes,
        in_process=in_process,
        python=python,
    )
    report.check()
    return report


def replay(
    history: Source,
    target: str | os.PathLike[str],
    *,
    programs: Targets | None = None,
    timeout: float = TIMEOUT_SECONDS,
    fresh_processes: bool = False,
    in_process: bool = False,
    python: str | None = None,
) -> ReplayReport:
    """Play a history as ``replay_history`` does, and return what differs.

    Raises:
        HistoryError: The history cannot be used, or holds nothing to compare.
        TargetError: The target cannot be run.
        StartRefused: The program cannot be imported.
    """
    found = _read(history)
    targets: dict[str, str] = {found.program: os.fspath(target)}
    targets.update({name: os.fspath(one) for name, one in (programs or {}).items()})

    def find(run: JsonObject) -> Launch | None:
        text = targets.get(_program(run))
        return None if text is None else _launch(text, python)

    work = Replay(timeout=timeout, fresh=fresh_processes, here=in_process)
    work.run(found.to_json(), find)
    report = work.report()
    if not report.compared:
        raise _empty(report)
    return report


def _read(history: Source) -> History:
    if isinstance(history, str | os.PathLike):
        history = History.load(history)
    elif not isinstance(history, History):
        history = History(history)
    if history.kind != "workflow":
        raise HistoryError(
            "only histories of workflows can be replayed",
            code="history_kind",
            details={"kind": history.kind},
        )
    return history


class Replay:
    """One replay, of one history or of several.

    Args:
        timeout: Seconds for one activation.
        fresh: Give every activation a process of its own.
        here: Play in this process.
    """

    def __init__(
        self, *, timeout: float, fresh: bool = False, here: bool = False
    ) -> None:
        self._timeout = timeout
        self._fresh = fresh
        self._here = here
        self._output = Output(str(Path(default_bootstrap()).parent))
        self._compared = 0
        self._differences: list[Difference] = []
        self._skipped: list[Skipped] = []

    def run(
        self, root: JsonObject, find: Callable[[JsonObject], Launch | None]
    ) -> None:
        """Play the runs of a tree, program by program.

        Args:
            root: The history of a workflow.
            find: Tells what to start for a run, None for what cannot be played.
        """
        runs: dict[str, list[_Run]] = {}
        for run in _tree(root, ()):
            runs.setdefault(json.dumps(run.history["descriptor"]), []).append(run)
        for own in runs.values():
            first = own[0].history
            launch = find(first)
            if launch is not None:
                self._play(launch, own)
                continue
            reason = f"no target was given for the program {_program(first)!r}"
            self._skipped += [Skipped(run.id, None, reason) for run in own]

    def _play(self, launch: Launch, runs: list[_Run]) -> None:
        with self._player(launch) as player:
            for run in runs:
                for index, activation in enumerate(run.history["activations"]):
                    place = (*run.place, "activations", index)
                    self._one(player, run.id, activation, place)

    def _player(self, launch: Launch) -> Player:
        if self._here:
            return PlayerHere(launch, self._output)
        timeout, fresh = self._timeout, self._fresh
        return Player(launch, self._output, timeout=timeout, fresh=fresh)

    def _one(
        self, player: Player, workflow_id: str, activation: JsonObject, place: Place
    ) -> None:
        reason = _incomparable(activation)
        if reason is not None:
            skipped = Skipped(workflow_id, activation["revision"], reason)
            self._skipped.append(skipped)
            return
        played = player.play(activation, place)
        self._compared += 1
        self._differences += compare(workflow_id, activation, played)

    def report(self) -> ReplayReport:
        """Return what was found."""
        return ReplayReport(
            compared=self._compared,
            differences=tuple(self._differences),
            skipped=tuple(self._skipped),
            output=tuple(self._output.lines),
        )


def _empty(report: ReplayReport) -> HistoryError:
    reasons = dict.fromkeys(one.reason for one in report.skipped)
    return HistoryError(
        "the history holds no activation that could be compared",
        code="replay_empty",
        details={"skipped": "; ".join(reasons) or "nothing"},
        hint="export it after a decision was accepted",
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """A workflow of the tree, and where its history stands in that of the root."""

    history: JsonObject
    place: Place

    @property
    def id(self) -> str:
        return cast("str", self.history["workflow"]["workflow_id"])


def _tree(run: JsonObject, place: Place) -> Iterator[_Run]:
    yield _Run(run, place)
    for index, child in enumerate(run["children"]):
        if child["kind"] == "workflow":
            yield from _tree(child["history"], (*place, "children", index, "history"))


def _program(run: JsonObject) -> str:
    return cast("str", run["descriptor"]["program"]["id"])


def _incomparable(activation: JsonObject) -> str | None:
    if activation["decision"] is None:
        return f"it has no decision: {activation['state']}"
    if activation["error"] is not None:
        return f"its decision was refused: {activation['error']}"
    if activation["applied_at"] is None:
        return "its decision was not applied"
    return None


def _launch(text: str, python: str | None) -> Launch:
    target = find_target(text)
    require_workflows(target)
    interpreter = find_interpreter(python, target)
    return Launch.of(target, interpreter)
