"""tensorboard-data-server, TensorBoard's loader in Rust, run until it has loaded a log."""

from __future__ import annotations

import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import psutil

from benchmarks.harness.processes import peak_rss_mb
from benchmarks.harness.sampling import Sample, ToolFailed

# Keep every point: by default the loader keeps a sample of them.
_ALL_POINTS = "--samples-per-plugin=scalars=all,histograms=all"


def has_rust_loader() -> bool:
    """Whether tensorboard-data-server is installed."""
    return find_spec("tensorboard_data_server") is not None


def has_event_accumulator() -> bool:
    """Whether tensorboard is installed."""
    return find_spec("tensorboard") is not None


def rust_loader(path: Path) -> Sample:
    """From the start of the process until it reports that everything is loaded."""
    import tensorboard_data_server

    command = [tensorboard_data_server.server_binary(), "--logdir", str(path), "--port", "0", "--reload", "once", "-v"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, _ALL_POINTS],
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
            raise ToolFailed(f"tensorboard-data-server ended with {process.wait()} before it had loaded {path.name}")
        wall_secs = time.perf_counter() - began
        server = psutil.Process(process.pid)
        used = server.cpu_times()
        return {"load_s": wall_secs, "cpu_s": used.user + used.system, "rss_mb": peak_rss_mb(server)}
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
