"""Measure a worker runner end to end, from the parent's side of its pipes.

Usage:
    python -m bench.e2e --a BOOTSTRAP [--a-python EXE] [--a-pure]
                        [--b BOOTSTRAP [--b-python EXE] [--b-pure]]
                        [--only TEXT ...] [--rounds N] [--json PATH] [--seconds S]
                        [--list]

The driver plays the parent process.  It starts

    EXE -I -S -B BOOTSTRAP --package-root DIR --handler program:handle ...

speaks the JSON-lines protocol, and times whole exchanges.  Every invocation is
sent only after the previous result has arrived, as a real parent does.

  --a, --b      path of ledgence/worker/bootstrap.py of one implementation, or
                the word "floor": a built-in runner that only moves the data
                (read, decode, call, encode, write) and checks nothing.  It
                uses orjson when the interpreter has it, else the standard
                json module.  It shows what the interpreter and the operating
                system cost by themselves.
  --a-python, --b-python
                interpreter for that side (default: this one)
  --a-pure, --b-pure
                force the pure twin on that side
  --only        workloads whose name contains TEXT (repeatable)
  --rounds      rounds of every workload (default 5); each round starts new
                processes and lets A and B take turns in short slices.  Cold
                starts run 4 times per round, also in turns.
  --seconds     measuring time for a workload, side and round (default 0.2)
  --json        write all figures to this file as well
  --list        print the workload names and exit

With two sides, every figure is a median over rounds, and each B/A column is
the median of the per-round ratios.  Below 1.00 B is better, except in the
op/s columns, where above 1.00 B is better.

  ready ms         start of the process to the last byte of its ready frame
  first result ms  start of the process to its first result
  p50, p99         first byte of an invocation to the last byte of its result
  CPU              processor time of the runner process, all its threads
  RSS              peak resident memory of the runner process

On a busy machine p99, op/s and the cold start times move a lot, p50 less, and
the CPU and RSS columns hardly at all; compare those first.  The JSON file also
holds the driver's own processor time per invocation (parent_cpu_us).

Compiled bytecode beside the sources changes cold starts; the first lines of
the output say whether a side has it.  The floor answers protocol 3 from a new
event loop that owns no operating system objects, and prints no traceback for
a failure.  It is a yardstick, not a strict limit.

The first result of every process, and one of every slice, is compared with
the expected value, so a runner that skips work is reported as failed.  The
exit status is 1 when any workload failed.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from bench.e2e.measure import measure, medians
from bench.e2e.runners import Side
from bench.e2e.workloads import workloads


def number(value, ratio=False):
    if value is None:
        return "-"
    if ratio:
        return "%.2f" % value if value < 99.5 else "%.0f" % value
    return (
        "%.0f" % value
        if value >= 1000
        else "%.1f" % value
        if value >= 100
        else "%.2f" % value
    )


def table(heading, names, columns, summaries, labels):
    shown = [
        name for name in names if any(label in summaries[name] for label in labels)
    ]
    if not shown:
        return
    header = [heading]
    for field, title, scale in columns:
        header += ["%s %s" % (label, title) for label in labels]
        if len(labels) == 2:
            header.append("B/A")
    rows = [header]
    for name in shown:
        row = [name]
        for field, title, scale in columns:
            for label in labels:
                value = summaries[name].get(label, {}).get(field)
                row.append(number(None if value is None else value * scale))
            if len(labels) == 2:
                row.append(
                    number(summaries[name].get("ratio", {}).get(field), ratio=True)
                )
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    for row in rows:
        print(
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
        )
    print()


def main():
    parser = argparse.ArgumentParser(
        description="End-to-end benchmark of a worker runner.",
        epilog="See the top of this file for the details.",
    )
    parser.add_argument("--a", metavar="BOOTSTRAP")
    parser.add_argument("--a-python", metavar="EXE", default=sys.executable)
    parser.add_argument("--b", metavar="BOOTSTRAP")
    parser.add_argument("--b-python", metavar="EXE", default=None)
    parser.add_argument("--a-pure", action="store_true")
    parser.add_argument("--b-pure", action="store_true")
    parser.add_argument("--only", metavar="TEXT", action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--json", metavar="PATH")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    chosen = [
        workload
        for workload in workloads()
        if not options.only or any(text in workload.name for text in options.only)
    ]
    if options.list:
        for workload in chosen:
            print(workload.name)
        return 0
    if not options.a:
        parser.error("--a is required")
    if not chosen:
        parser.error("no workload matches --only")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")

    with tempfile.TemporaryDirectory(prefix="runner-bench-") as scratch:
        sides = [Side("A", options.a, options.a_python, options.a_pure)]
        if options.b:
            python = options.b_python or options.a_python
            sides.append(Side("B", options.b, python, options.b_pure))
        for side in sides:
            print("%s: %s, Python %s" % (side.label, side.title, side.full_version))
        print()
        begin = time.monotonic()
        results = measure(sides, chosen, options.rounds, options.seconds, scratch)
        elapsed = time.monotonic() - begin

    labels = [side.label for side in sides]
    summaries = {name: medians(entry, labels) for name, entry in results.items()}
    cold_names = [workload.name for workload in chosen if workload.cold]
    names = [workload.name for workload in chosen if not workload.cold]
    table(
        "cold start",
        cold_names,
        [
            ("ready_ms", "ready ms", 1),
            ("first_ms", "first result ms", 1),
            ("cpu_ms", "CPU ms", 1),
            ("rss_kib", "RSS MiB", 1 / 1024),
        ],
        summaries,
        labels,
    )
    table(
        "time",
        names,
        [("p50_us", "p50 us", 1), ("p99_us", "p99 us", 1), ("op_s", "op/s", 1)],
        summaries,
        labels,
    )
    table(
        "resources",
        names,
        [("cpu_us", "CPU us", 1), ("rss_kib", "RSS MiB", 1 / 1024)],
        summaries,
        labels,
    )
    failed = False
    for name, entry in results.items():
        for label, text in entry["errors"].items():
            failed = True
            print("FAILED %s, side %s: %s" % (name, label, text))
        for label in labels:
            share = summaries[name].get(label, {}).get("logs_delivered")
            if share is not None and share < 0.995:
                print(
                    "note: %s, side %s delivered %.1f%% of its log records"
                    % (name, label, share * 100)
                )
    print("%d rounds, %.0f s" % (options.rounds, elapsed))
    if options.json:
        report = {
            "rounds": options.rounds,
            "seconds": options.seconds,
            "elapsed_s": round(elapsed, 1),
            "sides": {
                side.label: {"title": side.title, "python": side.full_version}
                for side in sides
            },
            "workloads": {
                name: {
                    **summaries[name],
                    "errors": results[name]["errors"],
                    "per_round": results[name]["rounds"],
                }
                for name in results
            },
        }
        Path(options.json).write_text(
            json.dumps(report, indent=1) + "\n", encoding="utf-8"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
