"""Threads that compute responses: a few per lane, shared fairly between clients, each request with a deadline.

Quick requests (lists of runs and tags) have a lane of their own, so that charts of heavy logs never delay them. In a
lane, clients take turns. Work that exceeds its deadline, or whose client has disconnected, is cancelled; a thread that
does not notice is replaced.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from pulseboard.core.cancellation import Cancelled, Token
from pulseboard.serve.http.errors import ServerBusy
from pulseboard.serve.http.request import ClientDisconnected

T = TypeVar("T")
LaneName = Literal["quick", "heavy"]

# The kernel releases the GIL while it works; beyond this number, threads only wait for each other.
_THREADS: dict[LaneName, int] = {"quick": 2, "heavy": 6}
_MAX_WAITING = 512
DEADLINE_SECS = 60.0
# Most requests are done before it is worth watching for a disconnect.
_UNWATCHED_SECS = 0.5
# How many threads may be lost to work that does not stop. After that, its lane is busy until some of it ends.
_MAX_ABANDONED = 16


class DeadlineExceeded(ServerBusy):
    """A response took too long to compute."""

    def __init__(self, secs: float) -> None:
        super().__init__(
            f"The response was not ready after {secs:g} s.", do="Request fewer runs or tags, or less smoothing."
        )


@dataclass(slots=True, eq=False)
class _Job:
    work: Callable[[], Any]
    token: Token
    loop: asyncio.AbstractEventLoop
    result: asyncio.Future[Any]
    abandoned: bool = False  # nobody waits any more, and another thread has taken the place of this one


@dataclass(slots=True, eq=False)
class _Lane:
    """Everything but `jobs` is used on the event loop only."""

    size: int
    jobs: queue.SimpleQueue[_Job | None] = field(default_factory=queue.SimpleQueue)
    threads: int = 0
    running: int = 0
    abandoned: int = 0
    waiting: dict[str, deque[asyncio.Future[None]]] = field(default_factory=dict)  # by client, in their turn

    def waiting_count(self) -> int:
        return sum(map(len, self.waiting.values()))


class Workers:
    """Runs functions on threads. All methods are called on the event loop."""

    def __init__(self, *, deadline_secs: float = DEADLINE_SECS) -> None:
        self._deadline_secs = deadline_secs
        self._lanes = {name: _Lane(size) for name, size in _THREADS.items()}
        self._running: set[_Job] = set()

    async def run(
        self,
        work: Callable[[], T],
        *,
        lane: LaneName = "heavy",
        client: str = "",
        disconnected: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """The result of `work`, which runs on a thread of the lane when it is the client's turn.

        Raises ServerBusy if too many wait, DeadlineExceeded, and ClientDisconnected once `disconnected` returns.
        """
        of_lane = self._lanes[lane]
        await self._turn(of_lane, client)
        loop = asyncio.get_running_loop()
        job = _Job(work, Token(), loop, loop.create_future())
        self._running.add(job)
        job.result.add_done_callback(lambda _: self._ended(of_lane, job))
        self._start(of_lane, job)
        try:
            result: T = await self._result(job, disconnected)
            return result
        except (asyncio.CancelledError, DeadlineExceeded, ClientDisconnected):
            job.token.cancel()
            self._abandon(of_lane, job)
            raise
        except Cancelled:
            raise ServerBusy("The server is stopping.") from None

    async def _result(self, job: _Job, disconnected: Callable[[], Awaitable[None]] | None) -> Any:
        done, _ = await asyncio.wait({job.result}, timeout=_UNWATCHED_SECS)
        if done:
            return job.result.result()
        watched = {job.result} if disconnected is None else {job.result, asyncio.ensure_future(disconnected())}
        try:
            await asyncio.wait(watched, timeout=self._deadline_secs, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for other in watched - {job.result}:
                other.cancel()
        if job.result.done():
            return job.result.result()
        if any(other.done() and not other.cancelled() for other in watched):
            raise ClientDisconnected
        raise DeadlineExceeded(self._deadline_secs)

    # ---- turns

    async def _turn(self, lane: _Lane, client: str) -> None:
        if lane.running < lane.size and not lane.waiting:
            lane.running += 1
            return
        if lane.waiting_count() >= _MAX_WAITING:
            raise ServerBusy("Server busy: too many requests are waiting.", do="Try again in a second.")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lane.waiting.setdefault(client, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._next(lane)  # it was this client's turn already
            raise

    def _next(self, lane: _Lane) -> None:
        """Give a free place to the client whose turn it is, or note that it is free."""
        while lane.waiting:
            client, turns = next(iter(lane.waiting.items()))
            turn = turns.popleft()
            del lane.waiting[client]
            if turns:
                lane.waiting[client] = turns  # at the end: the others come first
            if not turn.done():
                turn.set_result(None)
                return
        lane.running -= 1

    def _ended(self, lane: _Lane, job: _Job) -> None:
        self._running.discard(job)
        if job.abandoned:
            lane.abandoned -= 1
        else:
            self._next(lane)

    def _abandon(self, lane: _Lane, job: _Job) -> None:
        """Stop counting a job that is still running although nobody waits for it."""
        if job.result.done() or job.abandoned or lane.abandoned >= _MAX_ABANDONED:
            return
        job.abandoned = True
        lane.abandoned += 1
        lane.threads -= 1  # its thread ends with it
        self._next(lane)

    # ---- threads

    def _start(self, lane: _Lane, job: _Job) -> None:
        if lane.threads < lane.size:
            lane.threads += 1
            threading.Thread(target=_work, args=(lane.jobs,), name="pulseboard-serve", daemon=True).start()
        lane.jobs.put(job)

    def close(self) -> None:
        """Cancel everything, and let the threads end. Does not wait: they are daemons."""
        for job in list(self._running):
            job.token.cancel()
        for lane in self._lanes.values():
            for _ in range(lane.threads):
                lane.jobs.put(None)


def _work(jobs: queue.SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = job.token.run(job.work)
        except BaseException as raised:
            error = raised
        try:
            job.loop.call_soon_threadsafe(_deliver, job, value, error)
        except RuntimeError:  # the loop has ended
            return
        if job.abandoned:
            return


def _deliver(job: _Job, value: Any, error: BaseException | None) -> None:
    if job.result.done():
        return
    if error is not None:
        job.result.set_exception(error)
        job.result.exception()  # retrieved, also if nobody waits
    else:
        job.result.set_result(value)
