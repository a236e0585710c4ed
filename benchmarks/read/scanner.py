"""c/scan.c, compiled and run: a plain C reader that only reads, as a limit that other readers are compared with."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from pathlib import Path

from benchmarks.harness.paths import BENCH
from benchmarks.harness.processes import run
from benchmarks.harness.sampling import Sample

SOURCES = Path(__file__).with_name("c")


def build_scanner() -> Path | None:
    """Compile the scanner unless it is up to date. None without gcc, or on a processor without its instructions."""
    if platform.machine() not in ("x86_64", "AMD64") or not shutil.which("gcc"):
        return None
    program = BENCH / "scan"
    changed = max(source.stat().st_mtime for source in SOURCES.iterdir())
    if not program.exists() or program.stat().st_mtime < changed:
        program.parent.mkdir(parents=True, exist_ok=True)
        command = ["gcc", "-O3", "-msse4.2", "-o", str(program), str(SOURCES / "scan.c"), "-lpthread"]
        subprocess.run(command, check=True)
    return program


def scan(program: Path, path: Path, *, threads: int) -> Sample:
    """Read a log with the scanner. One file is one piece of work for a thread."""
    output, taken = run([str(program), "--threads", str(threads), str(path)])
    found = json.loads(output.splitlines()[-1])
    # The scanner's own clock starts in main(), as the reader's starts at the call.
    return {"load_s": found["seconds"], "values": found["values"], "sum": found["sum"], **taken}
