"""Put measured runs into a page of the documentation, and a picture beside it.

usage: python -m bench.e2e.page PAGE RUN.json ...

The runs are files of ``python -m bench.e2e --json``. What each compares is read from
it: side A is the released helper or the floor, side B is this package. Several runs of
one kind count together: the median of their ratios is shown.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from bench.e2e.picture import draw
from bench.e2e.targets import ROWS, Row

BEGIN, END = "<!-- table: python -m bench.e2e.page -->", "<!-- end of table -->"
TWINS = ("native", "pure")
FLOOR = "floor"
Runs = dict[tuple[str, str], list[dict[str, Any]]]


def kind_of(run: dict[str, Any]) -> tuple[str, str]:
    """What a run compares: a twin, or the native one with the floor; and the Python."""
    ours = run["sides"]["B"]
    twin = "native" if "native module: yes" in ours["title"] else "pure"
    if run["sides"]["A"]["title"].startswith(FLOOR):
        twin = FLOOR
    return twin, ".".join(ours["python"].split(".")[:2])


def read(paths: list[str]) -> Runs:
    """The workloads of all runs, by what they compare."""
    runs: Runs = {}
    for path in paths:
        run = json.loads(Path(path).read_text(encoding="utf-8"))
        runs.setdefault(kind_of(run), []).append(run["workloads"])
    return runs


def ratio(runs: Runs, kind: tuple[str, str], row: Row) -> float | None:
    """How long ours takes, in times of the other side."""
    found = [
        value
        for workloads in runs.get(kind, [])
        if (value := workloads.get(row.workload, {}).get("ratio", {}).get(row.figure))
    ]
    return statistics.median(found) if found else None


def absolute(runs: Runs, kind: tuple[str, str], row: Row) -> str:
    """What ours takes, in microseconds or milliseconds."""
    found = [
        workloads[row.workload]["B"][row.figure]
        for workloads in runs.get(kind, [])
        if "B" in workloads.get(row.workload, {})
    ]
    if not found:
        return ""
    value = statistics.median(found)
    if row.figure.endswith("_ms"):
        return f"{value:.0f} ms"
    return f"{value:,.0f} µs"


def spelled(value: float | None, target: float | None = None) -> str:
    """A ratio for the table; bold where it is above its target."""
    if value is None:
        return ""
    text = f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    return f"**{text}**" if target is not None and float(text) > target else text


def cells(runs: Runs, pythons: list[str], row: Row) -> list[str]:
    """One row of the table."""
    found = [row.title, absolute(runs, ("native", pythons[0]), row)]
    for twin in TWINS:
        target: float | None = getattr(row, twin)
        found += [spelled(ratio(runs, (twin, each), row), target) for each in pythons]
        found.append("" if target is None else f"{target:g}")
    found.append(spelled(ratio(runs, (FLOOR, pythons[0]), row), row.floor))
    return found


def table(runs: Runs, pythons: list[str]) -> str:
    """Markdown of all rows."""
    heads = ["workload", f"native, {pythons[0]}"]
    for twin in TWINS:
        heads += [f"{twin} {each}" for each in pythons] + ["target"]
    heads.append("floor")
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    lines += [cells(runs, pythons, row) for row in ROWS]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def update(page: Path, runs: Runs) -> None:
    """Put the table into a page, and the picture beside it."""
    pythons = sorted({version for _, version in runs})
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    text = f"{before}{BEGIN}\n\n{table(runs, pythons)}\n\n{END}{after}"
    page.write_text(text, encoding="utf-8")
    bars = [
        (row, {twin: ratio(runs, (twin, pythons[0]), row) for twin in TWINS})
        for row in ROWS
    ]
    page.with_suffix(".svg").write_text(draw(bars), encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.e2e.page")
    parser.add_argument("page", type=Path)
    parser.add_argument("runs", nargs="+", metavar="RUN.json")
    options = parser.parse_args(argv)
    update(options.page, read(options.runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
