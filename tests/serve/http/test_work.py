"""The threads behind requests: lanes, turns, deadlines and cancellation, without a server and without a clock."""

import asyncio
import threading

import pytest

from pulseboard.core.cancellation import checkpoint
from pulseboard.serve.http.errors import ServerBusy
from pulseboard.serve.http.request import ClientDisconnected
from pulseboard.serve.http.work import DeadlineExceeded, Workers

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Blocks:
    """Work that goes on until `end` is set, or until it is cancelled if it has checkpoints."""

    def __init__(self, *, cancellable):
        self.cancellable = cancellable
        self.began, self.end, self.stopped = threading.Event(), threading.Event(), threading.Event()

    def __call__(self):
        self.began.set()
        try:
            while not self.end.wait(0.01):
                if self.cancellable:
                    checkpoint()
        finally:
            self.stopped.set()


def run(scenario, **options):
    async def main():
        workers = Workers(**options)
        try:
            await scenario(workers)
        finally:
            workers.close()

    asyncio.run(main())


async def until(event):
    while not event.is_set():
        await asyncio.sleep(0.01)


def test_quick_requests_do_not_wait_for_heavy_ones():
    blocks = [Blocks(cancellable=True) for _ in range(40)]

    async def scenario(workers):
        heavy = [asyncio.ensure_future(workers.run(work)) for work in blocks]
        await until(blocks[0].began)
        assert await workers.run(lambda: "quick", lane="quick") == "quick"
        for task in heavy:
            task.cancel()
        await asyncio.gather(*heavy, return_exceptions=True)
        await until(blocks[0].stopped)

    run(scenario)


def test_clients_take_turns():
    order = []
    first = [Blocks(cancellable=True) for _ in range(6)]

    async def scenario(workers):
        busy = [asyncio.ensure_future(workers.run(work, client="greedy")) for work in first]
        for work in first:
            await until(work.began)
        waiting = [
            asyncio.ensure_future(workers.run(lambda i=i: order.append(f"greedy {i}"), client="greedy"))
            for i in range(20)
        ]
        await asyncio.sleep(0)
        waiting.append(asyncio.ensure_future(workers.run(lambda: order.append("modest"), client="modest")))
        await asyncio.sleep(0)
        first[0].end.set()  # one place gets free
        await asyncio.gather(*waiting)
        for work in first:
            work.end.set()
        await asyncio.gather(*busy)

    run(scenario)
    assert order.index("modest") <= 1


@pytest.mark.parametrize("cancellable", [True, False])
def test_work_past_its_deadline_is_cancelled_and_frees_its_place(cancellable):
    blocks = [Blocks(cancellable=cancellable) for _ in range(6)]

    async def scenario(workers):
        results = await asyncio.gather(*(workers.run(work) for work in blocks), return_exceptions=True)
        assert [type(result) for result in results] == [DeadlineExceeded] * 6
        assert await workers.run(lambda: "next") == "next"
        for work in blocks:
            work.end.set() if not cancellable else await until(work.stopped)

    run(scenario, deadline_secs=0.05)


def test_work_stops_when_its_client_disconnects():
    work, gone = Blocks(cancellable=True), asyncio.Event()

    async def scenario(workers):
        asyncio.get_running_loop().call_later(0.05, gone.set)
        with pytest.raises(ClientDisconnected):
            await workers.run(work, disconnected=gone.wait)
        await until(work.stopped)

    run(scenario)


def test_too_many_waiting_requests_are_refused():
    work = Blocks(cancellable=True)

    async def scenario(workers):
        tasks = [asyncio.ensure_future(workers.run(work)) for _ in range(6 + 512)]
        await until(work.began)
        with pytest.raises(ServerBusy):
            await workers.run(lambda: None)
        work.end.set()
        await asyncio.gather(*tasks)

    run(scenario)


def test_errors_reach_the_one_who_waits():
    async def scenario(workers):
        with pytest.raises(KeyError):
            await workers.run(lambda: {}["missing"])

    run(scenario)
