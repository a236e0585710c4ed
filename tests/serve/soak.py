"""`make soak`: runs grow and clients send requests for ten minutes; memory and file descriptors must stay flat.

Not a test: it takes minutes. The first third is a warm-up, in which caches fill.
"""

import argparse
import itertools
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from log_directories import append, write_run
from servers import a_server, write_everything

RUNS = 50
PATHS = ("runs", "tags", "diagnosis", "hparams", "histograms?run=rich&tag=weights", "texts?run=rich&tag=notes")
MAX_GROWTH_FRAC, MAX_GROWTH_BYTES = 0.05, 24 << 20
MAX_NEW_FILES = 32


def send_requests(server, stop):
    """Every kind of request, again and again. Returns how many were answered, and how many failed."""
    answered = failed = 0
    for path in itertools.cycle(PATHS):
        if stop.is_set():
            return answered, failed
        window = {"runs": [f"run{i}" for i in range(RUNS)], "tags": ["loss"], "buckets": 200}
        for response in (server.api(path), server.api("window", window), server.api("table", {"metrics": ["loss"]})):
            answered += 1
            failed += response.status >= 500
    raise AssertionError("unreachable")


def grow(directory, stop):
    """Append points to all runs, and keep the number of points bounded by starting runs again."""
    for step in itertools.count(1):
        if stop.wait(0.2):
            return
        for i in range(RUNS):
            path = directory / f"run{i}" / "events.out.tfevents.1"
            if step % 500 == i:
                write_run(path.parent, (0, 1.0))
            else:
                append(path, (step % 500, 1.0 / step))


def main() -> int:
    """0 if memory and file descriptors stayed flat and no request failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as made:
        logs, home, stop = Path(made) / "logs", Path(made) / "home", threading.Event()
        write_everything(logs)
        for i in range(RUNS):
            write_run(logs / f"run{i}", (0, 1.0))
        with a_server(logs, home) as server, ThreadPoolExecutor(5) as threads:
            process = psutil.Process(server.process.pid)
            clients = [threads.submit(send_requests, server, stop) for _ in range(4)]
            threads.submit(grow, logs, stop)
            samples = []
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(min(5.0, seconds / 30))
                samples.append((process.memory_info().rss, process.num_fds()))
            stop.set()
            results = [client.result() for client in clients]
    warm = samples[len(samples) // 3 :]
    half = len(warm) // 2
    before, after = (max(memory for memory, _ in part) for part in (warm[:half], warm[half:]))
    files_before, files_after = (max(files for _, files in part) for part in (warm[:half], warm[half:]))
    answered, failed = (sum(numbers) for numbers in zip(*results, strict=True))
    print(
        f"{answered} responses, {failed} failed; memory {before >> 20} MiB, then {after >> 20} MiB; "
        f"{files_before} open files, then {files_after}"
    )
    flat = after <= before * (1 + MAX_GROWTH_FRAC) + MAX_GROWTH_BYTES and files_after <= files_before + MAX_NEW_FILES
    return 0 if flat and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
