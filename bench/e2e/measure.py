"""Rounds, slices taken in turns, and the medians over them."""

import gc
import os
import statistics
import sys
import time

from bench.e2e.runners import FAULTS, Runner, clock, watch

COLD_STARTS_PER_ROUND = 4
SLICES = 5


def percentile(ordered, fraction):
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


class Batch:
    """One side's part of a round: a new process, a short warm-up, timed slices."""

    def __init__(self, side, workload, root, scratch, seconds):
        self.workload, self.budget = workload, int(seconds * 1e9)
        self.times, self.wall, self.cpu, self.parent_cpu = [], 0, 0, 0
        self.runner = Runner(side, workload, root, scratch)
        try:
            self.runner.wait_ready()
            invocations = workload.invocations()
            frame, replies, expected = invocations[0]
            limit = clock() + self.budget // 4
            _, line = self.runner.exchange(frame, replies)
            self.runner.check(line, expected)
            for number in range(1, 200):
                if clock() > limit:
                    break
                frame, replies, _ = invocations[number % len(invocations)]
                self.runner.exchange(frame, replies)
            self.runner.collect_logs()
        except BaseException:
            self.runner.close(graceful=False)
            raise

    def run_slice(self):
        """Run for a part of the time budget; return whether all of it is used."""
        runner, invocations, times = (
            self.runner,
            self.workload.invocations(),
            self.times,
        )
        exchange, count, index = runner.exchange, len(invocations), len(times)
        parent_cpu = time.process_time_ns()
        cpu = runner.cpu_ns()
        begin = clock()
        limit = begin + min(self.budget // SLICES, self.budget - self.wall)
        while True:
            frame, replies, _ = invocations[index % count]
            taken, line = exchange(frame, replies)
            times.append(taken)
            index += 1
            if clock() >= limit:
                break
        self.wall += clock() - begin
        runner.collect_logs()
        self.cpu = None if cpu is None else self.cpu + runner.cpu_ns() - cpu
        self.parent_cpu += time.process_time_ns() - parent_cpu
        runner.check(line, invocations[(index - 1) % count][2])
        return self.wall >= self.budget

    def figures(self):
        operations = len(self.times)
        self.times.sort()
        result = {
            "operations": operations,
            "op_s": operations / (self.wall / 1e9),
            "p50_us": statistics.median(self.times) / 1e3,
            "p99_us": percentile(self.times, 0.99) / 1e3,
            "cpu_us": None if self.cpu is None else self.cpu / operations / 1e3,
            "rss_kib": self.runner.peak_kib(),
            "parent_cpu_us": self.parent_cpu / operations / 1e3,
        }
        if self.workload.logs:
            result["logs_delivered"] = self.runner.logs_seen / max(
                1, self.runner.logs_due
            )
        return result


def steady(sides, workload, root, scratch, seconds, errors):
    """One round of all sides; their slices alternate: A B A B ..."""
    batches, row = {}, {}
    active = [side for side in sides if side.label not in errors]

    def attempt(side, action):
        try:
            watch(True)
            return action()
        except FAULTS as error:
            errors[side.label] = str(error) or type(error).__name__
            if side in active:
                active.remove(side)
            return None
        finally:
            watch(False)

    try:
        for side in list(active):
            batch = attempt(side, lambda: Batch(side, workload, root, scratch, seconds))
            if batch is not None:
                batches[side.label] = batch
        while active:
            for side in list(active):
                if attempt(side, batches[side.label].run_slice):
                    active.remove(side)
        for side in sides:
            if side.label in batches and side.label not in errors:
                row[side.label] = batches[side.label].figures()
    finally:
        for label, batch in batches.items():
            batch.runner.close(graceful=label not in errors)
    return row


def cold(side, workload, root, scratch):
    """Start, wait for readiness, run one invocation, stop."""
    frame, replies, expected = workload.invocations()[0]
    runner = Runner(side, workload, root, scratch)
    clean = False
    try:
        runner.wait_ready()
        _, line = runner.exchange(frame, replies)
        first = clock() - runner.started
        runner.check(line, expected)
        figures = {
            "ready_ms": runner.ready_ns / 1e6,
            "first_ms": first / 1e6,
            "cpu_ms": None if runner.cpu_ns() is None else runner.cpu_ns() / 1e6,
            "rss_kib": runner.peak_kib(),
        }
        clean = True
    finally:
        runner.close(graceful=clean)
    return figures


def measure(sides, chosen, rounds, seconds, scratch):
    """Return the rounds of figures, and the errors, of every workload by name."""
    results = {workload.name: {"rounds": [], "errors": {}} for workload in chosen}
    roots = {}
    for index, workload in enumerate(chosen):
        roots[workload.name] = os.path.join(scratch, "program-%d" % index)
        os.mkdir(roots[workload.name])
        workload.invocations()
    gc.collect()
    gc.disable()
    started = time.monotonic()
    for number in range(rounds):
        for workload in chosen:
            entry = results[workload.name]
            if not workload.cold:
                entry["rounds"].append(
                    steady(
                        sides,
                        workload,
                        roots[workload.name],
                        scratch,
                        seconds,
                        entry["errors"],
                    )
                )
                continue
            for _ in range(COLD_STARTS_PER_ROUND):
                row = {}
                for side in sides:
                    if side.label in entry["errors"]:
                        continue
                    try:
                        watch(True)
                        row[side.label] = cold(
                            side, workload, roots[workload.name], scratch
                        )
                    except FAULTS as error:
                        entry["errors"][side.label] = str(error) or type(error).__name__
                    finally:
                        watch(False)
                entry["rounds"].append(row)
        if sys.stderr.isatty():
            print(
                "round %d of %d done, %.0f s"
                % (number + 1, rounds, time.monotonic() - started),
                file=sys.stderr,
            )
    gc.enable()
    return results


def medians(entry, labels):
    """Median figures per side and median per-round ratios B/A."""
    summary = {}
    for label in labels:
        rows = [row[label] for row in entry["rounds"] if label in row]
        if rows:
            summary[label] = {
                name: (
                    sum(row[name] for row in rows)
                    if name == "operations"
                    else None
                    if rows[0][name] is None
                    else statistics.median(row[name] for row in rows)
                )
                for name in rows[0]
            }
    if len(labels) == 2 and all(label in summary for label in labels):
        first, second = labels
        ratio = {}
        for name in summary[first]:
            if name == "operations":
                continue
            pairs = [
                row[second][name] / row[first][name]
                for row in entry["rounds"]
                if first in row
                and second in row
                and row[first].get(name)
                and row[second].get(name)
            ]
            ratio[name] = statistics.median(pairs) if pairs else None
        summary["ratio"] = ratio
    return summary
