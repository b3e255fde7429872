"""Prints the figures of a benchmark of the local host."""

import json


def show(figures, *, as_json):
    """Print groups of named figures."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, rows in figures.items():
        print(name)
        for row, value in rows.items():
            shown = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
            print(f"  {row:26}{shown:>14}")
