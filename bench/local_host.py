"""Measure the local host: real runner processes on the embedded engine.

usage: python -m bench.local_host [--runs N] [--steps N] [--resumes N] [--trees N]
                                  [--children N] [--timers N] [--rounds N] [--slots N]
                                  [--file] [--directory DIR] [--json]

  start     from opening a host to its first result, and to the second
  steps     N workflows of 10 local steps each, from submission to completion
  resumes   N times: from an event to the end of the workflow that it resumes
  trees     N workflows at once, each with children, from the first to the last
  timers    N workflows that sleep: until all sleep, and until all have woken
  growth    one workflow of N activations on a file: bytes and time per activation

Times are wall-clock seconds, so another load disturbs them. Without --file the store
is in memory (but for ``growth``). Time is skipped, so that no figure contains a sleep.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import show
from ledgence.local import HostListener, LocalHost

TARGET = f"{Path(__file__).parent / 'host' / 'program.py'}:handle"
PATIENCE = 3600


def opened(path, slots):
    """Return a host, not yet entered."""
    return LocalHost(
        path,
        programs={"bench": TARGET},
        listener=HostListener(),
        slots=slots,
        wait_seconds=PATIENCE,
    )


def start(host, **data):
    """Start a workflow."""
    return host.start_workflow("bench", data, version="1")


def warm(host, slots):
    """Let every slot have its process."""
    runs = [start(host, do="steps", steps=20) for _ in range(4 * slots)]
    for run in runs:
        host.result(run).unwrap()


def measure_start(path, slots):
    """Measure a host from nothing to its first result."""
    begin = time.perf_counter()
    with opened(path, slots) as host:
        host.run_task("bench", {"do": "task"})
        first = time.perf_counter()
        host.run_task("bench", {"do": "task"})
        second = time.perf_counter()
    return {
        "ms_to_first_result": 1e3 * (first - begin),
        "ms_to_second_result": 1e3 * (second - first),
        "ms_to_close": 1e3 * (time.perf_counter() - second),
    }


def measure_steps(path, slots, runs, steps):
    """Measure workflows of local steps."""
    with opened(path, slots) as host:
        warm(host, slots)
        begin = time.perf_counter()
        started = [start(host, do="steps", steps=steps) for _ in range(runs)]
        for run in started:
            host.result(run).unwrap()
        passed = time.perf_counter() - begin
    return {
        "workflows": runs,
        "steps": steps,
        "workflows_per_second": runs / passed,
        "us_per_step": 1e6 * passed / (runs * steps),
    }


def measure_resumes(path, slots, count):
    """Measure what lies between an event and the end of its workflow."""
    taken = []
    with opened(path, slots) as host:
        warm(host, slots)
        for number in range(count):
            run = start(host, do="event")
            host.wait_until_waiting(run)
            begin = time.perf_counter()
            host.send_event(run, "go", number)
            host.result(run).unwrap()
            taken.append(1e3 * (time.perf_counter() - begin))
    taken.sort()
    return {
        "resumes": count,
        "ms_median": statistics.median(taken),
        "ms_95th": taken[min(count - 1, count * 95 // 100)],
    }


def measure_trees(path, slots, trees, children):
    """Measure many workflows with children at once."""
    with opened(path, slots) as host:
        warm(host, slots)
        begin = time.perf_counter()
        runs = [start(host, do="parent", children=children) for _ in range(trees)]
        submitted = time.perf_counter() - begin
        for run in runs:
            if host.result(run).unwrap() != children:
                raise AssertionError("a tree has another sum")
        passed = time.perf_counter() - begin
    activations = trees * (children + 2)
    return {
        "workflows": trees,
        "children_each": children,
        "seconds_to_submit": submitted,
        "seconds": passed,
        "activations_per_second": activations / passed,
    }


def measure_timers(path, slots, count):
    """Measure workflows that sleep until long after the last has begun to."""
    with opened(path, slots) as host:
        warm(host, slots)
        begin = time.perf_counter()
        runs = [start(host, do="sleeper", ms=86_400_000 + n) for n in range(count)]
        for run in runs:
            host.wait_until_waiting(run)
        asleep = time.perf_counter()
        for _ in range(100):
            host.now_ms  # noqa: B018 # what it costs to look at all timers
        looked = time.perf_counter()
        for run in runs:
            host.result(run).unwrap()
        end = time.perf_counter()
    return {
        "timers": count,
        "seconds_until_all_sleep": asleep - begin,
        "us_to_look_at_all": 1e6 * (looked - asleep) / 100,
        "seconds_until_all_woke": end - looked,
        "wake_ups_per_second": count / (end - looked),
    }


def measure_growth(path, slots, rounds):
    """Measure one long workflow on a file."""
    with opened(path, slots) as host:
        warm(host, slots)
        before = path.stat().st_size
        begin = time.perf_counter()
        host.result(start(host, do="rounds", rounds=rounds)).unwrap()
        passed = time.perf_counter() - begin
    return {
        "activations": rounds,
        "bytes_per_activation": (path.stat().st_size - before) / rounds,
        "ms_per_activation": 1e3 * passed / rounds,
    }


def main(argv=None):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--resumes", type=int, default=200)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--children", type=int, default=3)
    parser.add_argument("--timers", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--directory", type=Path, help="where files are made")
    parser.add_argument("--file", action="store_true", help="use files, not memory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    slots = options.slots
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:

        def at(name):
            return Path(directory) / name if options.file else None

        figures = {
            "start": measure_start(at("start"), slots),
            "steps": measure_steps(at("steps"), slots, options.runs, options.steps),
            "resumes": measure_resumes(at("resumes"), slots, options.resumes),
            "trees": measure_trees(at("trees"), slots, options.trees, options.children),
            "timers": measure_timers(at("timers"), slots, options.timers),
            "growth": measure_growth(Path(directory) / "growth", slots, options.rounds),
        }
    show(figures, as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
