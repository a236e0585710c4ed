"""Real runs that somebody has labelled: what diagnosis says of them, held against the labels.

The labels and the runs lie beside the project (../shared/corpus); without them this says so and stops.
"""

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pulseboard.core.finding import RunReport
from pulseboard.diagnose.diagnosis import diagnose

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"

# Findings that tell of what a label says.
ACCEPTED = {
    "overfitting": {"overfitting"},
    "overfitting-mild": {"overfitting", "best-checkpoint-missed"},
    "diverged": {"loss-diverged", "loss-drift-up", "loss-nan"},
    "nan": {"loss-nan"},
    "no-learning": {"loss-flat", "loss-plateau", "loss-at-ignorance", "loss-at-marginal", "eval-at-chance"},
    "plateau": {"loss-plateau", "loss-flat"},
    "spiky": {"loss-spike", "batch-outlier", "gradient-spike", "loss-level-shift", "loss-diverged"},
    "rl-collapse": {"return-collapsed"},
    "rl-no-learning": {"return-flat"},
}
# Of one point nothing can be said, so nothing should be.
QUIET = ("healthy", "healthy-kl-warning", "insufficient-data")


@dataclass(frozen=True)
class Labelled:
    """One labelled run and what was said of it."""

    label: str
    confidence: str
    screened: bool  # a simple threshold had flagged it too
    path: str
    report: RunReport | None  # None: it could not be read

    @property
    def alarms(self) -> list[str]:
        """Slugs of its warnings and critical findings."""
        return [f.slug for f in self.report.findings if f.severity != "info"] if self.report else []

    @property
    def found(self) -> bool:
        """Whether a finding of any severity tells of the label."""
        slugs = {f.slug for f in self.report.findings} if self.report else set()
        return bool(slugs & ACCEPTED.get(self.label, set()))


def labelled_runs() -> list[Labelled]:
    """Every run of labels.tsv, diagnosed; copies of others and ambiguous ones are left out."""
    if not (CORPUS / "labels.tsv").exists():
        raise SystemExit(f"There are no labelled runs here: {CORPUS / 'labels.tsv'} is missing.")
    found = []
    with (CORPUS / "labels.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if row["dup_of"] or row["label"] == "ambiguous":
                continue
            reports = diagnose(CORPUS / row["run"])
            report = max(reports, key=lambda r: (r.steps or (0, 0))[1]) if reports else None
            found.append(Labelled(row["label"], row["confidence"], row["screen"] == "yes", row["run"], report))
    return found


def table(runs: list[Labelled]) -> str:
    """The figures as Markdown, with and without the runs that a simple screen had flagged."""
    lines = ["| label | confidence | runs | found or, if healthy, quiet | of those not screened |"]
    lines.append("| --- | --- | ---: | ---: | ---: |")
    for (label, confidence), count in sorted(Counter((run.label, run.confidence) for run in runs).items()):
        group = [run for run in runs if (run.label, run.confidence) == (label, confidence)]
        right = [run for run in group if (not run.alarms if label in QUIET else run.found)]
        fresh = [run for run in group if not run.screened]
        lines.append(
            f"| {label} | {confidence} | {count} | {len(right)} | {sum(r in right for r in fresh)} of {len(fresh)} |"
        )
    return "\n".join(lines)


def wrong(runs: list[Labelled]) -> list[str]:
    """A line for each run that was not judged right."""
    lines = []
    for run in runs:
        right = not run.alarms if run.label in QUIET else run.found
        if not right:
            said = [f"{f.severity} {f.slug}: {f.summary}" for f in run.report.findings] if run.report else ["unread"]
            lines.append(f"{run.label} ({run.confidence}) {run.path[-70:]}\n    " + "\n    ".join(said[:4]))
    return lines


if __name__ == "__main__":
    everything = labelled_runs()
    print("\n".join(wrong(everything)))
    print(table(everything))
