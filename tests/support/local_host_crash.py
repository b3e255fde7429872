"""Kill hosts and runners at random points and look whether anything is lost.

usage: python tests/support/local_host_crash.py [--points N] [--seed S]
                                                [--directory DIR] [--verbose]

A child process runs a ``LocalHost`` on a store file, with real runners: it submits
tasks and starts workflows, sends events, decides approvals, and awaits all results.
It says each thing that was acknowledged on a pipe; runners append what they know to a
file. Runners are killed at random frames, and the host is killed with SIGKILL: before
its k-th statement (so between and inside transactions), or after a random time. Its
successor goes on with the same store and the same commands. After each kill, and when
the work is done, the store is compared with everything that was said. The exit status
is 0 when nothing was lost.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ledgence.local import HostListener, LocalHost
from ledgence.local._engine import Inspection
from ledgence.local._store import SqliteStore
from tests.support.local_crash import Lost, arm, live, say
from tests.support.local_crash_program import PATIENT, WORKFLOWS

TARGET = f"{Path(__file__).with_name('local_crash_program.py')}:handle"
SCOPE = {"tenant_id": "local", "namespace": "default"}
WAIT_SECONDS = 30
# Of all frames, how many kill their runner; how many statements a whole life has.
RUNNER_KILLS = 0.015
STATEMENTS = 6_000
SECONDS = 2.5
NUMBERS = range(2)


def work(path, log, tell, *, seed, life, kill_at):
    """The whole script; what was done before is recognised."""
    rng = random.Random(f"{seed}-{life}")

    def crash(point):
        hit = rng.random() < RUNNER_KILLS
        if hit:
            tell("killed", point.number, point.type)
        return hit

    options = {"programs": {"crash": TARGET}, "slots": 2, "wait_seconds": WAIT_SECONDS}
    with LocalHost(path, listener=HostListener(), crash=crash, **options) as host:
        if kill_at is not None:
            arm(host._core.opened.engine._store, kill_at)
        script = [(name, n) for name in WORKFLOWS for n in NUMBERS]
        random.Random(seed).shuffle(script)
        runs = [submit(host, tell, log, name, number) for name, number in script]
        for (name, number), (_, run) in zip(script, runs, strict=True):
            release(host, tell, f"{name}:{number}", run)
        for pair in runs:
            for run in pair:
                host.result(run)
        tell("done")


def submit(host, tell, log, name, number):
    key = f"{name}:{number}"
    data = {"do": name, "path": str(log)}
    run = host.start_workflow("crash", data, key=key, version="1", retry_policy=PATIENT)
    tell("workflow", key, run.id)
    data = {"do": "echo", "n": key}
    task = host.submit_task("crash", data, key=key, version="1", retry_policy=PATIENT)
    tell("task", key, task.id)
    return task, run


def release(host, tell, key, run):
    if key.startswith("event"):
        receipt = host.send_event(run, "go", [1.0, "data"], id=key, source="urn:x")
        tell("event", run.id, receipt["accepted_at"])
    if key.startswith("ask"):
        receipt = host.decide_approval(run, "may", "approve", decision_id="d-1")
        tell("decision", run.id, receipt["approval"]["decision"]["decided_at"])


class Facts:
    """All that was acknowledged about one store.

    Attributes:
        log: The file to which runners append.
        kills: How many runners were killed.
    """

    def __init__(self, log):
        self.log = log
        self.known = {}
        self.done = False
        self.kills = 0

    def hear(self, words):
        kind, *rest = words
        if kind == "done":
            self.done = True
        elif kind == "killed":
            self.kills += 1
        else:
            *key, value = rest
            before = self.known.setdefault((kind, *key), value)
            if before != value:
                raise Lost(f"{kind} {key} was {before} and is {value}")

    def check(self, path):
        """Compare the store with all facts."""
        with SqliteStore(path) as store:
            look = Inspection(store)
            for (kind, *key), value in self.known.items():
                CHECKS[kind](look, *key, value)
            self._check_runners(store, look)
            if self.done:
                self._check_outcomes(look)

    def _check_runners(self, store, look):
        """Check what runners said: acknowledged records, steps, and forks."""
        records, ran = {}, []
        for words in self._said():
            kind, task_id, attempt, *rest = words
            if kind == "fork":
                check_fork(look, *rest)
            elif kind == "ran":
                ran.append((task_id, rest[0], attempt))
            else:
                key, output = rest
                check_record(store, task_id, key, output)
                first = records.setdefault((task_id, key), attempt)
                records[task_id, key] = min(first, attempt)
        for task_id, key, attempt in ran:
            # A later attempt gets the record and does not run the step. An orphan of
            # a dead host may still run one, but its attempt came before.
            if attempt > records.get((task_id, key), attempt):
                raise Lost(f"step {key} of {task_id} ran again in attempt {attempt}")

    def _said(self):
        if not self.log.exists():
            return []
        # A line that its writer did not finish was not said.
        *lines, _ = self.log.read_bytes().split(b"\n")
        return [json.loads(line) for line in lines]

    def _check_outcomes(self, look):
        for (kind, key), run_id in list(self.known.items()):
            if kind == "task":
                found = look.task_result({"scope": SCOPE, "task_id": run_id})
                expected = key
            elif kind == "workflow":
                found = look.workflow_result({"scope": SCOPE, "workflow_id": run_id})
                expected = WORKFLOWS[key.partition(":")[0]][1]
            else:
                continue
            output = (found["outcome"] or {}).get("output")
            if output != expected:
                raise Lost(f"{kind} {key} ended with {found}, not {expected}")


def check_record(store, activation_id, key, output):
    with store.reading() as rows:
        found = {
            step.key: json.loads(step.record) for step in rows.journal(activation_id)
        }
    if key not in found or found[key]["output"] != output:
        raise Lost(f"record {key} of {activation_id}")


def check_fork(look, workflow_id, keys):
    page = look.children({"scope": SCOPE, "workflow_id": workflow_id})
    missing = set(keys) - {child["command_key"] for child in page["items"]}
    if missing:
        raise Lost(f"branches {missing} of {workflow_id}")


def check_event(look, workflow_id, accepted_at):
    page = look.inbox({"scope": SCOPE, "workflow_id": workflow_id})
    if [one["accepted_at"] for one in page["items"]] != [accepted_at]:
        raise Lost(f"the event of {workflow_id}")


def check_decision(look, workflow_id, decided_at):
    request = {"scope": SCOPE, "workflow_id": workflow_id, "key": "may"}
    decision = look.approval(request)["decision"]
    if decision is None or decision["decided_at"] != decided_at:
        raise Lost(f"the decision of {workflow_id}")


CHECKS = {
    "workflow": lambda look, _, run: look.workflow_status(
        {"scope": SCOPE, "workflow_id": run}
    ),
    "task": lambda look, _, run: look.task_status({"scope": SCOPE, "task_id": run}),
    "event": check_event,
    "decision": check_decision,
}


def main(argv=None):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        # What killed hosts leave behind lies there as well.
        os.environ["TMPDIR"] = tempfile.tempdir = directory
        return run(Path(directory), options)


def run(directory, options):
    rng = random.Random(options.seed)
    hosts = runners = stores = 0
    while hosts + runners < options.points:
        stores += 1
        path = directory / f"store-{stores}"
        facts = Facts(directory / f"log-{stores}")
        seed, life = rng.randrange(1 << 30), 0
        while not facts.done:
            life += 1
            kill = choose(rng, spare=life > 12)
            where = f"store {stores} (seed {seed}) life {life}"
            began = time.monotonic()
            try:
                child = partial(
                    *(work, path, facts.log), seed=seed, life=life, kill_at=kill[0]
                )
                killed = live(child, life, kill[1], facts)
                hosts += killed
                facts.check(path)
            except Exception as error:  # noqa: BLE001 # whatever it is, say where
                say(f"LOST at {where}: {error!r}")
                return 1
            if options.verbose:
                took = time.monotonic() - began
                say(
                    f"{where}: {len(facts.known)} facts, {took:.1f} s, {kill}"
                    f" {'killed' if killed else 'done'}, {facts.kills} runners"
                )
        runners += facts.kills
    total = hosts + runners
    say(
        f"{total} kills ({hosts} hosts, {runners} runners), {stores} stores,"
        " nothing lost"
    )
    return 0


def choose(rng, *, spare):
    """Return before which statement, or after which time, a host is killed."""
    by_statement, statement = rng.random() < 0.7, rng.randrange(1, STATEMENTS)
    seconds = rng.random() * SECONDS
    if spare:
        return None, None
    return (statement, None) if by_statement else (None, seconds)


if __name__ == "__main__":
    sys.exit(main())
