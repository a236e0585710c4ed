"""The writing benchmark: what logging costs the training thread, beside its peers. Part of `make bench`.

    .venv/bin/python benchmarks/write.py --write docs/benchmarks.md
    .venv/bin/python benchmarks/write.py --quick        a smoke test; its figures mean nothing

The peers and the way of measuring are those of ../shared/bench/write_overhead.py. trackio, the cheapest peer, gets a
virtual environment of its own below .bench/ on the first run. Exit codes as of benchmarks/read.py.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Quiet, ReaderFailed, Sample, interleaved, median, run
from report import (
    REPOSITORY,
    Check,
    checks_table,
    commit,
    machine,
    shown_path,
    table,
    today,
    versions,
    write_section,
)

BENCH = REPOSITORY / ".bench"
HERE = Path(__file__).resolve().parent
OURS = ("pulseboard", "pulseboard_writer")
PEERS = ("torch", "tensorboardX", "jsonl", "array", "trackio")
HISTOGRAMS = ("pulseboard", "pulseboard_writer", "torch", "torch_tensor")
NAMES = {
    "pulseboard": "Pulseboard `run.log`",
    "pulseboard_writer": "Pulseboard `SummaryWriter`",
    "torch": "torch `SummaryWriter`, array",
    "torch_tensor": "torch `SummaryWriter`, tensor",
    "tensorboardX": "tensorboardX",
    "jsonl": "a JSON line a step",
    "array": "an in-memory array, lost when killed",
    "trackio": "trackio",
}


def main() -> int:
    """Measure, print, and write where asked."""
    options = _parser().parse_args()
    shared = options.shared / "write_overhead.py"
    if not shared.is_file():
        print(f"benchmarks/write.py: the peers' script is missing: {shared}", file=sys.stderr)
        return 2
    BENCH.mkdir(exist_ok=True)
    quiet = Quiet(0 if options.quick else options.quiet_wait, options.quiet_level)
    try:
        body, samples = _measure(options, shared, quiet)
    except ReaderFailed as error:
        print(f"benchmarks/write.py: {error}", file=sys.stderr)
        return 1
    print(body)
    if options.write:
        write_section(options.write, name="write", body=body)
    (BENCH / "write.json").write_text(json.dumps(samples, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="rewrite this Markdown file's section of the benchmark")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few steps, one sample, no trackio")
    parser.add_argument("--repeat", type=int, default=5, help="samples of each tool")
    parser.add_argument("--quiet-wait", type=float, default=30, metavar="SECS", help="wait so long for a quiet moment")
    parser.add_argument("--quiet-level", type=float, default=0.15, metavar="CORES", help="what others may use then")
    parser.add_argument("--shared", type=Path, default=REPOSITORY.parent / "shared" / "bench", metavar="DIR")
    return parser


def _measure(options: argparse.Namespace, shared: Path, quiet: Quiet) -> tuple[str, dict[str, list[Sample]]]:
    peers = [peer for peer in PEERS if not (options.quick and peer == "trackio")]
    pythons = {"trackio": _trackio()} if "trackio" in peers else {}
    steps, repeat = (200, 1) if options.quick else (5000, options.repeat)

    def one(tool: str, mode: str) -> Sample:
        out = Path(tempfile.mkdtemp(prefix=f"{tool}_", dir=BENCH))
        try:
            python = pythons.get(tool, sys.executable)
            command = [python, str(HERE / "write_one.py"), str(shared), tool, str(out / "log")]
            said, took = run([*command, "--mode", mode, "--steps", str(steps)], cwd=out)
        finally:
            shutil.rmtree(out, ignore_errors=True)
        return {**json.loads(said.splitlines()[-1]), **took}

    tools = [*OURS, *peers]
    scalars = interleaved(
        {tool: lambda tool=tool: one(tool, "scalars") for tool in tools},
        repeat=dict.fromkeys(tools, repeat),
        quiet=quiet,
    )
    histograms = interleaved(
        {tool: lambda tool=tool: one(tool, "histogram") for tool in HISTOGRAMS},
        repeat=dict.fromkeys(HISTOGRAMS, repeat),
        quiet=quiet,
    )
    return _body(options, scalars, histograms, quiet), {
        **{f"scalars {tool}": found for tool, found in scalars.items()},
        **{f"histogram {tool}": found for tool, found in histograms.items()},
    }


def _trackio() -> str:
    home = BENCH / "venvs" / "trackio"
    if not (home / "done").exists():
        print("Making a virtual environment for trackio …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(home / "bin" / "pip"), "install", "--quiet", "trackio", "psutil", "numpy"], check=True)
        (home / "done").touch()
    return str(home / "bin" / "python")


def _body(
    options: argparse.Namespace, scalars: dict[str, list[Sample]], histograms: dict[str, list[Sample]], quiet: Quiet
) -> str:
    cost = {tool: median(found, "caller_us_per_scalar") for tool, found in scalars.items()}
    size = {tool: median(found, "bytes_per_scalar") for tool, found in scalars.items()}
    rows = [
        (
            NAMES[tool],
            f"{cost[tool]:.3f}",
            f"{cost[tool] / cost['pulseboard']:.1f}",
            f"{median(found, 'step_us_p50'):.1f}",
            f"{median(found, 'step_us_p99'):.1f}",
            f"{size[tool]:.1f}",
            f"{int(median(found, 'stored')):,} of {int(median(found, 'scalars')):,}",
        )
        for tool, found in scalars.items()
    ]
    millis = {tool: median(found, f"{tool}_ms") for tool, found in histograms.items()}
    torch_millis = min(millis["torch"], millis["torch_tensor"])
    checks = [
        _at_least("caller's time per scalar: torch's SummaryWriter / ours", cost["torch"] / cost["pulseboard"], 100),
        *(
            [_at_least("caller's time per scalar: trackio / ours", cost["trackio"] / cost["pulseboard"], 4)]
            if "trackio" in cost
            else []
        ),
        _at_most("bytes on disk per scalar: ours / SummaryWriter's", size["pulseboard"] / size["torch"], 0.5),
        _at_least("1M-element histogram in the caller: SummaryWriter / ours", torch_millis / millis["pulseboard"], 10),
    ]
    if options.quick:
        checks = [Check(check.what, check.figure) for check in checks]
    command = ".venv/bin/python benchmarks/write.py" + (" --quick" if options.quick else "")
    command += f" --write {shown_path(options.write)}" if options.write else ""
    steps = int(median(scalars["pulseboard"], "steps"))
    headers = ("tool", "us a scalar", "times ours", "us a step, p50", "p99", "bytes a scalar", "found on disk")
    histogram_rows = [(NAMES[t], f"{ms:.2f}", f"{ms / millis['pulseboard']:.1f}") for t, ms in millis.items()]
    return f"""\
## Writing

`{command}`, {today()}, commit {commit()}. {machine()}; {versions("torch", "tensorboard", "tensorboardX", "numpy")}.
Medians of {len(scalars["pulseboard"])} samples in turn, each a fresh process of {steps:,} steps of 20 scalars;
{quiet.told()}.

{checks_table(checks)}

What the training thread pays. Pulseboard's calls are in the system's hands when they return; those of the others wait
in a queue or a buffer, which a killed job loses.

{table(headers, rows)}

A histogram of 1,000,000 float32 values, milliseconds in the caller.

{table(("tool", "ms a call", "times ours"), histogram_rows)}
"""


def _at_least(what: str, figure: float, owed: float) -> Check:
    return Check(what, f"{figure:.1f}", f">= {owed:g}", figure >= owed)


def _at_most(what: str, figure: float, owed: float) -> Check:
    return Check(what, f"{figure:.2f}", f"<= {owed:g}", figure <= owed)


if __name__ == "__main__":
    sys.exit(main())
