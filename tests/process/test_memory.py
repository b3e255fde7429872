"""The highest memory that one large frame costs, in times of the frame."""

import json
import sys

import pytest

from ledgence.worker._profile import IMPLEMENTATION

LIMIT = 2 * 1024 * 1024
ECHO = """
def handle(event):
    return event["data"]
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the peak is read from /proc"
)


def peak_bytes(runner):
    with open(f"/proc/{runner.process.pid}/status") as status:  # noqa: PTH123 - proc
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


TEXTS = {
    "one": lambda size: "x" * size,
    "many": lambda size: [f"{number:040}" for number in range(size // 43)],
    "unicode": lambda size: "中é x" * (size // 7),
}


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_a_frame_of_2_mib_takes_a_few_times_its_size(launch, make):
    """Six with the native twin; the pure one reaches them with all but many texts."""
    runner = launch(ECHO, covered=False).ready()
    runner.output({"small": True})
    idle = peak_bytes(runner)
    data = make(LIMIT - 2048)
    size = len(json.dumps(data, ensure_ascii=False).encode())
    assert size > LIMIT * 0.9
    for number in (2, 3):
        assert runner.output(data, number) == data
    times = (peak_bytes(runner) - idle) / size
    assert 1 < times < (6 if IMPLEMENTATION == "native" else 7)
