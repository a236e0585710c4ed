"""Foreign: the diagnosis of trainings by other frameworks, which log with their own loggers.

Logs are in DIR/runs/NAME, and what is wrong with them in DIR/truth/NAME.json.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from zoo.plan import leave_one_base_out
from zoo.scoring.collect import collect
from zoo.scoring.figures import Share, alarm_lines, figures, found, missed_lines
from zoo.scoring.matching import Case
from zoo.scoring.table import rows_in, table
from zoo.scoring.verdicts import Verdict

# (column, target). Every truth is certain, so there is one column of faults found.
COLUMNS = (
    ("trainings", ""),
    ("flagged runs right", ">= 85 %"),
    ("alarms right", ">= 85 %"),
    ("critical right", ">= 95 %"),
    ("healthy flagged", "<= 3 %"),
    ("false alarms per 10,000 logged steps", "<= 0.2"),
    ("faults found", ">= 85 %"),
    ("headlines per broken run", "<= 1.3"),
    ("green, nothing checked", "0"),
    ("right cause first, of all faulty", ">= 70 %"),
    ("of found", ""),
)


@dataclass(frozen=True)
class Truth:
    """What is known about one training."""

    name: str
    base: str
    held_out: bool
    verdict: Verdict


def truths(directory: Path, *, only: str | None = None, held_out: bool = False) -> list[Truth]:
    """The finished trainings of a directory: those of the bases that are used for tuning, or only the held-out ones."""
    found = [_truth(path) for path in sorted((directory / "truth").glob("*.json"))]
    return [one for one in found if (not only or only in one.name) and one.held_out == held_out]


def diagnosed(directory: Path, chosen: list[Truth], *, cache: Path, jobs: int = 2) -> list[tuple[Truth, Case]]:
    """Each training with its diagnosis. If a directory holds several runs, all of them are about the training."""
    folders = {f"runs/{one.name}": directory / "runs" / one.name for one in chosen}
    collected = collect(folders, cache, jobs=jobs)
    by_name = {folder.name.removeprefix("runs/"): folder for folder in collected.folders}
    pairs = []
    for one in chosen:
        runs = sorted(by_name[one.name].runs, key=lambda run: (-run.points, run.run))
        pairs.append((one, Case(tuple(runs), one.verdict)))
    return pairs


def by_base(pairs: list[tuple[Truth, Case]]) -> str:
    """The figures of each base and of all of them."""
    groups = leave_one_base_out(pairs, base_of=lambda pair: pair[0].base)
    rows = {base: cells([case for _, case in group]) for base, _, group in groups}
    return table(COLUMNS, {**rows, "all": cells([case for _, case in pairs])}).replace("| state |", "| base |", 1)


def listing(pairs: list[tuple[Truth, Case]]) -> str:
    """Every alarm, every missed fault and every wrong cause."""
    cases = [case for _, case in pairs]
    return "\n".join([*alarm_lines(cases), *missed_lines(cases), *wrong_causes(cases)])


def updated(text: str, row: str, pairs: list[tuple[Truth, Case]]) -> str:
    """The table of a document with one more row."""
    return table(COLUMNS, {**rows_in(COLUMNS, text), row: cells([case for _, case in pairs])})


def first_cause_is_right(case: Case) -> bool:
    """Whether the first cause is one that the truth allows."""
    named = case.runs[0].causes if case.runs else ()
    return bool(case.verdict and named and named[0] in case.verdict.causes)


def causes_of_all(cases: list[Case]) -> Share:
    """Faulty trainings with a correct cause first, found or not."""
    faulty = _faulty(cases)
    return Share(sum(map(first_cause_is_right, faulty)), len(faulty))


def causes_of_found(cases: list[Case]) -> Share:
    """Found faults with a correct cause first."""
    hits = [case for case in _faulty(cases) if found(case)]
    return Share(sum(map(first_cause_is_right, hits)), len(hits))


def wrong_causes(cases: list[Case]) -> list[str]:
    """One line for each faulty training whose first cause is wrong."""
    lines = []
    for case in _faulty(cases):
        if not first_cause_is_right(case) and case.verdict:
            named = ", ".join(case.runs[0].causes) if case.runs else ""
            lines.append(f"cause     {case.id}: {named or 'none'}, not {' or '.join(sorted(case.verdict.causes))}")
    return lines


def _faulty(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.verdict and case.verdict.kind == "problem"]


def cells(cases: list[Case]) -> list[str]:
    """One row of the table."""
    score = figures(cases)
    return [
        str(len(cases)),
        str(score.runs_right),
        str(score.alarms_right),
        str(score.critical_right),
        str(score.healthy_flagged),
        f"{score.false_alarm_rate:.2f} ({score.false_alarms} in {score.healthy_steps})",
        str(score.high_found),
        f"{score.headlines_per_broken_run:.2f} ({score.headlines} of {score.broken})",
        f"{score.green_unchecked.part} of {score.green_unchecked.whole}",
        str(causes_of_all(cases)),
        str(causes_of_found(cases)),
    ]


def _truth(path: Path) -> Truth:
    """Parse one file; a fault that nothing reveals counts as healthy."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    findings = frozenset(stored["findings"]) if stored["visible"] else frozenset()
    verdict = Verdict(
        run=f"runs/{stored['name']}",
        label=stored["fault"],
        confidence="high",
        onset="" if stored.get("onset_step") is None else str(stored["onset_step"]),
        findings=findings,
        causes=frozenset(stored["causes"]),
    )
    return Truth(stored["name"], stored["base"], stored["held_out"], verdict)
