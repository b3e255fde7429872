"""Kill a host at random points and look whether anything acknowledged is lost.

usage: python tests/support/local_crash.py [--points N] [--seed S] [--directory DIR]

A child process works on a store through the engine: it submits tasks and starts
workflows, sends events, decides approvals and carries out attempts with scripted
programs. It says each thing that was acknowledged on a pipe, and is killed with
SIGKILL: before its k-th statement (so between and inside transactions), or after a
random time (so also inside a commit). Its successor goes on with the same store and
the same commands. After each kill, and when the work is done, the store is compared
with everything that was said. The exit status is 0 when nothing was lost.
"""

import argparse
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ledgence.local._store import HostLock, SqliteStore
from tests.support.local_world import (
    World,
    action,
    branch,
    cloud_event,
    command,
)

PATIENT = {"max_attempts": 1000, "retry_delay_ms": 100}
LIMIT_SECONDS = 120
# Naps and retries are skipped, the time to decide is not.
HORIZON_MS = 10_000


class Teller:
    """The child's end of the pipe; one write per line, before anything follows."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def __call__(self, *words):
        os.write(self._descriptor, json.dumps(words).encode() + b"\n")


def step(job, tell, key, output):
    """Run a local step once per activation, as the helper does."""
    for record in job.payload["local_steps"]:
        if record["key"] == key:
            return record["output"]
    tell("ran", job.task_id, key)
    job.commit(key, output)
    tell("record", job.task_id, key, output)
    return output


def steps(job, tell):
    total = job.payload["state"] or 0
    for number in range(3):
        total += step(job, tell, f"s{number}", number)
    if job.payload["revision"] < 2:
        return job.proceed("more", state=total)
    return job.complete(total)


def family(job, tell):
    if job.continuation == "start":
        child = command("w", "steps", kind="workflow", retry_policy=PATIENT)
        tasks = (command(f"t{n}", data=n, retry_policy=PATIENT) for n in range(2))
        return job.suspend("end", child, *tasks)
    outputs = {key: one["outcome"]["output"] for key, one in job.inputs.items()}
    return job.complete(outputs)


def event(job, tell):
    if job.continuation == "start":
        step(job, tell, "before", "x")
        return job.wait_event("go", "end")
    return job.complete(job.wake["event"]["data"])


def ask(job, tell):
    if job.continuation == "start":
        return job.approval("may", "end", action(n=1), 31_536_000_000)
    return job.complete(job.wake["approval"]["status"])


def forks(job, tell):
    if job.continuation == "start":
        branches = (branch(f"b{n}", data=n, retry_policy=PATIENT) for n in range(2))
        job.fork("f", *branches)
        tell("fork", job.payload["workflow_id"], ["b0", "b1"])
        step(job, tell, "beside", 1)
        return job.suspend("join", until=["b0", "b1"])
    if job.continuation == "branch":
        return job.complete(job.data)
    return job.complete(sum(one["outcome"]["output"] for one in job.inputs.values()))


def sleeper(job, tell):
    if job.continuation == "start":
        return job.sleep("nap", 5000, "end")
    return job.complete("slept")


PROGRAMS = {
    "steps": (steps, 9),
    "family": (family, {"w": 9, "t0": 0, "t1": 1}),
    "event": (event, [1.0, "data"]),
    "ask": (ask, "approved"),
    "forks": (forks, 1),
    "sleeper": (sleeper, "slept"),
}


def world_of(store, life):
    """Return a world whose identifiers no earlier life has used."""
    world = World(store, prefix=f"{life}-", host_id=f"host_{life}")
    # The pinned digests must not depend on the order of registration.
    for name in ("leaf", *PROGRAMS):
        world.digests[name, "1"] = f"sha256:{sum(name.encode()):064x}"
    return world


def work(path, seed, life, tell, kill_at):
    """The whole script; what was done before is recognised."""
    rng = random.Random(seed)
    with SqliteStore(path) as store, HostLock(path, f"host_{life}"):
        if kill_at is not None:
            arm(store, kill_at)
        world = world_of(store, life)
        world.programs["leaf", "1", world.digests["leaf", "1"]] = lambda job: job.data
        for name, (handler, _) in PROGRAMS.items():
            world.programs[name, "1", world.digests[name, "1"]] = (
                lambda job, handler=handler: handler(job, tell)
            )
        world.engine.recover()
        script = [(name, n) for name in PROGRAMS for n in range(2)]
        rng.shuffle(script)
        for name, number in script:
            submit(world, tell, name, number)
            for _ in range(rng.randrange(4)):
                world.step()
        world.run(skip=True, horizon_ms=HORIZON_MS)
        for name, number in script:
            release(world, tell, name, number)
            world.run(skip=True, horizon_ms=HORIZON_MS)
        world.run(skip=True, horizon_ms=HORIZON_MS)
        tell("done")


def submit(world, tell, name, number):
    key = f"{name}:{number}"
    workflow_id = world.start(name, key=key, retry_policy=PATIENT)
    tell("workflow", key, workflow_id)
    task_id = world.submit(data=[key], key=key, retry_policy=PATIENT)
    tell("task", key, task_id)


def release(world, tell, name, number):
    key = f"{name}:{number}"
    if name == "event":
        workflow_id = world.start(name, key=key, retry_policy=PATIENT)
        receipt = world.send(workflow_id, "go", cloud_event(key, [1.0, "data"]))
        tell("event", workflow_id, receipt["accepted_at"])
    if name == "ask":
        workflow_id = world.start(name, key=key, retry_policy=PATIENT)
        receipt = world.decide(workflow_id, "may")
        tell("decision", workflow_id, receipt["approval"]["decision"]["decided_at"])


def arm(store, kill_at):
    """Let the process die before its k-th statement."""
    left = [kill_at]

    def count(statement):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    store._db.set_trace_callback(count)


class Lost(Exception):
    """Something acknowledged is not there, or is not the same."""


class Facts:
    """All that was acknowledged about one store."""

    def __init__(self):
        self.known = {}
        self.done = False

    def hear(self, words):
        kind, *rest = words
        if kind == "done":
            self.done = True
        elif kind == "ran":
            if ("record", *rest) in self.known:
                raise Lost(f"step {rest} ran again after its record was acknowledged")
        else:
            *key, value = rest
            before = self.known.setdefault((kind, *key), value)
            if before != value:
                raise Lost(f"{kind} {key} was {before} and is {value}")

    def check(self, path):
        """Compare the store with all facts."""
        with SqliteStore(path) as store:
            world = world_of(store, "check")
            for (kind, *key), value in self.known.items():
                CHECKS[kind](world, *key, value)
            if self.done:
                self._check_outcomes(world)

    def _check_outcomes(self, world):
        for (kind, key), subject in self._subjects():
            if kind == "task":
                found, expected = world.outcome(subject)["output"], [key]
            else:
                outcome = world.result(subject)
                found = (outcome or {}).get("output")
                expected = PROGRAMS[key.partition(":")[0]][1]
            if found != expected:
                raise Lost(f"{kind} {key} ended with {found}, not {expected}")
        if not world.engine.schedule().quiet:
            raise Lost("something is still due")

    def _subjects(self):
        return [
            (key, value)
            for key, value in self.known.items()
            if key[0] in ("task", "workflow")
        ]


def check_record(world, activation_id, key, output):
    with world.store.reading() as rows:
        found = {step.key: step for step in rows.journal(activation_id)}
    if key not in found or json.loads(found[key].record)["output"] != output:
        raise Lost(f"record {key} of {activation_id}")


def check_event(world, workflow_id, accepted_at):
    event_id = next(iter(_events(world, workflow_id)))
    receipt = world.send(workflow_id, "go", cloud_event(event_id, [1.0, "data"]))
    if not receipt["already_accepted"] or receipt["accepted_at"] != accepted_at:
        raise Lost(f"the event of {workflow_id}")


def _events(world, workflow_id):
    with world.store.reading() as rows:
        rows_ = rows._db.execute(
            "SELECT event_id FROM inbox WHERE workflow_id = ?", (workflow_id,)
        ).fetchall()
    if not rows_:
        raise Lost(f"the event of {workflow_id}")
    return [row[0] for row in rows_]


def check_decision(world, workflow_id, decided_at):
    decision = world.approval(workflow_id, "may")["decision"]
    if decision is None or decision["decided_at"] != decided_at:
        raise Lost(f"the decision of {workflow_id}")


CHECKS = {
    "workflow": lambda world, _, workflow_id: world.workflow(workflow_id),
    "task": lambda world, _, task_id: world.task(task_id),
    "record": check_record,
    "event": check_event,
    "decision": check_decision,
    "fork": lambda world, run, keys: [world.children(run)[key] for key in keys],
}


def live(work, life, kill_after, facts):
    """Let one child work until it is done or dead; return whether it was killed.

    ``work`` is given a ``Teller``; after ``kill_after`` seconds the child is killed.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            work(Teller(writer))
            status = 0
        except Exception:  # noqa: BLE001 # the child must end here, whatever it is
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    ear = Ear(reader, facts)
    if not ear.listen(LIMIT_SECONDS if kill_after is None else kill_after):
        os.kill(pid, signal.SIGKILL)
        if kill_after is None:
            raise Lost(f"life {life} has not ended after {LIMIT_SECONDS} s")
        ear.listen(LIMIT_SECONDS)
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise Lost(f"life {life} failed by itself; see above")
    return os.WIFSIGNALED(status)


class Ear:
    """The parent's end of the pipe."""

    def __init__(self, descriptor, facts):
        self._descriptor = descriptor
        self._facts = facts
        self._rest = b""

    def listen(self, seconds):
        """Hear what the child says; return whether it ended in time."""
        until = time.monotonic() + seconds
        while True:
            wait = max(0, until - time.monotonic())
            if not select.select([self._descriptor], [], [], wait)[0]:
                return False
            chunk = os.read(self._descriptor, 65536)
            if not chunk:
                return True
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._facts.hear(json.loads(line))


def main(argv=None):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        return run(Path(directory), options)


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(directory, options):
    rng = random.Random(options.seed)
    points = stores = 0
    while points < options.points:
        stores += 1
        path = directory / f"store-{stores}"
        facts, seed, life = Facts(), rng.randrange(1 << 30), 0
        while not facts.done:
            life += 1
            # A store is brought to its end by a life that nobody disturbs.
            spare = life > 12 or points >= options.points
            by_statement = rng.random() < 0.7
            kill_at = rng.randrange(1, 5000) if by_statement and not spare else None
            kill_after = None
            if not by_statement and not spare:
                kill_after = rng.random() * 1.5
            where = f"store {stores} (seed {seed}) life {life}"
            try:
                child = partial(work, path, seed, life, kill_at=kill_at)
                points += live(child, life, kill_after, facts)
                facts.check(path)
            except Exception as error:  # noqa: BLE001 # whatever it is, say where
                say(f"LOST at {where}: {error!r}")
                return 1
            if options.verbose:
                say(f"{where}: {len(facts.known)} facts")
    say(f"{points} kills, {stores} stores, nothing lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
