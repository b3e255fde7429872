#!/usr/bin/env python3
"""Run seeded cases through both twins of the JSON profile and compare what they do.

usage: fuzz_twins.py [--cases N] [--seed S] [--jobs J]

A seed gives a value or a line (tests/support/documents.py), and this a dozen cases: the
operations that take it, at its limit and next to it. Both twins get the same objects.
Compared are the results to the last bit, or reason, path, limit and size of a refusal.
The exit status is 1 when a case differs; its seed, its operation and both outcomes are
printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ledgence.worker import _profile_c as native
from ledgence.worker import _profile_py as pure
from tests.support.documents import ENCODERS, case, outcome

CHUNK = 200  # seeds
SHOWN = 10
Call = tuple[str, dict[str, Any]]


def calls(seed: int) -> Iterator[Call]:
    """Every case of a seed: its own one first."""
    operation, arguments = case(seed)
    yield operation, arguments
    if operation == "loads":
        yield from line_calls(**arguments)
    elif operation == "fit_error":
        for more in (-1, 1, 7, 100):
            limit = max(0, arguments["limit"] + more)
            yield operation, {**arguments, "limit": limit, "status": "runtime_error"}
    else:
        yield from value_calls(arguments)


def line_calls(line: bytes, *, unique: bool) -> Iterator[Call]:
    """The line with the other rule for names, cut short, and inside an array."""
    yield "loads", {"line": line, "unique": not unique}
    for part in (line[:-1], line[: len(line) // 2], line[1:]):
        yield "loads", {"line": part, "unique": unique}
    yield "loads", {"line": b" [" + line.strip() + b"\t]\n", "unique": True}


def value_calls(arguments: dict[str, Any]) -> Iterator[Call]:
    """All operations on a value, and limits around the one of the case."""
    value = arguments["value"]
    limit = arguments.get("limit", 4096)
    depth = {"max_depth": arguments.get("max_depth", 64)}
    for operation in ENCODERS:
        for more in (-1, 0, 1):
            size = max(0, limit + more)
            received = (limit + more) % 2 == 0
            named = {"value": value, "limit": size, "received": received}
            yield operation, named | depth
    yield "check_wire", {"value": value} | depth
    frame = value if isinstance(value, dict) else {"v": 1, "output": value}
    for more in (-1, 0, 1):
        named = {"value": frame, "limit": max(0, limit + more)}
        yield "encode_frame", named | depth


def chunk(first: int, count: int) -> tuple[Counter[str], list[str]]:
    """Run all cases of ``count`` seeds."""
    kinds: Counter[str] = Counter()
    differences = []
    for seed in range(first, first + count):
        for operation, arguments in calls(seed):
            ours = outcome(native, operation, arguments)
            theirs = outcome(pure, operation, arguments)
            detail = ours[1] if ours[0] != "ok" else "ok"
            kinds[f"{operation} {detail}"] += 1
            if ours != theirs:
                rest = {k: v for k, v in arguments.items() if k != "value"}
                differences.append(
                    f"seed {seed}: {operation} {str(rest)[:200]}\n"
                    f"  native {str(ours)[:400]}\n  pure   {str(theirs)[:400]}"
                )
    return kinds, differences


def run(first: int, cases: int, jobs: int) -> tuple[Counter[str], list[str], int]:
    """Run at least so many cases; return what happened and the number of seeds."""
    total: Counter[str] = Counter()
    differences: list[str] = []
    seeds = 0
    with ProcessPoolExecutor(jobs) as pool:
        while total.total() < cases:
            starts = range(first + seeds, first + seeds + CHUNK * jobs * 4, CHUNK)
            for kinds, found in pool.map(chunk, starts, [CHUNK] * len(starts)):
                total += kinds
                differences += found
            seeds += CHUNK * len(starts)
    return total, differences, seeds


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None, help="default: the clock")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(argv)
    seed = time.time_ns() // 1000 if options.seed is None else options.seed
    started = time.perf_counter()
    kinds, differences, seeds = run(seed, options.cases, options.jobs)
    seconds = time.perf_counter() - started
    lines = [f"{count:10d}  {kind}" for kind, count in sorted(kinds.items())]
    lines += differences[:SHOWN]
    lines.append(
        f"{kinds.total()} cases of {seeds} seeds from {seed} in {seconds:.0f} s, "
        f"{len(differences)} different"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
