"""The table as a picture: bars of time per call, the native twin as the measure."""

from __future__ import annotations

import math
from typing import Any
from xml.sax.saxutils import escape

SHOWN = ("native", "pure", "orjson", "json")
COLOURS = {
    "native": "#2a6f97",
    "pure": "#a9d6e5",
    "orjson": "#e09f3e",
    "json": "#9e9e9e",
}
LABEL, CHART, BAR, GAP, TOP = 190, 560, 9, 12, 46
LARGEST = 64.0  # times the native twin, on a logarithmic scale


def x_of(times: float) -> float:
    """Where a multiple of the native time lies; 1/4 is at the left edge."""
    place = (math.log2(times) + 2) / (math.log2(LARGEST) + 2)
    return LABEL + CHART * min(max(place, 0.0), 1.0)


def bars(each: dict[str, Any], top: int) -> list[str]:
    """One row: its name and a bar for everyone who took part."""
    title = f"{each['path']}: {each['payload']}"
    parts = [
        (
            f'<text x="{LABEL - 8}" y="{top + 2 * BAR}" text-anchor="end">'
            f"{escape(title)}</text>"
        )
    ]
    base = each["microseconds"]["native"]
    for index, name in enumerate(
        name for name in SHOWN if name in each["microseconds"]
    ):
        times = 1.0 if name == "native" else each["microseconds"][name] / base
        width = x_of(times) - LABEL
        y = top + index * BAR
        parts.append(
            f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR - 1}" '
            f'fill="{COLOURS[name]}"><title>{name}: {times:.2f} times</title></rect>'
        )
    return parts


def draw(rows: list[dict[str, Any]]) -> str:
    """An SVG of all rows."""
    step = len(SHOWN) * BAR + GAP
    height, width = TOP + step * len(rows) + 10, LABEL + CHART + 20
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="11" fill="#444">'
        ),
        f'<rect width="100%" height="{height}" fill="#ffffff"/>',
    ]
    for index, name in enumerate(SHOWN):
        x = LABEL + 90 * index
        box = f'<rect x="{x}" y="6" width="10" height="10" fill="{COLOURS[name]}"/>'
        parts += [box, f'<text x="{x + 14}" y="15">{name}</text>']
    for power in range(-2, 7):
        x = f"{x_of(2.0**power):.1f}"
        label = f"1/{2**-power}" if power < 0 else f"{2**power}"
        ends = f'x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{height}"'
        parts.append(f'<line {ends} stroke="#ddd"/>')
        place = f'x="{x}" y="{TOP - 12}" text-anchor="middle"'
        parts.append(f"<text {place}>{label}</text>")
    for index, each in enumerate(rows):
        parts += bars(each, TOP + index * step)
    return "\n".join([*parts, "</svg>", ""])
