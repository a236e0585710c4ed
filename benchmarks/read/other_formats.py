"""Logs that are not event files: a CSV table compared with polars, a text log, JSON lines."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

from benchmarks.harness.processes import call, warm
from benchmarks.harness.report import Part, at_least, at_most, table
from benchmarks.harness.sampling import WrongResult, interleaved, median
from benchmarks.read.plan import Plan
from benchmarks.read.speed import IN_PROCESS

SIZE_MB = 100.0
TARGET_OVER_POLARS = 2.0
TARGET_TEXT_MB_PER_SEC = 100.0
TARGET_UPDATE_RATIO = 1.5
_SMALL_FRAC = 0.01
_CHUNK_ROWS = 10_000

INTRODUCTION = """\
Files of {size:.0f} MB, warm page cache, medians of {repeat} processes. Each process reads the file with `pb.read` and
takes every series as NumPy arrays; for the table it also calls `polars.read_csv`, in turn, and both have read the file
once before. All run on as many threads as they choose. The CPU time of an update is that of reading one line that was
added, the median of 31 updates in a process."""

_HEADER = "step,train/loss,val/loss,lr,grad_norm,accuracy,tokens_per_sec,epoch\n"


def _csv(step: int, x: list[float]) -> str:
    return f"{step},{x[0]:.6f},{x[1]:.6f},{x[2] / 1e3:.3e},{x[3]:.4f},{x[4]:.4f},{x[5] * 1e5:.1f},{step / 1000}\n"


def _text(step: int, x: list[float]) -> str:
    time = f"2026-01-01 {step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d},123"
    metrics = f"loss {x[0]:.4f} | grad_norm {x[1]:.3f} | lr {x[2] / 1e3:.3e} | {x[3] * 1e5:,.0f} tok/s"
    return f"{time} - INFO - step {step}/9000000 | {metrics}\n"


def _json(step: int, x: list[float]) -> str:
    return f'{{"step": {step}, "train/loss": {x[0]:.6f}, "lr": {x[1] / 1e3:.3e}, "grad_norm": {x[2]:.4f}}}\n'


_LINES = {"table.csv": _csv, "train.log": _text, "metrics.jsonl": _json}


def measure(plan: Plan) -> Part:
    """Read each file."""
    directory = plan.work / f"other-formats-{plan.scale:g}"
    paths = {name: _made(directory / name, size_mb=SIZE_MB * plan.scale) for name in _LINES}
    measures = {
        name: partial(call, IN_PROCESS, "other_format", str(path), "polars" if name.endswith(".csv") else "")
        for name, (path, _) in paths.items()
    }
    for path, _ in paths.values():
        warm(path)
    samples = interleaved(measures, repeat=dict.fromkeys(measures, plan.repeat), quiet=plan.quiet)
    rows = []
    for name, (path, lines) in paths.items():
        found = samples[name]
        if any(sample["steps"] != lines for sample in found):
            raise WrongResult(f"{name} has {lines} steps, and {found[0]['steps']} were read.")
        secs, size_mb = median(found, "read_s"), path.stat().st_size / 1e6
        peer = f"{median(found, 'peer_s'):.2f}" if "peer_s" in found[0] else ""
        rows.append((name, f"{lines:,}", f"{size_mb:.0f}", f"{secs:.2f}", f"{size_mb / secs:.0f}", peer))
    updates = _updates(plan, directory, paths)
    ratio = median(samples["table.csv"], "over_peer")
    speed = paths["train.log"][0].stat().st_size / 1e6 / median(samples["train.log"], "read_s")
    checks = [
        at_most("CSV table, seconds: Pulseboard / polars.read_csv", ratio, TARGET_OVER_POLARS),
        at_least("text log, MB per second", speed, TARGET_TEXT_MB_PER_SEC, digits=0),
        *(
            at_most(
                f"{name}, CPU time of an update: this file / one of a hundredth of its size", one, TARGET_UPDATE_RATIO
            )
            for name, one in updates.items()
        ),
    ]
    text = "\n\n".join(
        [
            INTRODUCTION.format(size=SIZE_MB * plan.scale, repeat=plan.repeat),
            table(("file", "lines", "MB", "seconds", "MB/s", "polars, seconds"), rows),
        ]
    )
    return Part("Other formats", text, checks, samples)


def _updates(plan: Plan, directory: Path, paths: dict[str, tuple[Path, int]]) -> dict[str, float]:
    """For each file: the CPU time of an update, relative to that of a file of a hundredth of its size."""
    small = {name: _made(directory / "small" / name, size_mb=SIZE_MB * plan.scale * _SMALL_FRAC) for name in paths}
    measures = {
        f"{name} {size}": partial(call, IN_PROCESS, "appended_rows", str(path), _LINES[name](lines, [0.5] * 6))
        for size, files in (("small", small), ("large", paths))
        for name, (path, lines) in files.items()
    }
    samples = interleaved(measures, repeat=dict.fromkeys(measures, plan.repeat), quiet=plan.quiet)
    return {
        name: median(samples[f"{name} large"], "update_s") / median(samples[f"{name} small"], "update_s")
        for name in paths
    }


def _made(path: Path, *, size_mb: float) -> tuple[Path, int]:
    """The file, made once, and its lines of metrics."""
    count = path.with_suffix(".count")
    if not count.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        line_of, chance, lines = _LINES[path.name], random.Random(0), 0
        with path.open("w", encoding="utf-8") as stream:
            stream.write(_HEADER if path.suffix == ".csv" else "")
            while stream.tell() < size_mb * 1e6:
                steps = range(lines, lines + _CHUNK_ROWS)
                stream.write("".join(line_of(step, [chance.random() for _ in range(6)]) for step in steps))
                lines += _CHUNK_ROWS
        count.write_text(str(lines))
    return path, int(count.read_text())
