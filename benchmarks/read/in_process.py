"""What runs in a fresh process: each function measures one thing there and returns its figures."""

from __future__ import annotations

import sys
import time
from typing import Any

# Only what every function needs is imported above: it counts towards the time of the whole process.

GIVEN_PATH = "one grown, path given"

# ---- reading


def load(path: str) -> dict[str, Any]:
    """Pulseboard's call and nothing else, so that the time of the whole process is the call's too."""
    import pulseboard as pb

    began, began_cpu = time.perf_counter(), time.process_time()
    import pulseboard.read.runs  # what the first call would import, timed apart from reading

    imported = time.perf_counter()
    runs = pb.read(path)
    read = time.perf_counter()
    return {
        "load_s": read - began,
        "load_cpu_s": time.process_time() - began_cpu,
        "import_s": imported - began,
        "read_s": read - imported,
        "rss_mb": _peak_rss_mb(),
        "runs": len(runs),
    }


def held(path: str) -> dict[str, Any]:
    """How much the columns hold after the same call."""
    import pulseboard as pb

    runs = pb.read(path).values()
    return {
        "values": sum(info.points + info.spans for run in runs for info in run.infos().values()),
        "held_bytes": sum(file.log.held_bytes for run in runs for file in run.files),
    }


def arrays(path: str) -> dict[str, Any]:
    """Pulseboard's call, then every series as NumPy arrays; histograms decoded."""
    import pulseboard as pb

    began, began_cpu = time.perf_counter(), time.process_time()
    runs = pb.read(path, arrays=True).values()
    series = [run.series(tag) for run in runs for tag in run.tags("scalar")]
    histograms = [h for run in runs for tag in run.tags("histogram") for h in run.histograms(tag)]
    done, done_cpu = time.perf_counter(), time.process_time()
    rss_mb = _peak_rss_mb()
    return {
        "load_s": done - began,
        "load_cpu_s": done_cpu - began_cpu,
        "rss_mb": rss_mb,
        "values": sum(map(len, series)) + len(histograms),
        "sum": float(sum(s.values.sum() for s in series)),
        "bucket_sum": float(sum(h.bucket_counts.sum() for h in histograms if h.bucket_counts is not None)),
    }


def accumulator(path: str) -> dict[str, Any]:
    """TensorBoard's EventAccumulator without size limits, then every series as a list."""
    import glob
    import os

    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.util import tensor_util

    files = glob.glob(os.path.join(path, "**", "*tfevents*"), recursive=True)
    unlimited = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 0)
    began = time.perf_counter()
    scalars: list[list[float]] = []
    histograms: list[list[Any]] = []
    for directory in sorted({os.path.dirname(file) for file in files}):
        run = event_accumulator.EventAccumulator(directory, size_guidance=unlimited)
        run.Reload()
        tags = run.Tags()
        scalars += [[e.value for e in run.Scalars(tag)] for tag in tags["scalars"]]
        scalars += [
            [tensor_util.make_ndarray(e.tensor_proto).item() for e in run.Tensors(tag)] for tag in tags["tensors"]
        ]
        histograms += [[e.histogram_value for e in run.Histograms(tag)] for tag in tags["histograms"]]
    done = time.perf_counter()
    return {
        "load_s": done - began,
        "rss_mb": _peak_rss_mb(),
        "values": sum(map(len, scalars)) + sum(map(len, histograms)),
        "sum": sum(map(sum, scalars)),
        "bucket_sum": sum(sum(h.bucket) for series in histograms for h in series),
    }


# ---- following


def poll_growth(path: str, directory: str, start: str, pieces: str) -> dict[str, Any]:
    """Milliseconds of `runs.poll()` by the number of new records.

    The file starts out as the first `start` bytes of `path`. Then the records that follow there are appended in
    `pieces`, pairs of records and bytes, as a training job would append them.
    """
    import json
    import os

    import pulseboard as pb

    file = os.path.join(directory, "events.out.tfevents.1700000000.bench.1.0")
    took: dict[int, list[float]] = {}
    with open(path, "rb") as source, open(file, "wb", buffering=0) as target:
        target.write(source.read(int(start)))
        runs = pb.read(directory)
        (run,) = runs.values()
        for records, size_bytes in json.loads(pieces):
            target.write(source.read(size_bytes))
            before = run.points
            began = time.perf_counter()
            runs.poll()
            took.setdefault(records, []).append((time.perf_counter() - began) * 1e3)
            assert run.points == before + records, f"poll() found {run.points - before} of {records} new records"
    return {"took_ms": took}


def poll_among(directory: str, record: str) -> dict[str, Any]:
    """Milliseconds of `runs.poll()` in a directory of many runs: nothing new, and one run grown by a record."""
    import pulseboard as pb

    runs = pb.read(directory)
    run = next(iter(runs.values()))
    file = run.files[0].path
    took: dict[str, list[float]] = {"idle": [], "one grown": [], GIVEN_PATH: []}
    for _ in range(10):
        for name, samples in took.items():
            before = run.points
            if name != "idle":
                with open(file, "ab") as stream:
                    stream.write(bytes.fromhex(record))
            began = time.perf_counter()
            runs.poll([file] if name == GIVEN_PATH else None)
            samples.append((time.perf_counter() - began) * 1e3)
            assert run.points == before + (name != "idle"), f"poll() missed a record ({name})"
    return {"took_ms": took}


def idle(directory: str, mode: str, settle_secs: str, seconds: str, every_secs: str, record: str) -> dict[str, Any]:
    """CPU time of following a directory in which nothing happens, by file-system events or by polling.

    At the end one run grows, and the time until that is reported shows that the follower was awake.
    """
    import threading

    import watchfiles

    import pulseboard as pb

    watch, watching = watchfiles.watch, threading.Event()

    def watch_or_fail(*paths: Any, **options: Any) -> Any:
        if mode == "polling":
            raise OSError("no watches left")  # what a machine without events raises: the follower then polls
        watching.set()
        return watch(*paths, **options)

    watchfiles.watch = watch_or_fail
    runs = pb.read(directory)
    stop, growth_reported = threading.Event(), threading.Event()

    def listen() -> None:
        for changes in runs.follow(every_secs=float(every_secs), stop=stop):
            if changes.grown:
                growth_reported.set()

    follower = threading.Thread(target=listen)
    follower.start()
    time.sleep(float(settle_secs))  # setting up watches and the first poll are not idle time
    before = time.process_time()
    time.sleep(float(seconds))
    used = time.process_time() - before
    file = next(iter(runs.values())).files[0].path
    with open(file, "ab") as stream:
        stream.write(bytes.fromhex(record))
    began = time.perf_counter()
    noticed = growth_reported.wait(40)
    noticed_s = time.perf_counter() - began
    stop.set()
    follower.join(5)
    assert noticed, "the follower did not report a run that grew"
    # On a file system without events the follower polls, and never calls watch().
    return {"works": mode == "polling" or watching.is_set(), "idle_cpu_s": used, "noticed_s": noticed_s}


# ---- other formats


def appended_rows(path: str, line: str) -> dict[str, Any]:
    """The CPU time of an update after one line was added to a copy of a log, the median of several."""
    import shutil
    import statistics
    import tempfile

    import pulseboard as pb

    with tempfile.TemporaryDirectory() as directory:
        copy = shutil.copy(path, directory)
        runs = pb.read(directory)
        secs = []
        for _ in range(31):
            with open(copy, "a", encoding="utf-8") as stream:
                stream.write(line)
            began = time.process_time()
            runs.poll([copy])
            secs.append(time.process_time() - began)
        (run,) = runs.values()
        return {"update_s": statistics.median(secs), "steps": max(len(run.series(tag)) for tag in run.tags())}


def other_format(path: str, peer: str) -> dict[str, Any]:
    """A log that is not an event file, with every series as arrays; and the same file with the peer, in turn."""
    import statistics

    import pulseboard as pb

    def read() -> int:
        (run,) = pb.read(path).values()
        return max(len(run.series(tag)) for tag in run.tags())

    def timed(what: Any) -> float:
        began = time.perf_counter()
        what()
        return time.perf_counter() - began

    steps = read()
    if not peer:
        return {"read_s": timed(read), "steps": steps}
    import polars

    polars.read_csv(path)
    pairs = [(timed(read), timed(lambda: polars.read_csv(path))) for _ in range(3)]
    read_s, peer_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    over = statistics.median(ours / theirs for ours, theirs in pairs)
    return {"read_s": read_s, "peer_s": peer_s, "over_peer": over, "steps": steps}


# ---- remote directories


def record_runs(directory: str, count: str) -> dict[str, Any]:
    """Record runs of one scalar each."""
    import pulseboard as pb

    for i in range(int(count)):
        with pb.init(dir=directory, run_id=f"run-{i:03}", telemetry_secs=0, report_to=["tensorboard", "json"]) as run:
            run.log({"loss": 1 / (i + 1)})
    return {}


def remote(url: str, endpoint: str, key: str, secret: str, cache: str) -> dict[str, Any]:
    """What a remote directory costs: reading it with an empty cache, and a poll that finds nothing new."""
    import os

    import pulseboard as pb

    os.environ |= {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": "us-east-1",
        "XDG_CACHE_HOME": cache,
    }
    began = time.perf_counter()
    runs = pb.read(url)
    read = time.perf_counter()
    (traffic,) = runs.traffic().values()
    found = {"requests": traffic.requests, "bytes": traffic.bytes_read, "read_s": read - began, "runs": len(runs)}
    began = time.perf_counter()
    runs.poll()
    again = {
        "requests_again": traffic.requests - found["requests"],
        "bytes_again": traffic.bytes_read - found["bytes"],
        "again_s": time.perf_counter() - began,
    }
    return found | again


# ---- exporting


def export_csv(path: str, output: str) -> dict[str, Any]:
    """Pulseboard's CSV of runs that are already loaded."""
    import pulseboard as pb
    from pulseboard.export import write as export

    selected = [(run, run.tags("scalar")) for run in pb.read(path).values()]
    began = time.perf_counter()
    with open(output, "wb") as stream:
        rows = export.write(selected, stream, format="csv")
    return {"write_s": time.perf_counter() - began, "rows": rows}


def pandas_csv(path: str, output: str) -> dict[str, Any]:
    """pandas' CSV of the same points, already in a data frame."""
    import pulseboard as pb

    frame = pb.read(path).to_pandas()
    began = time.perf_counter()
    frame.to_csv(output, index=False)
    return {"write_s": time.perf_counter() - began, "rows": len(frame)}


def _peak_rss_mb() -> float:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024
