"""The reading benchmark: `make bench`. Measures the reader beside its peers and writes docs/benchmarks.md.

    .venv/bin/python benchmarks/read.py --write docs/benchmarks.md
    .venv/bin/python benchmarks/read.py --quick        a smoke test; its figures mean nothing

The exit code is 0 when everything was measured, 1 when readers disagree about a log or one fails, and 2 when the
scripts that make the logs are missing. What is owed and does not hold is told, and is no error: it may be the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import exporting
import following
import many_runs
import plan as plans
import speed
from logs import SETS, SharedMissing, check_shared, make_scan, make_sets
from measure import Quiet, ReaderFailed, WrongAnswer
from plan import Plan
from report import (
    REPOSITORY,
    Check,
    Part,
    checks_table,
    commit,
    machine,
    shown_path,
    today,
    versions,
    write_section,
)

BENCH = REPOSITORY / ".bench"
PACKAGES = ("numpy", "pandas", "tensorboard", "tensorboard-data-server", "watchfiles")


def main() -> int:
    """Measure, print, and write where asked."""
    options = _parser().parse_args()
    try:
        check_shared(options.shared)
    except SharedMissing as error:
        print(f"benchmarks/read.py: {error}", file=sys.stderr)
        return 2
    BENCH.mkdir(exist_ok=True)
    plan, measured = _plan(options), commit()
    try:
        parts, left_out = _measure(plan)
    except (WrongAnswer, ReaderFailed) as error:
        print(f"benchmarks/read.py: {error}", file=sys.stderr)
        return 1
    if commit() != measured:
        measured = f"{measured}, which became {commit()} while this ran"
    body = _body(plan, parts, left_out=left_out, command=_command(options), measured=measured, smoke=options.quick)
    print(body)
    if options.write:
        write_section(options.write, name="read", body=body)
    (BENCH / ("read_quick.json" if options.quick else "read.json")).write_text(
        json.dumps({part.title: part.samples for part in parts}, indent=1)
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="rewrite this Markdown file's section of the benchmark")
    parser.add_argument("--quick", action="store_true", help="a smoke test on small sets, one sample each")
    parser.add_argument("--repeat", type=int, default=5, help="samples of each reader")
    parser.add_argument("--slow-repeat", type=int, default=1, help="samples of EventAccumulator; 0 leaves it out")
    parser.add_argument("--slow-sets", default=",".join(SETS), help="the sets that EventAccumulator reads")
    parser.add_argument("--quiet-wait", type=float, default=30, metavar="SECS", help="wait so long for a quiet moment")
    parser.add_argument("--quiet-level", type=float, default=0.15, metavar="CORES", help="what others may use then")
    parser.add_argument(
        "--shared",
        type=Path,
        default=REPOSITORY.parent / "shared" / "bench",
        metavar="DIR",
        help="where make_logs.py and scan.c are",
    )
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    if options.quick:
        return plans.quick(BENCH, shared=options.shared)
    return plans.full(
        BENCH,
        shared=options.shared,
        quiet=Quiet(wait_secs=options.quiet_wait, level=options.quiet_level),
        repeat=options.repeat,
        slow_repeat=options.slow_repeat,
        slow_sets=tuple(options.slow_sets.split(",")),
    )


def _measure(plan: Plan) -> tuple[list[Part], list[str]]:
    """The parts, and what had to be left out."""
    _say("making the logs")
    sets = make_sets(plan.data, shared=plan.shared, scale=plan.scale)
    scan = make_scan(BENCH, shared=plan.shared)
    left_out = [] if scan else ["scan.c is left out: it is written for x86 processors."]
    for line in left_out:
        _say(line)
    parts = []
    for title, measure in (
        ("speed and memory", lambda: speed.measure(plan, sets, scan=scan)),
        ("many runs", lambda: many_runs.measure(plan)),
        ("following", lambda: following.measure(plan)),
        ("exporting", lambda: exporting.measure(plan)),
    ):
        _say(title)
        parts.append(measure())
    return parts, left_out


def _say(line: str) -> None:
    print(f"benchmarks/read.py: {line}", file=sys.stderr, flush=True)


def _command(options: argparse.Namespace) -> str:
    """The command that was given, without paths outside the repository."""
    usual = vars(_parser().parse_args([]))
    words = ["python benchmarks/read.py"]
    for name, value in vars(options).items():
        if name in ("write", "shared") or value == usual[name]:
            continue
        words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(words + ([f"--write {shown_path(options.write)}"] if options.write else []))


def _body(plan: Plan, parts: list[Part], *, left_out: list[str], command: str, measured: str, smoke: bool) -> str:
    checks = [check for part in parts for check in part.checks]
    if smoke:
        checks = [Check(check.what, check.figure) for check in checks]
    warning = ["**A smoke test on small sets: these figures mean nothing.**"] if smoke else []
    return "\n\n".join(
        [
            "## Reading",
            *warning,
            f"Measured {today()} on {machine()}; {plan.quiet.told()}.\n"
            f"Pulseboard at {measured}; {versions(*PACKAGES)}.\n"
            f"Command: `{command}`",
            *left_out,
            "### What is owed",
            f"Ratios of medians of this run. {_verdict(checks)}",
            checks_table(checks),
            *(block for part in parts for block in (f"### {part.title}", part.text)),
        ]
    )


def _verdict(checks: list[Check]) -> str:
    owed = [check for check in checks if check.holds is not None]
    failing = [check for check in owed if not check.holds]
    if not owed:
        return "Nothing is judged."
    return f"{len(failing)} of {len(owed)} do not hold." if failing else f"All {len(owed)} hold."


if __name__ == "__main__":
    sys.exit(main())
