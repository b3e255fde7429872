"""Measure the engine of the local host on its store, without any process.

usage: python -m bench.local_engine [--activations N] [--timers N] [--steps N]
                                    [--runs N] [--file] [--directory DIR] [--json]

  history   one workflow of N activations: the last tenth against the first
  timers    N sleeping workflows: what they cost to start, to look at, to wake
  steps     N workflows of 10 local steps each, from submission to completion

Times are processor seconds of this process, so another load disturbs them little; on
a disk each transaction waits for it in addition. Without --file the store is in
memory.
"""

import argparse
import itertools
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import show
from ledgence.local._engine import Descriptor, Engine, ManualClock, success
from ledgence.local._store import SqliteStore

SCOPE = {"tenant_id": "bench", "namespace": "bench"}
DIGEST = f"sha256:{0:064x}"


class AnyProgram:
    """A store of programs that has every program."""

    def resolve(self, program):
        """Return a descriptor."""
        return Descriptor(program, DIGEST, 1)


class Bench:
    """An engine, and a worker that lets a function decide."""

    def __init__(self, path):
        self.clock = ManualClock()
        self.store = SqliteStore(path)
        self.engine = Engine(self.store, AnyProgram(), clock=self.clock)
        self.started = 0

    def start(self, data):
        """Start a workflow."""
        self.started += 1
        request = {
            "idempotency_key": str(self.started),
            "input": {
                **SCOPE,
                "queue": "q",
                "program": {"id": "p", "version": "1"},
                "data": data,
            },
        }
        self.engine.submit_workflow(request)

    def work(self, decide):
        """Carry out one activation; return False when there is none."""
        engine = self.engine
        assignment = engine.claim(dispatch=True)
        if assignment is None:
            return False
        context = engine.activation_extension(assignment.owner)["payload"]
        body = {
            "operation_id": assignment.owner.attempt_id,
            "quiescence": "confirmed",
            "result": success(
                {
                    "v": 1,
                    "activation_id": context["activation_id"],
                    "revision": context["revision"],
                    **decide(assignment, context),
                }
            ),
        }
        engine.report(assignment, body)
        return True

    def close(self):
        """Close the store."""
        self.store.close()


def history(path, count):
    """Measure one long workflow."""
    bench = Bench(path)

    def decide(_, context):
        state = {"round": context["revision"], "text": "x" * 100}
        return {
            "kind": "continue",
            "continuation": "next",
            "state": state,
            "commands": [],
        }

    bench.start(None)
    marks = [time.process_time()]
    for number in range(1, count + 1):
        bench.clock.advance(1)
        bench.work(decide)
        if number % (count // 10) == 0:
            marks.append(time.process_time())
    bench.close()
    tenths = [after - before for before, after in itertools.pairwise(marks)]
    figures = {
        "activations": count,
        "us_per_activation": 1e6 * sum(tenths) / count,
        "last_to_first_tenth": tenths[-1] / tenths[0],
    }
    if path is not None:
        figures["bytes_per_activation"] = path.stat().st_size / count
    return figures


def timers(path, count):
    """Measure sleeping workflows."""
    bench = Bench(path)
    sleep = 1_000_000

    def decide(assignment, _):
        wait = {
            "kind": "timer",
            "key": "z",
            "delay_ms": sleep + assignment.event["data"],
        }
        return {
            "kind": "wait",
            "continuation": "end",
            "state": None,
            "commands": [],
            "wait": wait,
        }

    begin = time.process_time()
    for number in range(count):
        bench.start(number)
    while bench.work(decide):
        pass
    asleep = time.process_time()
    for _ in range(100):
        bench.engine.pump()
        bench.engine.schedule()
    looked = time.process_time()
    bench.clock.advance(sleep + count)
    woken = bench.engine.pump()
    end = time.process_time()
    bench.close()
    return {
        "timers": count,
        "woken": woken,
        "us_to_sleep": 1e6 * (asleep - begin) / count,
        "us_to_look_at_all": 1e6 * (looked - asleep) / 100,
        "us_to_wake": 1e6 * (end - looked) / count,
    }


def steps(path, runs, number):
    """Measure workflows of local steps."""
    bench = Bench(path)

    def decide(assignment, _):
        for step in range(number):
            record = {
                "key": f"step:{step}",
                "callable": "program:step",
                "input": {"n": step},
                "output": {"n": step, "text": "x" * 50},
            }
            bench.engine.runtime_request(assignment.owner, "local_step.commit", record)
        return {"kind": "complete", "output": number}

    begin, wall = time.process_time(), time.perf_counter()
    for run in range(runs):
        bench.start(run)
    while bench.work(decide):
        pass
    spent, passed = time.process_time() - begin, time.perf_counter() - wall
    bench.close()
    return {
        "workflows": runs,
        "steps": number,
        "us_per_workflow": 1e6 * spent / runs,
        "workflows_per_second": runs / passed,
    }


def main(argv=None):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--activations", type=int, default=20_000)
    parser.add_argument("--timers", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--directory", type=Path, help="where files are made")
    parser.add_argument("--file", action="store_true", help="use files, not memory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        where = Path(directory) if options.file else None
        figures = {
            "history": history(where and where / "history", options.activations),
            "timers": timers(where and where / "timers", options.timers),
            "steps": steps(where and where / "steps", options.runs, options.steps),
        }
    show(figures, as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
