"""The host in an event loop: the same methods, and nothing blocks."""

import asyncio

import pytest

from ledgence.local import LocalHost, RunFailed, WaitExpired
from tests.support.local_cli import ROOT
from tests.support.local_host import Heard

ORDERS = f"{ROOT}/examples/event_timeout/program.py:handle"
REFUNDS = f"{ROOT}/examples/approval/program.py:handle"
ORDER = {"order": "o-1", "total": 5}


def run(main, **options):
    async def body():
        programs = {"orders": ORDERS, "refunds": REFUNDS}
        async with LocalHost(programs=programs, listener=Heard(), **options) as host:
            await main(host)

    asyncio.run(body())


def test_all_calls_are_coroutines():
    async def main(host):
        host.stub("double", lambda n: 2 * n)
        assert await host.run_task("double", 4) == 8
        order = await host.start_workflow("orders", ORDER)
        await host.wait_until_waiting(order)
        assert [one.key for one in await host.awaited(order)] == ["payment"]
        await host.send_event(order, "payment", {"amount": 5})
        outcome = await host.result(order)
        assert outcome.unwrap()["status"] == "paid"
        assert (await host.history(order)).operation("payment").state == "event"
        refund = await host.start_workflow("refunds", {"customer": "c", "cents": 3})
        await host.decide_approval(refund, "refund", "approve")
        assert (await host.result(refund)).output == {"customer": "c", "refunded": 3}
        late = await host.start_workflow("orders", ORDER)
        before = host.now_ms
        await host.advance(86_400_000)
        assert host.now_ms == before + 86_400_000
        assert (await host.result(late)).output["status"] == "lapsed"
        gone = await host.start_workflow("orders", ORDER)
        assert await host.cancel(gone) == "cancelling"
        assert (await host.result(gone)).state == "cancelled"
        assert (await host.status(gone))["state"] == "cancelled"

    run(main)


def test_many_results_are_awaited_side_by_side():
    async def main(host):
        orders = [await host.start_workflow("orders", ORDER) for _ in range(40)]
        # More than any pool of threads would hold, and answered only afterwards.
        waits = [asyncio.ensure_future(host.result(one)) for one in orders]
        for one in orders:
            await host.send_event(one, "payment", {"amount": 5})
        outcomes = await asyncio.gather(*waits)
        assert {one.output["status"] for one in outcomes} == {"paid"}

    run(main, time="real")


def test_errors_come_through():
    async def main(host):
        host.stub("broken", ValueError("no"))
        with pytest.raises(RunFailed):
            await host.run_task("broken")
        order = await host.start_workflow("orders", ORDER)
        await host.wait_until_waiting(order)
        with pytest.raises(WaitExpired) as caught:
            await host.result(order, timeout=0.2)
        assert caught.value.awaited[0].key == "payment"

    run(main, time="real")


def test_a_cancelled_wait_leaves_nothing_behind():
    async def main(host):
        order = await host.start_workflow("orders", ORDER)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(host.result(order), 0.2)
        await host.send_event(order, "payment", {"amount": 5})
        assert (await host.result(order)).output["status"] == "paid"

    run(main, time="real")
