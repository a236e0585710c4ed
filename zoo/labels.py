"""Labels: the diagnosis of real runs, compared with labels given by hand.

Labels and runs are not part of the repository but next to it (../shared/corpus). Without them this part is skipped with
a message.
"""

import csv
from collections import Counter
from dataclasses import dataclass

from pulseboard.core.finding import RunReport
from pulseboard.diagnose.diagnosis import diagnose
from zoo.scoring.verdicts import ACCEPTED, NO_ALARM, SHARED

CORPUS = SHARED / "corpus"
LABELS = CORPUS / "labels.tsv"


@dataclass(frozen=True)
class LabeledRun:
    """One labeled run and its diagnosis."""

    label: str
    confidence: str
    screened: bool  # also flagged by a simple threshold
    path: str
    report: RunReport | None  # None: unreadable

    @property
    def alarms(self) -> list[str]:
        """Slugs of its warnings and critical findings."""
        return [f.slug for f in self.report.findings if f.severity != "info"] if self.report else []

    @property
    def found(self) -> bool:
        """Whether a finding of any severity matches the label."""
        slugs = {f.slug for f in self.report.findings} if self.report else set()
        return bool(slugs & ACCEPTED.get(self.label, set()))


def available() -> bool:
    """Whether the labeled runs are here; prints that they are skipped if not."""
    if not LABELS.exists():
        print(f"Skipped the labeled runs, which are not part of the repository. Missing: {LABELS}")
    return LABELS.exists()


def labeled_runs() -> list[LabeledRun]:
    """Diagnose every run of labels.tsv, except duplicates and ambiguous ones."""
    found = []
    with LABELS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if row["dup_of"] or row["label"] == "ambiguous":
                continue
            reports = diagnose(CORPUS / row["run"])
            report = max(reports, key=lambda r: (r.steps or (0, 0))[1]) if reports else None
            found.append(LabeledRun(row["label"], row["confidence"], row["screen"] == "yes", row["run"], report))
    return found


def table(runs: list[LabeledRun]) -> str:
    """The scores in Markdown, with and without the runs that a simple threshold flags."""
    lines = ["| label | confidence | runs | found or, if healthy, no alarm | of those not screened |"]
    lines.append("| --- | --- | ---: | ---: | ---: |")
    for (label, confidence), count in sorted(Counter((run.label, run.confidence) for run in runs).items()):
        group = [run for run in runs if (run.label, run.confidence) == (label, confidence)]
        right = [run for run in group if (not run.alarms if label in NO_ALARM else run.found)]
        fresh = [run for run in group if not run.screened]
        lines.append(
            f"| {label} | {confidence} | {count} | {len(right)} | {sum(r in right for r in fresh)} of {len(fresh)} |"
        )
    return "\n".join(lines)


def wrong_diagnoses(runs: list[LabeledRun]) -> list[str]:
    """One line for each run with a wrong diagnosis."""
    lines = []
    for run in runs:
        right = not run.alarms if run.label in NO_ALARM else run.found
        if not right:
            findings = run.report.findings if run.report else []
            summaries = [f"{f.severity} {f.slug}: {f.summary}" for f in findings] if run.report else ["unreadable"]
            lines.append(f"{run.label} ({run.confidence}) {run.path[-70:]}\n    " + "\n    ".join(summaries[:4]))
    return lines


if __name__ == "__main__":
    runs = labeled_runs()
    print("\n".join(wrong_diagnoses(runs)))
    print(table(runs))
