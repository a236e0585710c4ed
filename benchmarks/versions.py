"""Compares two checkouts of Pulseboard by CPU time: `python -m benchmarks.versions OLD_CHECKOUT [NEW_CHECKOUT]`.

Each task runs in fresh processes, old and new in turn, through the public API only. CPU time and medians make it usable
on a machine that does other work too. Both checkouts need their compiled kernel (`make native`).
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness.log_sets import make_sets
from benchmarks.harness.paths import LOGS, REPOSITORY
from benchmarks.harness.report import table, write_section
from benchmarks.harness.setting import commit, machine, today

_TASKS = {
    "import pulseboard": "import pulseboard",
    "read one run of 2,000,000 points": "import pulseboard as pb; pb.read(LOGS + '/a')",
    "read 100 runs of 40,000 points": "import pulseboard as pb; pb.read(LOGS + '/b')",
    "read 1,000 runs of 2,000 points": "import pulseboard as pb; pb.read(LOGS + '/c')",
    "the same, every series as arrays": (
        "import pulseboard as pb\n"
        "for run in pb.read(LOGS + '/c').values():\n"
        "    for tag in run.tags('scalar'): run.series(tag)"
    ),
    "log 20 scalars, 50,000 times": (
        "import pulseboard as pb\n"
        "run = pb.init(dir=OUT, run_id='r', telemetry_secs=0)\n"
        "row = {f'train/metric_{i}': 0.5 + i for i in range(20)}\n"
        "for step in range(50_000): run.log(row, step)\n"
        "run.finish()"
    ),
    "SummaryWriter.add_scalar, 200,000 times": (
        "from pulseboard import SummaryWriter\n"
        "writer = SummaryWriter(OUT)\n"
        "for step in range(200_000): writer.add_scalar('train/loss', 0.5, step)\n"
        "writer.close()"
    ),
    "histogram of 1,000,000 values, 50 times": (
        "import numpy as np, pulseboard as pb\n"
        "run = pb.init(dir=OUT, run_id='r', telemetry_secs=0)\n"
        "values = np.random.default_rng(0).normal(size=1_000_000)\n"
        "for step in range(50): run.histogram('weights', values, step=step)\n"
        "run.finish()"
    ),
    "diagnose 100 runs of 40,000 points": "import pulseboard as pb; pb.diagnose(LOGS + '/b')",
    "serve 100 runs: 200 windows of 100 curves": (
        "import json, urllib.request, pulseboard as pb\n"
        "open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open\n"
        "with pb.serve(LOGS + '/b', port=0, reload_secs=0) as server:\n"
        "    while json.load(open_url(server.url + 'api/status'))['loading']: pass\n"
        "    runs = [one['name'] for one in json.load(open_url(server.url + 'api/runs'))['runs']]\n"
        "    tag = sorted(pb.read(LOGS + '/b')[runs[0]].tags('scalar'))[0]\n"
        "    body = json.dumps({'runs': runs, 'tags': [tag], 'buckets': 1000}).encode()\n"
        "    head = {'content-type': 'application/json'}\n"
        "    for _ in range(200): open_url(urllib.request.Request(server.url + 'api/window', body, head)).read()"
    ),
}
_WRAPPER = """
import json, os, sys, time
LOGS, OUT = sys.argv[1:3]
began = time.process_time()
exec(sys.argv[3])
print(json.dumps(time.process_time() - began))
"""


def main() -> int:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the checkout to compare with")
    parser.add_argument("new", type=Path, nargs="?", default=REPOSITORY, help="default: this one")
    parser.add_argument("--repeat", type=int, default=9, metavar="N", help="processes per task and version (9)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into FILE, between its marks")
    options = parser.parse_args()
    make_sets(LOGS, scale=1.0)
    for checkout in (options.old, options.new):
        compileall.compile_dir(checkout / "src", quiet=2)  # as pip does; otherwise every process would compile
    rows = []
    for name, code in _TASKS.items():
        old, new = _interleaved(code, options.old, options.new, LOGS, repeat=options.repeat)
        ratio = statistics.median(new) / statistics.median(old)
        print(f"{ratio:6.2f}  {name}", flush=True)
        rows.append([name, f"{statistics.median(old):.3f}", f"{statistics.median(new):.3f}", f"{ratio:.2f}"])
    if options.write:
        write_section(options.write, name="versions", body=_report(rows, options))
    return 0


def _interleaved(code: str, old: Path, new: Path, logs: Path, *, repeat: int) -> tuple[list[float], list[float]]:
    """CPU seconds of both versions. One of each first, uncounted, to fill caches."""
    secs: dict[Path, list[float]] = {old: [], new: []}
    for round_ in range(repeat + 1):
        for checkout in (old, new) if round_ % 2 else (new, old):
            taken = _run(code, checkout, logs)
            if round_:
                secs[checkout].append(taken)
    return secs[old], secs[new]


def _run(code: str, checkout: Path, logs: Path) -> float:
    # Without the venv's own startup files, which may import the installed version.
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")}
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-c", _WRAPPER, str(logs), out, code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=out)
    if done.returncode:
        raise SystemExit(f"A task failed with {checkout}:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def _report(rows: list[list[str]], options: argparse.Namespace) -> str:
    old = subprocess.run(["git", "-C", options.old, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return "\n".join(
        [
            "## Two versions",
            "",
            f"Measured {today()} on {machine()}. CPU seconds: medians of {options.repeat} fresh processes each.",
            f"Old: {old.stdout.strip()}, new: {commit()}. A ratio below 1 means that the new version takes less.",
            "Command: `python -m benchmarks.versions OLD_CHECKOUT --write docs/benchmarks.md`",
            "",
            table(["task", "old", "new", "new / old"], rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
