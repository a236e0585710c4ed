"""Several users of one database at the same time: how long chart requests take, through the whole server."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

USERS, PAUSE_SECS = 8, 0.5


@dataclass(frozen=True, slots=True)
class Waits:
    """What the requests of all users took, sorted."""

    secs: list[float]
    errors: int
    cpu_secs: float  # of both servers, for all of them

    def ms(self, share: float) -> float:
        """The time that this share of the requests did not exceed."""
        return 1e3 * self.secs[min(int(len(self.secs) * share), len(self.secs) - 1)]


def mixed_charts(
    url: str, runs: Sequence[str], tags: Sequence[str], *, steps: int, requests: int, database: psutil.Process
) -> Waits:
    """Start a server of the database. Each user requests a chart, looks at it for half a second, and requests the next.

    Half of the charts are of 10 runs, a quarter zoomed in, the rest smoothed, of the long run, or of 100 runs.
    """
    command = [sys.executable, "-m", "pulseboard", url, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            base = next(line for line in server.stdout if "is at" in line).split("is at ")[1].split()[0]
            _until_loaded(base, len(runs))
            return _users(base, runs, tags, steps, requests, [psutil.Process(server.pid), database])
        finally:
            server.kill()


def _until_loaded(base: str, runs: int) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        with urllib.request.urlopen(base + "api/runs", timeout=60) as response:
            if len(json.load(response)["runs"]) >= runs:
                return
        time.sleep(0.5)
    raise TimeoutError("The server did not load the runs.")


def _users(
    base: str, runs: Sequence[str], tags: Sequence[str], steps: int, requests: int, servers: Sequence[psutil.Process]
) -> Waits:
    before = sum(sum(server.cpu_times()[:2]) for server in servers)
    waits: list[float] = []
    errors: list[Exception] = []

    def user(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(requests):
            path, body = _chart(dice, runs, tags, steps)
            request = urllib.request.Request(
                base + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            began = time.perf_counter()
            try:
                with urllib.request.urlopen(request, timeout=120) as response:
                    response.read()
            except OSError as error:
                errors.append(error)
            waits.append(time.perf_counter() - began)
            time.sleep(PAUSE_SECS)

    threads = [threading.Thread(target=user, args=(seed,)) for seed in range(USERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = sum(sum(server.cpu_times()[:2]) for server in servers) - before
    return Waits(sorted(waits), len(errors), spent)


def _chart(dice: random.Random, runs: Sequence[str], tags: Sequence[str], steps: int) -> tuple[str, dict[str, object]]:
    body: dict[str, object] = {
        "runs": dice.sample(list(runs), min(10, len(runs))),
        "tags": [dice.choice(tags)],
        "buckets": 1000,
    }
    kind = dice.random()
    if kind < 0.5:
        return "api/window", body
    if kind < 0.75:
        start = dice.uniform(0, 0.8) * steps
        return "api/window", {**body, "from": start, "to": start + 0.1 * steps, "neighbors": True}
    if kind < 0.85:
        return "api/window", {**body, "smoothing": {"kind": "debiased", "weight": 0.9}}
    if kind < 0.95:
        return "api/window", {**body, "runs": ["long"]}
    return "api/window", {**body, "runs": list(runs)[:100]}
