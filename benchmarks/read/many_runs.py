"""Many small runs: whether time and memory grow in proportion to their number."""

from __future__ import annotations

from functools import partial

from benchmarks.harness.log_sets import SMALL_STEPS, SMALL_TAGS, make_small_runs
from benchmarks.harness.processes import call, warm
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import Sample, WrongResult, interleaved, median
from benchmarks.read.plan import Plan
from benchmarks.read.speed import IN_PROCESS

TARGET_MB = 1024.0
# The last doubling of the runs may cost this much more than twice the one before it, for noise.
SLACK = 1.25


def measure(plan: Plan) -> Part:
    """Read directories of more and more runs."""
    directories = {0: plan.empty_directory()}
    for count in plan.run_counts:
        directories[count] = make_small_runs(plan.logs, count)
        warm(directories[count])
    readers = {str(count): partial(call, IN_PROCESS, "load", str(path)) for count, path in directories.items()}
    samples = interleaved(readers, repeat=dict.fromkeys(readers, plan.repeat), quiet=plan.quiet)
    for count in plan.run_counts:
        values = call(IN_PROCESS, "held", str(directories[count]))["values"]
        found, expected = (samples[str(count)][0]["runs"], values), (count, count * SMALL_TAGS * SMALL_STEPS)
        if found != expected:
            raise WrongResult(f"Read (runs, points) {found}, expected {expected}.")

    rows = []
    for count in directories:
        took = _figures(samples, count)
        each = [(some - none) / count for some, none in zip(took, _figures(samples, 0), strict=True)] if count else None
        rows.append(
            (
                f"{count:,}",
                *(f"{figure:.3f}" for figure in took[:2]),
                f"{took[2]:.0f}",
                f"{each[1] * 1e6:.0f}" if each else "-",
                f"{each[2] * 1024:.1f}" if each else "-",
            )
        )
    text = "\n\n".join(
        [
            f"Runs of {SMALL_TAGS} tags x {SMALL_STEPS} steps, one file each. `reading` is the call without imports; "
            "the last two columns are what each run adds to a process that reads nothing.",
            table(("runs", "process s", "reading s", "peak MB", "us per run", "KB per run"), rows),
        ]
    )
    return Part("Many runs", text, _checks(plan, samples), samples)


def _figures(samples: dict[str, list[Sample]], count: int) -> list[float]:
    return [median(samples[str(count)], key) for key in ("process_s", "read_s", "rss_mb")]


def _checks(plan: Plan, samples: dict[str, list[Sample]]) -> list[Check]:
    few, some, many = plan.run_counts
    figures = {count: _figures(samples, count) for count in plan.run_counts}
    checks = []
    for quantity, i in (("reading time", 1), ("memory", 2)):
        growth = (figures[many][i] - figures[some][i]) / (figures[some][i] - figures[few][i])
        label = f"{many:,} runs: {quantity} of the last {many - some:,} / of the {some - few:,} before"
        target = f"at most {2 * SLACK:.2f} (2 is linear)"
        checks.append(Check(label, f"{growth:.2f}", target, growth <= 2 * SLACK))
    mb = figures[many][2]
    return [*checks, Check(f"{many:,} runs: peak MB", f"{mb:.0f}", f"under {TARGET_MB:.0f}", mb < TARGET_MB)]
