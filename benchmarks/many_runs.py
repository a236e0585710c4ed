"""Many small runs: whether time and memory grow with their number, and no faster."""

from __future__ import annotations

from functools import partial

from logs import SMALL_STEPS, SMALL_TAGS, make_small_runs
from measure import Sample, WrongAnswer, fresh, interleaved, median, warm
from plan import Plan
from report import Check, Part, table

OWED_MB = 1024.0
# The last doubling of the runs may cost this much more than twice the one before it, for noise.
SLACK = 1.25


def measure(plan: Plan) -> Part:
    """Read directories of more and more runs."""
    nothing = plan.work / "nothing"
    nothing.mkdir(parents=True, exist_ok=True)
    directories = {0: nothing}
    for count in plan.run_counts:
        directories[count] = make_small_runs(plan.data, count, shared=plan.shared)
        warm(directories[count])
    takes = {str(count): partial(fresh, "load", str(path)) for count, path in directories.items()}
    samples = interleaved(takes, repeat=dict.fromkeys(takes, plan.repeat), quiet=plan.quiet)
    for count in plan.run_counts:
        values = fresh("held", str(directories[count]))["values"]
        found, expected = (samples[str(count)][0]["runs"], values), (count, count * SMALL_TAGS * SMALL_STEPS)
        if found != expected:
            raise WrongAnswer(f"{found} runs and points were read, and {expected} were made.")

    rows = []
    for count in directories:
        took = [median(samples[str(count)], key) for key in ("process_s", "read_s", "rss_mb")]
        each = [(now - none) / count for now, none in zip(took, _at(samples, 0), strict=True)] if count else None
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
            table(("runs", "process s", "reading s", "peak MB", "us a run", "KB a run"), rows),
        ]
    )
    return Part("Many runs", text, _checks(plan, samples), samples)


def _at(samples: dict[str, list[Sample]], count: int) -> list[float]:
    return [median(samples[str(count)], key) for key in ("process_s", "read_s", "rss_mb")]


def _checks(plan: Plan, samples: dict[str, list[Sample]]) -> list[Check]:
    few, some, many = (_at(samples, count) for count in plan.run_counts)
    checks = []
    for what, i in (("reading time", 1), ("memory", 2)):
        growth = (many[i] - some[i]) / (some[i] - few[i])
        checks.append(
            Check(
                f"{plan.run_counts[-1]:,} runs: {what} of the last {plan.run_counts[-1] - plan.run_counts[-2]:,} "
                f"over that of the {plan.run_counts[-2] - plan.run_counts[-3]:,} before",
                f"{growth:.2f}",
                f"at most {2 * SLACK:.2f} (2 is linear)",
                growth <= 2 * SLACK,
            )
        )
    mb = many[2]
    checks.append(Check(f"{plan.run_counts[-1]:,} runs: peak MB", f"{mb:.0f}", f"under {OWED_MB:.0f}", mb < OWED_MB))
    return checks
