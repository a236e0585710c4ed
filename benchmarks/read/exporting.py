"""Exporting: `pulseboard export` to CSV, compared with pandas' to_csv of the same points."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.harness.processes import call, run
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import Sample, WrongResult, interleaved, median
from benchmarks.read.plan import Plan
from benchmarks.read.speed import IN_PROCESS

# A sample takes seconds, and samples hardly differ.
MAX_REPEAT = 3


def measure(plan: Plan) -> Part:
    """Write set a as CSV in three ways."""
    path = str(plan.logs / "a")
    repeat = min(plan.repeat, MAX_REPEAT)
    with tempfile.TemporaryDirectory(dir=plan.work) as directory:
        files = {name: str(Path(directory, f"{name}.csv")) for name in ("command", "write", "pandas")}
        writers = {
            "command": partial(_export_command, path, files["command"]),
            "write": partial(call, IN_PROCESS, "export_csv", path, files["write"]),
            "pandas": partial(call, IN_PROCESS, "pandas_csv", path, files["pandas"]),
        }
        samples = interleaved(writers, repeat=dict.fromkeys(writers, repeat), quiet=plan.quiet)
        digests = {name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items()}
        size_mb = Path(files["pandas"]).stat().st_size / 1e6
    rows_written = samples["write"][0]["rows"]
    if digests["command"] != digests["write"]:
        raise WrongResult("`pulseboard export` and the library wrote different tables of set a.")
    same = digests["pandas"] == digests["write"]
    speed = {name: rows_written / median(found, "write_s") for name, found in samples.items()}
    labels = {
        "write": "Pulseboard, writing alone",
        "pandas": "pandas to_csv, writing alone",
        "command": "`pulseboard export`, the whole process, loading included",
    }
    rows = [
        (label, f"{speed[name] / 1e6:.2f}", f"{speed[name] / speed['pandas']:.2f}") for name, label in labels.items()
    ]
    text = "\n\n".join(
        [
            f"Set a as CSV: {rows_written:,} rows, {size_mb:.0f} MB, medians of {repeat}. "
            + ("Both write the same bytes." if same else "The two files differ in their bytes; the rows are the same."),
            table(("what", "million rows/s", "relative to pandas"), rows),
        ]
    )
    ratio = speed["write"] / speed["pandas"]
    checks = [Check("a: CSV rows per second, Pulseboard / pandas to_csv", f"{ratio:.2f}")]
    return Part("Exporting", text, checks, samples)


def _export_command(path: str, output: str) -> Sample:
    _, taken = run([sys.executable, "-m", "pulseboard", "export", path, "-o", output])
    return {**taken, "write_s": taken["process_s"]}
