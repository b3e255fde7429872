"""Measure the JSON profile: twin against twin, with other libraries as reference lines.

usage: python -m bench [--only TEXT ...] [--rounds N] [--slice MS] [--json FILE]
                       [--pyperf FILE] [--page FILE] [--peer PATH]
                       [--check] [--store]

A figure with ``x`` says how many calls of the native twin fit into one call of the
other: above 1 the native twin is faster. Every figure is the median of the ratios of
single rounds; the microseconds are medians as well, and move with the machine.

``--peer`` is a module (dotted, or the path of a .py file) that offers any of the
functions of the profile. ``--check`` fails when a ratio is below its floor in
``bench/floors.json``; ``--store`` writes the floors anew, at 0.6 of what was measured.
``--page`` puts the table into a page of the documentation and a picture beside it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyperf

from bench.page import update
from bench.paths import Case, Thunk, cases
from bench.rounds import Timing, measure
from ledgence.worker import _profile_c as native
from ledgence.worker import _profile_py as pure

FLOORS = Path(__file__).with_name("floors.json")
FLOOR = 0.6
OTHERS = ("pure", "orjson", "json", "peer")


def load_peer(name: str) -> Any:
    """Import the adapter of another package."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location("bench_peer", name)
    if spec is None or spec.loader is None:
        sys.exit(f"cannot load {name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contestants(case: Case, peer: Any) -> dict[str, Thunk]:
    """Everyone who can do this case."""
    found = {"native": case.ours(native), "pure": case.ours(pure), **case.references}
    if peer is not None:
        thunk = case.ours(peer)
        try:
            thunk()
        except AttributeError:  # the adapter lacks this function
            return found
        found["peer"] = thunk
    return found


def row(case: Case, timings: dict[str, Timing]) -> dict[str, Any]:
    """The figures of one case."""
    ours = timings["native"]
    return {
        "name": case.name,
        "path": case.path,
        "payload": case.payload,
        "bytes": case.size,
        "microseconds": {name: each.median * 1e6 for name, each in timings.items()},
        "ratios": {
            name: ours.ratio(timings[name]) for name in OTHERS if name in timings
        },
    }


def print_table(rows: Iterable[dict[str, Any]]) -> None:
    """Print one row per case, as they come."""
    titles = "".join(f"{name:>11}" for name in OTHERS)
    print(f"{'path':12}{'payload':22}{'bytes':>9}{'native us':>12}{titles}")
    for each in rows:
        ratios = "".join(
            f"{each['ratios'][name]:10.2f}x" if name in each["ratios"] else f"{'':11}"
            for name in OTHERS
        )
        print(
            f"{each['path']:12}{each['payload']:22}{each['bytes']:9}"
            f"{each['microseconds']['native']:12.2f}{ratios}",
            flush=True,
        )


def machine() -> dict[str, str]:
    """Where the figures come from."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
    }


def store_pyperf(path: str, found: dict[str, dict[str, Timing]]) -> None:
    """Keep all rounds in the format of pyperf, for its own tools."""
    benchmarks = [
        pyperf.Benchmark(
            [pyperf.Run(timing.seconds, metadata={"name": f"{case} {name}"})]
        )
        for case, timings in found.items()
        for name, timing in timings.items()
    ]
    pyperf.BenchmarkSuite(benchmarks).dump(path, replace=True)


def floors_of(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The floors that these rows give: against the pure twin and orjson."""
    return {
        each["name"]: {
            name: round(each["ratios"][name] * FLOOR, 2)
            for name in ("pure", "orjson")
            if name in each["ratios"]
        }
        for each in rows
    }


def below_floor(rows: list[dict[str, Any]]) -> list[str]:
    """Name every ratio that is too small."""
    floors = json.loads(FLOORS.read_text(encoding="utf-8"))
    return [
        f"{each['name']}: {each['ratios'][name]:.2f}x {name}, floor {floor:.2f}x"
        for each in rows
        for name, floor in floors.get(each["name"], {}).items()
        if name in each["ratios"] and each["ratios"][name] < floor
    ]


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument(
        "--only", action="append", help="cases whose name contains this"
    )
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--slice", type=float, default=4.0, help="milliseconds")
    parser.add_argument("--json", help="write the table to this file")
    parser.add_argument("--pyperf", help="write all rounds to this file")
    parser.add_argument("--page", help="write the table and a picture for this page")
    parser.add_argument("--peer", help="module or .py file of another package")
    parser.add_argument("--check", action="store_true", help="compare with the floors")
    parser.add_argument("--store", action="store_true", help="write the floors anew")
    options = parser.parse_args(argv)
    peer = load_peer(options.peer) if options.peer else None
    found: dict[str, dict[str, Timing]] = {}
    rows: list[dict[str, Any]] = []

    def measured() -> Iterable[dict[str, Any]]:
        for case in cases():
            if options.only and not any(text in case.name for text in options.only):
                continue
            timings = measure(
                contestants(case, peer), options.rounds, options.slice / 1000
            )
            found[case.name] = timings
            rows.append(row(case, timings))
            yield rows[-1]

    print_table(measured())
    if options.json:
        text = json.dumps({"machine": machine(), "rows": rows}, indent=1)
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.pyperf:
        store_pyperf(options.pyperf, found)
    if options.page:
        update(Path(options.page), rows, machine())
    if options.store:
        text = json.dumps(floors_of(rows), indent=1)
        FLOORS.write_text(text + "\n", encoding="utf-8")
    low = below_floor(rows) if options.check else []
    print("\n".join(low), end="\n" if low else "")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
