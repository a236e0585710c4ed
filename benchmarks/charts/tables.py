"""A table of many short runs: the first one ever, the first one after a restart, and another one."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pulseboard as pb
from benchmarks.harness.report import Part, at_most, table
from pulseboard.charts.index import Index
from pulseboard.charts.local import LocalCharts
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.runs import Runs
from pulseboard.rundir.layout import RUN_FILE

_TAGS = ("train/loss", "val/loss", "val/accuracy")
_MAX_SECS = 2.0


def measure_tables(logs: Path, work: Path, runs: int, repeat: int) -> Part:
    """CPU seconds of reading the runs, of the first table and of another one, without and with an index."""
    directory = _make_runs(logs / f"{runs}_recorded_runs", runs=runs)
    cache = work / "tables-cache"
    shutil.rmtree(cache, ignore_errors=True)
    unknown = _sample(directory, cache, runs)
    known = [_sample(directory, cache, runs) for _ in range(max(repeat // 5, 2))]
    shutil.rmtree(cache)
    best = {name: min(sample[name] for sample in known) for name in unknown}
    rows = [(work, f"{unknown[work]:.2f}", f"{best[work]:.2f}", f"{1e6 * best[work] / runs:.0f}") for work in unknown]
    text = (
        f"{runs:,} runs with hyperparameters, a config and {len(_TAGS)} metrics of 20 points, in CPU seconds: "
        "the first time, and when the index knows the settings. Event files this short are always read.\n\n"
        + table(("work", "first time, s", "after a restart, s", "us per run"), rows)
    )
    check = at_most(f"the first table of {runs:,} runs after a restart, CPU seconds", best["first table"], _MAX_SECS)
    return Part("Tables", text, [check], {"unknown": unknown, "known": known})


def _sample(directory: Path, cache: Path, runs: int) -> dict[str, Any]:
    index = Index(cache)
    charts = LocalCharts(Runs(log_directories_from([str(directory)]), cache=index), index=index)
    times = [time.process_time()]
    charts.refresh()
    times.append(time.process_time())
    for _ in range(2):
        rows = charts.table(metrics=_TAGS).rows
        assert len(rows) == runs
        assert all(len(row.metrics) == len(_TAGS) for row in rows)
        times.append(time.process_time())
    index.close()
    read, first, second = (end - start for start, end in pairwise(times))
    return {"read the runs": read, "first table": first, "second table": second}


def _make_runs(directory: Path, *, runs: int) -> Path:
    """A log directory of short runs as a sweep records them: run.json with a config, hyperparameters, three metrics."""
    mark = directory / "made.json"
    if mark.is_file() and json.loads(mark.read_text(encoding="utf-8")) == {"runs": runs}:
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    with tempfile.TemporaryDirectory() as top:
        config = {"optimizer": {"lr": 1e-3, "betas": [0.9, 0.95]}, "model": {"layers": 12, "name": "gpt"}, "seed": 0}
        with pb.init(dir=top, run_id="run", config=config, telemetry_secs=0) as run:
            run.hparams({"lr": 1e-3, "layers": 12, "name": "gpt", "seed": 0})
            for step in range(20):
                run.log(dict.fromkeys(_TAGS, 1 / (step + 1)), step=step)
        recorded = Path(top) / "run"
        fields = json.loads((recorded / RUN_FILE).read_text(encoding="utf-8"))
        for number in range(runs):
            copy = directory / f"sweep_{number // 1000:02d}" / f"run_{number:05d}"
            shutil.copytree(recorded, copy)
            fields["config"]["seed"] = number
            (copy / RUN_FILE).write_text(json.dumps(fields, indent=2), encoding="utf-8")
    mark.write_text(json.dumps({"runs": runs}), encoding="utf-8")
    return directory
