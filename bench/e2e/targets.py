"""What the invocation path is measured against: rows of the page and their targets."""

from __future__ import annotations

from dataclasses import dataclass

CPU = "cpu_us"
READY = "ready_ms"
FIRST = "first_ms"
FLOOR = 2.0  # times the floor, for what only moves data
LARGE = ("10k", "100k", "900k")


@dataclass(frozen=True)
class Row:
    """One row of the page.

    Attributes:
        title: What is measured, for readers.
        workload: The name of its workload.
        figure: The figure that is compared.
        native: The most that the native twin may take, in times of the released
            helper; None without a target.
        pure: The same for the pure twin.
        floor: The most that the native twin may take, in times of the floor.
    """

    title: str
    workload: str
    figure: str
    native: float | None = None
    pure: float | None = None
    floor: float | None = None


def _echo() -> list[Row]:
    small = {1: (0.35, 0.5), 2: (0.2, 0.4), 3: (0.15, 0.3)}
    rows = []
    for protocol, (native, pure) in small.items():
        name = f"echo-p{protocol}-"
        rows.append(
            Row(f"echo 0.3 KB, protocol {protocol}", name + "0.3k", CPU, native, pure)
        )
        for size in LARGE:
            title = f"echo {size[:-1]} KB, protocol {protocol}"
            rows.append(Row(title, name + size, CPU, 0.2, 0.6, FLOOR))
        rows.append(Row(f"echo 2 MB, protocol {protocol}", name + "2m", CPU))
    return rows


ROWS = [
    Row("ready frame, protocol 1", "cold-p1", READY, 0.6, 0.7),
    Row("ready frame, protocol 2", "cold-p2", READY, 0.6, 0.7),
    Row("ready frame, protocol 3", "cold-p3", READY, 0.5, 0.6),
    Row("first activation", "cold-workflow", FIRST, 0.8, 0.9),
    *_echo(),
    Row("ten log records", "logs-p2-10", CPU, 0.3, 0.5),
    Row("failure at 256 bytes, protocol 1", "fail-p1-256", CPU, 0.4, 0.5),
    Row("failure at 256 bytes, protocol 3", "fail-p3-256", CPU, 0.2, 0.3),
    Row("workflow complete", "wf-complete", CPU, 0.12, 0.25),
    Row("1 local commit", "wf-local-1", CPU, 0.06, 0.12),
    Row("10 local commits", "wf-local-10", CPU, 0.03, 0.08),
    Row("100 local commits", "wf-local-100", CPU, 0.01, 0.05),
    Row("64 children", "wf-children-64", CPU, 0.01, 0.05),
    Row("resume with 250 KiB", "wf-resume-250k", CPU, 0.05, 0.3, FLOOR),
    Row("replay of 100 records", "wf-replay-100", CPU, 0.06, 0.3),
]
