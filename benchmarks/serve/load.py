"""Load: many connections that send mixed requests at once, as fast as they are answered. Standard library only."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came of it."""

    responses: int
    errors: int
    secs: float
    median_secs: float
    p99_secs: float


def send_load(port: int, runs: list[str], *, secs: float, connections: int, tag: str = "train/loss") -> LoadResult:
    """Send requests to the server at `port` for so long."""
    return asyncio.run(_send(port, runs, tag, secs, connections))


async def _send(port: int, runs: list[str], tag: str, secs: float, connections: int) -> LoadResult:
    waits: list[float] = []
    errors = 0
    began = time.perf_counter()
    end = began + secs

    async def one_connection(seed: int) -> None:
        nonlocal errors
        dice = random.Random(seed)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            sent = time.perf_counter()
            writer.write(_request(dice, runs, tag))
            await writer.drain()
            status = await _response(reader)
            waits.append(time.perf_counter() - sent)
            errors += status != 200
        writer.close()
        await writer.wait_closed()

    for outcome in await asyncio.gather(*map(one_connection, range(connections)), return_exceptions=True):
        errors += isinstance(outcome, BaseException)
    waits.sort()
    took = time.perf_counter() - began
    return LoadResult(len(waits), errors, took, waits[len(waits) // 2], waits[int(len(waits) * 0.99)])


def _request(dice: random.Random, runs: list[str], tag: str) -> bytes:
    path = dice.choice(["status", "runs", "tags?kind=scalar", "points", "window", "window"])
    if path == "window":
        query = {"runs": dice.sample(runs, min(len(runs), dice.randint(1, 10))), "tags": [tag], "buckets": 500}
        body = json.dumps(query).encode()
        head = "POST /api/window HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    if path == "points":
        path = f"points?run={quote(dice.choice(runs))}&tag={quote(tag)}&limit=100"
    return f"GET /api/{path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


async def _response(reader: asyncio.StreamReader) -> int:
    """Read one response to its end: its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    size_bytes = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
    await reader.readexactly(size_bytes)
    return int(lines[0].split()[1])
