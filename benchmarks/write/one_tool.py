"""One logger measured in this interpreter, which may be another environment's: prints its figures as a line of JSON.

python -m benchmarks.write.one_tool TOOL DIRECTORY scalars|histograms STEPS
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness.tags import TAGS
from benchmarks.write.tools import TOOLS, Tool

HISTOGRAM_VALUES = 1_000_000
HISTOGRAM_CALLS = 20


def measure_scalars(tool: Tool, steps: int) -> dict[str, Any]:
    """Log `steps` steps as fast as the caller can: microseconds in the caller, bytes and scalars on disk."""
    steps = min(steps, tool.max_steps or steps)
    dice = random.Random(1)
    rows = [[dice.random() for _ in TAGS] for _ in range(steps)]
    before_bytes = _size_bytes(tool.directory)
    log, clock, spent = tool.log, time.perf_counter_ns, []
    for step in range(steps):
        began = clock()
        log(step, rows[step])
        spent.append(clock() - began)
    tool.close()
    scalars = steps * len(TAGS)
    size_bytes = _size_bytes(tool.directory) - before_bytes
    spent.sort()
    return {
        "steps": steps,
        "scalars": scalars,
        "caller_us_per_scalar": sum(spent) / 1e3 / scalars,
        "step_us_p50": spent[steps // 2] / 1e3,
        "step_us_p99": spent[int(steps * 0.99)] / 1e3,
        "bytes_per_scalar": size_bytes / scalars,
        "stored": tool.stored(),
    }


def measure_histograms(tool: Tool) -> dict[str, Any]:
    """Log a histogram of a million float32 values, again and again: milliseconds in the caller."""
    import numpy as np

    values = np.random.default_rng(0).normal(size=HISTOGRAM_VALUES).astype(np.float32)
    took = []
    for step in range(HISTOGRAM_CALLS):
        began = time.perf_counter()
        tool.histogram(values, step)
        took.append((time.perf_counter() - began) * 1e3)
    tool.close()
    return {"ms_per_call": statistics.median(took), "max_ms": max(took)}


def _size_bytes(directory: Path) -> int:
    return sum(
        os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(directory) for name in names
    )


def main() -> None:
    """Measure what the arguments name."""
    name, directory, mode, steps = sys.argv[1:]
    path = Path(directory).resolve()
    path.mkdir(parents=True)
    tool = TOOLS[name](path, list(TAGS))
    tool.setup()
    print(json.dumps(measure_scalars(tool, int(steps)) if mode == "scalars" else measure_histograms(tool)))


if __name__ == "__main__":
    main()
