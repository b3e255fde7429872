"""The smallest program: one event in, one value out.

ledgence-local run examples/hello/program.py:handle --data '{"name": "Ada"}'
"""

from typing import Any


def handle(event: dict[str, Any]) -> dict[str, str]:
    """Greet whoever the event names."""
    data = event["data"] or {}
    return {"greeting": f"Hello, {data.get('name', 'world')}!"}
