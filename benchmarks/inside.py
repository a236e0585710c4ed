"""What runs inside a fresh process: each function measures one thing there and returns its figures."""

from __future__ import annotations

import sys
import time
from typing import Any

# Only what every function needs is imported above: it counts in the whole time of each process.


def main() -> None:
    """Call the function that the first argument names with the others, and print what it returns."""
    print(repr(globals()[sys.argv[1]](*sys.argv[2:])))


# ---- reading


def load(path: str) -> dict[str, Any]:
    """Pulseboard's call and nothing else, so that the whole process is the call's too."""
    import pulseboard as pb

    began = time.perf_counter()
    import pulseboard.read.log  # what the first call would import: told apart from reading

    imported = time.perf_counter()
    log = pb.read(path)
    read = time.perf_counter()
    return {
        "load_s": read - began,
        "import_s": imported - began,
        "read_s": read - imported,
        "rss_mb": _peak_rss_mb(),
        "runs": len(log),
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

    began = time.perf_counter()
    log = pb.read(path)
    series = [run.series(tag) for run in log.values() for tag in run.tags("scalar")]
    histograms = [h for run in log.values() for tag in run.tags("histogram") for h in run.histograms(tag)]
    done = time.perf_counter()
    rss_mb = _peak_rss_mb()
    return {
        "load_s": done - began,
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


def poll_growth(path: str, into: str, start: str, pieces: str) -> dict[str, Any]:
    """Milliseconds of `log.poll()` by the number of new records.

    The file starts out as the first `start` bytes of `path`. Then the records that follow there are appended
    in `pieces`, pairs of records and bytes, as a training job would have.
    """
    import json
    import os

    import pulseboard as pb

    file = os.path.join(into, "events.out.tfevents.1700000000.bench.1.0")
    took: dict[int, list[float]] = {}
    with open(path, "rb") as source, open(file, "wb", buffering=0) as target:
        target.write(source.read(int(start)))
        log = pb.read(into)
        (run,) = log.values()
        for records, size_bytes in json.loads(pieces):
            target.write(source.read(size_bytes))
            before = run.points
            began = time.perf_counter()
            log.poll()
            took.setdefault(records, []).append((time.perf_counter() - began) * 1e3)
            assert run.points == before + records, f"poll() found {run.points - before} of {records} new records"
    return {"took_ms": took}


def poll_among(directory: str, record: str) -> dict[str, Any]:
    """Milliseconds of `log.poll()` in a directory of many runs: nothing new, and one run grown by a record."""
    import pulseboard as pb

    log = pb.read(directory)
    run = next(iter(log.values()))
    file = run.files[0].path
    took: dict[str, list[float]] = {"idle": [], "one grown": [], "one grown, told where": []}
    for _ in range(10):
        for name, samples in took.items():
            before = run.points
            if name != "idle":
                with open(file, "ab") as stream:
                    stream.write(bytes.fromhex(record))
            began = time.perf_counter()
            log.poll([file] if name.endswith("where") else None)
            samples.append((time.perf_counter() - began) * 1e3)
            assert run.points == before + (name != "idle"), f"poll() missed a record ({name})"
    return {"took_ms": took}


def idle(directory: str, how: str, settle_secs: str, seconds: str, every_secs: str, record: str) -> dict[str, Any]:
    """CPU time of following a directory in which nothing happens, by file-system events or by looking.

    At the end one run grows, and the time until that is told shows that the follower was awake.
    """
    import threading

    import watchfiles

    import pulseboard as pb

    watch, watched = watchfiles.watch, threading.Event()

    def stand_in(*paths: Any, **options: Any) -> Any:
        if how == "looking":
            raise OSError("no watches left")  # what a machine without events says: the follower then looks
        watched.set()
        return watch(*paths, **options)

    watchfiles.watch = stand_in
    log = pb.read(directory)
    stop, told = threading.Event(), threading.Event()

    def listen() -> None:
        for changes in log.follow(every_secs=float(every_secs), stop=stop):
            if changes.grown:
                told.set()

    follower = threading.Thread(target=listen)
    follower.start()
    time.sleep(float(settle_secs))  # watches are set up and the first look is over: their cost is not idleness
    before = time.process_time()
    time.sleep(float(seconds))
    used = time.process_time() - before
    file = next(iter(log.values())).files[0].path
    with open(file, "ab") as stream:
        stream.write(bytes.fromhex(record))
    began = time.perf_counter()
    noticed = told.wait(40)
    noticed_s = time.perf_counter() - began
    stop.set()
    follower.join(5)
    assert noticed, "the follower never told of a run that grew"
    # Where the file system tells nothing, the follower looks without asking for events.
    return {"works": how == "looking" or watched.is_set(), "idle_cpu_s": used, "noticed_s": noticed_s}


# ---- exporting


def export_csv(path: str, output: str) -> dict[str, Any]:
    """Pulseboard's CSV of a log that is already loaded."""
    import pulseboard as pb
    from pulseboard.read import export

    runs = list(pb.read(path).values())
    picked = [(run, run.tags("scalar")) for run in runs]
    began = time.perf_counter()
    with open(output, "wb") as stream:
        rows = export.write(picked, stream, form="csv")
    return {"write_s": time.perf_counter() - began, "rows": rows}


def pandas_csv(path: str, output: str) -> dict[str, Any]:
    """pandas' CSV of the same data, already in a data frame."""
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
