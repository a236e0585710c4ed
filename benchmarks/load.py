"""Load: many connections that ask mixed questions at once, as fast as they are answered."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Told:
    """What came of it."""

    answers: int
    errors: int
    secs: float
    median_secs: float
    late_secs: float  # 99 of 100 took less


def ask_for(port: int, runs: list[str], *, secs: float, connections: int, tag: str = "train/loss") -> Told:
    """Ask the server at `port` for so long."""
    return asyncio.run(_ask(port, runs, tag, secs, connections))


async def _ask(port: int, runs: list[str], tag: str, secs: float, connections: int) -> Told:
    waits: list[float] = []
    errors = 0
    began = time.perf_counter()
    end = began + secs

    async def one(seed: int) -> None:
        nonlocal errors
        dice = random.Random(seed)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            at = time.perf_counter()
            writer.write(_question(dice, runs, tag))
            await writer.drain()
            status = await _answer(reader)
            waits.append(time.perf_counter() - at)
            errors += status != 200
        writer.close()
        await writer.wait_closed()

    for failed in await asyncio.gather(*map(one, range(connections)), return_exceptions=True):
        errors += isinstance(failed, BaseException)
    waits.sort()
    took = time.perf_counter() - began
    return Told(len(waits), errors, took, waits[len(waits) // 2], waits[int(len(waits) * 0.99)])


def _question(dice: random.Random, runs: list[str], tag: str) -> bytes:
    path = dice.choice(["status", "runs", "tags?kind=scalar", "points", "window", "window"])
    if path == "window":
        ask = {"runs": dice.sample(runs, min(len(runs), dice.randint(1, 10))), "tags": [tag], "buckets": 500}
        body = json.dumps(ask).encode()
        head = "POST /api/window HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    if path == "points":
        path = f"points?run={quote(dice.choice(runs))}&tag={quote(tag)}&limit=100"
    return f"GET /api/{path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    size = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
    await reader.readexactly(size)
    return int(lines[0].split()[1])
