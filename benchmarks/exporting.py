"""Exporting: `pulseboard export` to CSV beside pandas' to_csv of the same points."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from functools import partial
from pathlib import Path

from measure import Sample, WrongAnswer, fresh, interleaved, median, run
from plan import Plan
from report import Check, Part, table

# Seconds each, and they hardly differ.
REPEAT = 3


def measure(plan: Plan) -> Part:
    """Write set a as CSV in three ways."""
    path = str(plan.data / "a")
    plan.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=plan.work) as into:
        files = {name: str(Path(into, f"{name}.csv")) for name in ("command", "write", "pandas")}
        takes = {
            "command": partial(_command, path, files["command"]),
            "write": partial(fresh, "export_csv", path, files["write"]),
            "pandas": partial(fresh, "pandas_csv", path, files["pandas"]),
        }
        samples = interleaved(takes, repeat=dict.fromkeys(takes, min(plan.repeat, REPEAT)), quiet=plan.quiet)
        digests = {name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items()}
        size_mb = Path(files["pandas"]).stat().st_size / 1e6
    rows_written = samples["write"][0]["rows"]
    if digests["command"] != digests["write"]:
        raise WrongAnswer("`pulseboard export` and the library wrote different tables of set a.")
    same = digests["pandas"] == digests["write"]
    speed = {name: rows_written / median(found, "write_s") for name, found in samples.items()}
    named = {
        "write": "Pulseboard, writing alone",
        "pandas": "pandas to_csv, writing alone",
        "command": "`pulseboard export`, the whole process, loading included",
    }
    rows = [(named[n], f"{speed[n] / 1e6:.2f}", f"{speed[n] / speed['pandas']:.2f}") for n in named]
    text = "\n\n".join(
        [
            f"Set a as CSV: {rows_written:,} rows, {size_mb:.0f} MB, medians of {min(plan.repeat, REPEAT)}. "
            + ("Both write the same bytes." if same else "The two files differ in their bytes; the rows are the same."),
            table(("what", "million rows/s", "of pandas"), rows),
        ]
    )
    ratio = speed["write"] / speed["pandas"]
    return Part(
        "Exporting",
        text,
        [Check("a: CSV rows a second over pandas' to_csv", f"{ratio:.2f}")],
        samples,
    )


def _command(path: str, output: str) -> Sample:
    _, taken = run([sys.executable, "-m", "pulseboard", "export", path, "-o", output])
    return {**taken, "write_s": taken["process_s"]}
