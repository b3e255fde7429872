#!/usr/bin/env python3
"""Run seeded cases through both twins of the JSON profile and compare what they do.

usage: fuzz_twins.py [--cases N] [--seed S] [--jobs J]

A case is a function of its seed (tests/support/documents.py): an operation and its
arguments, built separately for each twin. Compared are the results to the last bit, or
reason, path, limit and size of a refusal. The exit status is 1 when a case differs; its
seed, its operation and both outcomes are printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ledgence.worker import _profile_c as native
from ledgence.worker import _profile_py as pure
from tests.support.documents import case, outcome

CHUNK = 2_000
SHOWN = 10


def compare(seed: int) -> tuple[str, str | None]:
    """Run one case; return what kind of outcome it had, and the difference if any."""
    operation, arguments = case(seed)
    ours = outcome(native, operation, arguments)
    operation, arguments = case(seed)
    theirs = outcome(pure, operation, arguments)
    if ours != theirs:
        return "different", (
            f"seed {seed}: {operation}\n"
            f"  native {str(ours)[:400]}\n  pure   {str(theirs)[:400]}"
        )
    detail = ours[1] if ours[0] != "ok" else "ok"
    return f"{operation} {detail}", None


def chunk(first: int, count: int) -> tuple[Counter[str], list[str]]:
    """Run ``count`` cases from a seed on."""
    kinds: Counter[str] = Counter()
    differences = []
    for seed in range(first, first + count):
        kind, difference = compare(seed)
        kinds[kind] += 1
        if difference is not None:
            differences.append(difference)
    return kinds, differences


def run(first: int, cases: int, jobs: int) -> tuple[Counter[str], list[str]]:
    """Run all cases, in ``jobs`` processes."""
    total: Counter[str] = Counter()
    differences: list[str] = []
    starts = range(first, first + cases, CHUNK)
    sizes = [min(CHUNK, first + cases - start) for start in starts]
    with ProcessPoolExecutor(jobs) as pool:
        for kinds, found in pool.map(chunk, starts, sizes):
            total += kinds
            differences += found
    return total, differences


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None, help="default: the clock")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(argv)
    seed = time.time_ns() // 1000 if options.seed is None else options.seed
    started = time.perf_counter()
    kinds, differences = run(seed, options.cases, options.jobs)
    seconds = time.perf_counter() - started
    lines = [f"{count:10d}  {kind}" for kind, count in sorted(kinds.items())]
    lines += differences[:SHOWN]
    lines.append(
        f"{sum(kinds.values())} cases from seed {seed} in {seconds:.0f} s, "
        f"{len(differences)} different"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
