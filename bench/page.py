"""The table as a part of the documentation, between two marks of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.picture import draw

BEGIN, END = "<!-- table: python -m bench --page -->", "<!-- end of table -->"
OTHERS = ("pure", "orjson", "json")


def table(rows: list[dict[str, Any]], machine: dict[str, str]) -> str:
    """Markdown of all rows."""
    lines = [
        f"CPython {machine['python']}, {machine['system']} {machine['machine']}.",
        "",
        "| path | value | bytes | native, µs | pure | `orjson` | `json` |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in rows:
        ratios = " | ".join(
            f"{each['ratios'][name]:.2f}" if name in each["ratios"] else ""
            for name in OTHERS
        )
        lines.append(
            f"| {each['path']} | {each['payload']} | {each['bytes']:,} | "
            f"{each['microseconds']['native']:.2f} | {ratios} |"
        )
    return "\n".join(lines)


def update(path: Path, rows: list[dict[str, Any]], machine: dict[str, str]) -> None:
    """Put the table into a page, and the picture beside it."""
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    text = f"{before}{BEGIN}\n\n{table(rows, machine)}\n\n{END}{after}"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".svg").write_text(draw(rows), encoding="utf-8")
