"""The readers that are compared: scan.c, tensorboard-data-server, EventAccumulator and Pulseboard."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import psutil
from measure import ReaderFailed, Sample, peak_rss_mb, run

# Keep every point: by default the loader keeps a sample of them.
_EVERYTHING = "--samples-per-plugin=scalars=all,histograms=all"


def scan(program: Path, path: Path, *, threads: int) -> Sample:
    """scan.c: the fastest plain reader. One file is one piece of work for a thread."""
    said, taken = run([str(program), "--threads", str(threads), str(path)])
    told = json.loads(said.splitlines()[-1])
    # Its own clock starts in main(), as ours starts at the call.
    return {"load_s": told["seconds"], "values": told["values"], "sum": told["sum"], **taken}


def rust_loader(path: Path) -> Sample:
    """tensorboard-data-server: from the start of the process until it says that all is loaded."""
    import tensorboard_data_server

    command = [tensorboard_data_server.server_binary(), "--logdir", str(path), "--port", "0", "--reload", "once", "-v"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, _EVERYTHING],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "Finished load cycle" in line:
                break
        else:
            raise ReaderFailed(f"tensorboard-data-server ended with {process.wait()} before it had loaded {path.name}")
        wall_secs = time.perf_counter() - began
        server = psutil.Process(process.pid)
        used = server.cpu_times()
        return {"load_s": wall_secs, "cpu_s": used.user + used.system, "rss_mb": peak_rss_mb(server)}
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
