"""Many invocations in one process: flat memory, no descriptor that stays behind.

``pytest -m soak -o faulthandler_timeout=0 --soak-invocations 1000000`` makes it as long
as wanted: a million take about five minutes.
"""

import os

import pytest

PROGRAM = """
import asyncio, os
from ledgence.worker import current_invocation, get_logger
log = get_logger("soak")
def handle(event):
    number = event["data"]["number"]
    if number % 50 == 0:
        log.info("at %d", number, extra={"attributes": {"number": number}})
    if number % 100 == 0:
        raise ValueError(f"number {number}")
    return [current_invocation().event_id, event["data"]]
"""
ASYNC = PROGRAM.replace("def handle", "async def handle").replace(
    "    if number % 50", "    await asyncio.sleep(0)\n    if number % 50", 1
)


def measure(runner):
    """Resident memory in KiB and the number of open descriptors."""
    with open(f"/proc/{runner.process.pid}/status") as status:  # noqa: PTH123 - proc
        resident = next(line for line in status if line.startswith("VmRSS:"))
    return int(resident.split()[1]), len(os.listdir(f"/proc/{runner.process.pid}/fd"))  # noqa: PTH208 - proc


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("protocol", "program"), [(2, PROGRAM), (3, ASYNC)], ids=["2", "3"]
)
def test_memory_and_descriptors_stay_flat(launch, request, protocol, program, capsys):
    count = request.config.getoption("--soak-invocations") // 2
    runner = launch(program, protocol, covered=False).ready()
    pad = "x" * 200
    marks = {}
    for number in range(1, count + 1):
        result = runner.invoke({"number": number, "pad": pad}, number, observe=True)
        assert (result["status"] == "error") == (number % 100 == 0)
        if number in (count // 4, count // 2, count):
            marks[number] = measure(runner)
        runner.logs.clear()
    (early, _), (middle, descriptors), (late, in_the_end) = marks.values()
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what it is run for
            f"\nprotocol {protocol}, {count} invocations: {marks}"
        )
    assert late - middle <= 512, marks
    assert late - early <= 1024, marks
    assert in_the_end == descriptors, marks
    runner.shut_down()
