"""Measured processes: a program or a Python function run to its end, with its wall time, CPU time and memory."""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import psutil

from benchmarks.harness.paths import REPOSITORY
from benchmarks.harness.sampling import Sample, ToolFailed

# By import and not as a script: Python caches the bytecode of imported modules only.
_CALL = "import sys; from {module} import {name}; print(repr({name}(*sys.argv[1:])))"


def run(command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> tuple[bytes, Sample]:
    """Run a program to its end: its output, and its wall time and CPU time."""
    before = _children_cpu_secs()
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env)
    output, errors = process.communicate()
    wall_secs = time.perf_counter() - began
    if process.returncode:
        message = errors.decode(errors="replace")[-2000:]
        raise ToolFailed(f"{Path(command[0]).name} ended with {process.returncode}: {message}")
    return output, {"process_s": wall_secs, "cpu_s": _children_cpu_secs() - before}


def call(module: str, name: str, *arguments: str) -> Sample:
    """Call a function in a fresh Python process: the figures it returns, and what the process took."""
    command = [sys.executable, "-c", _CALL.format(module=module, name=name), *arguments]
    output, taken = run(command, cwd=REPOSITORY)
    return {**ast.literal_eval(output.decode().splitlines()[-1]), **taken}


def _children_cpu_secs() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_rss_mb(process: psutil.Process) -> float:
    """The peak memory of a running process so far."""
    # Not ru_maxrss: on Linux it includes what the parent held before the child became another program.
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return float(process.memory_info().rss) / 2**20


def warm(path: Path) -> None:
    """Read every file below `path` once, so that all readers find it in the page cache."""
    for directory, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(directory, name), "rb", buffering=0) as stream:
                while stream.read(1 << 20):
                    pass
