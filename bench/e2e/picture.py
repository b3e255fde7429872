"""The table as a picture: bars of time per operation, the released helper as 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from bench.e2e.targets import Row

COLOURS = {"native": "#2a6f97", "pure": "#a9d6e5"}
TARGET = "#e09f3e"
LABEL, CHART, BAR, GAP, TOP = 220, 540, 9, 9, 46
SMALLEST = 1 / 256  # times the released helper, on a logarithmic scale
Bars = Sequence[tuple[Row, dict[str, float | None]]]


def x_of(times: float) -> float:
    """Where a multiple of the released helper's time lies; 1 is at the right edge."""
    place = 1 - math.log2(times) / math.log2(SMALLEST)
    return LABEL + CHART * min(max(place, 0.0), 1.0)


def bars(row: Row, values: dict[str, float | None], top: int) -> list[str]:
    """One row: its name, a bar for each twin, and a mark at each target."""
    parts = [
        (
            f'<text x="{LABEL - 8}" y="{top + 2 * BAR - 4}" text-anchor="end">'
            f"{escape(row.title)}</text>"
        )
    ]
    for index, (twin, times) in enumerate(values.items()):
        if times is None:
            continue
        y = top + index * BAR
        parts.append(
            f'<rect x="{LABEL}" y="{y}" width="{x_of(times) - LABEL:.1f}" '
            f'height="{BAR - 1}" fill="{COLOURS[twin]}">'
            f"<title>{twin}: {times:.3f} times</title></rect>"
        )
        target: float | None = getattr(row, twin)
        if target is not None:
            parts.append(
                f'<rect x="{x_of(target) - 1:.1f}" y="{y - 1}" width="2" '
                f'height="{BAR + 1}" fill="{TARGET}"/>'
            )
    return parts


def legend() -> list[str]:
    """What the colours mean."""
    entries = [*COLOURS.items(), ("target, at most", TARGET)]
    parts = []
    for index, (name, colour) in enumerate(entries):
        x = LABEL + 90 * index
        parts.append(f'<rect x="{x}" y="6" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="15">{name}</text>')
    return parts


def grid(height: int) -> list[str]:
    """A line for each power of two."""
    parts = []
    for power in range(9):
        x = f"{x_of(2.0**-power):.1f}"
        label = "1" if power == 0 else f"1/{2**power}"
        ends = f'x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{height}"'
        place = f'x="{x}" y="{TOP - 12}" text-anchor="middle"'
        parts += [f'<line {ends} stroke="#ddd"/>', f"<text {place}>{label}</text>"]
    return parts


def draw(rows: Bars) -> str:
    """An SVG of all rows."""
    step = len(COLOURS) * BAR + GAP
    height, width = TOP + step * len(rows) + 10, LABEL + CHART + 20
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="11" fill="#444">'
        ),
        f'<rect width="100%" height="{height}" fill="#ffffff"/>',
        *legend(),
        *grid(height),
    ]
    for index, (row, values) in enumerate(rows):
        parts += bars(row, values, TOP + index * step)
    return "\n".join([*parts, "</svg>", ""])
