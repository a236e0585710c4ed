"""Verdicts: what is wrong with published runs, judged from their curves, and the findings that say so.

Labels come from three files: ../shared/wild/labels.tsv and ../shared/corpus/labels.tsv, which are not part of the
repository, and zoo/verdicts.tsv, which is ours. Where two files judge the same run, the first of this list counts.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SHARED = Path(__file__).parents[3] / "shared"
COLLECTIONS = ("wild", "corpus")
OURS = Path(__file__).parents[1] / "verdicts.tsv"
COLUMNS = ("run", "label", "confidence", "onset", "comment")
CONFIDENCES = ("high", "medium", "low")

_NO_PROGRESS = {"loss-flat", "loss-plateau", "loss-at-ignorance", "loss-at-marginal", "eval-at-chance"}
_NOT_MOVING = {"weights-frozen", "update-too-small", "lr-zero", "gradient-vanishing", "gradient-zeros", "eval-frozen"}
_OVERFITS = {"overfitting", "best-checkpoint-missed", "val-gap-from-start"}
_RISES = {"loss-diverged", "loss-drift-up", "loss-level-shift", "gradient-exploding", "weights-exploding"}
_NAN = {"loss-nan", "gradient-nan", "nan-masked"}
_RL_BROKEN = {"value-diverged", "policy-update-too-large"}

# The findings that match a label: a warning or worse about one of them is right.
ACCEPTED: dict[str, set[str]] = {
    "overfitting": _OVERFITS | {"metric-disagreement"},
    "overfitting-mild": _OVERFITS,
    "generalization-gap": {"val-gap-from-start", "overfitting"},
    "diverged": _RISES | _NAN | {"loss-oscillating", "update-too-large"},
    "nan": _NAN | {"loss-diverged"},
    "no-learning": _NO_PROGRESS | _NOT_MOVING | {"representation-collapse", "dead-units", "loss-zero"},
    "plateau": _NO_PROGRESS | _NOT_MOVING | {"lr-horizon-off"},
    "spiky": {
        "loss-spike",
        "batch-outlier",
        "gradient-spike",
        "gradient-exploding",
        "loss-level-shift",
        "loss-diverged",
        "loss-oscillating",
        "loss-noisy",
    },
    "loss-jump": {
        "loss-level-shift",
        "loss-diverged",
        "loss-spike",
        "data-shift",
        "resume-discontinuity",
        "loss-drift-up",
    },
    "stopped-early": {"lr-horizon-off"},
    "eval-broken": {
        "eval-frozen",
        "impossible-value",
        "loss-too-good",
        "val-below-train",
        "eval-at-chance",
        "eval-nondeterministic",
        "eval-noisy",
        "val-gap-from-start",
        "metric-disagreement",
    },
    "impossible-loss": {"impossible-value", "loss-too-good", "val-below-train"},
    "lr-problem": {"lr-zero", "lr-jump", "lr-no-warmup", "lr-never-decays", "lr-horizon-off"},
    "gan-collapse": {
        "gan-imbalance",
        "loss-zero",
        "loss-diverged",
        "loss-drift-up",
        "representation-collapse",
        "gradient-vanishing",
    },
    "gan-imbalance": {"gan-imbalance", "loss-zero", "loss-diverged", "loss-drift-up", "gradient-vanishing"},
    "vae-collapse": {"representation-collapse", "loss-zero"},
    "rl-no-learning": {"return-flat"} | _RL_BROKEN,
    "rl-collapse": {"return-collapsed"} | _RL_BROKEN,
    "rl-unstable": {"return-collapsed", "loss-diverged", "loss-spike", "loss-oscillating"} | _RL_BROKEN,
    "gradient-explosion": {"gradient-exploding", "gradient-spike", "gradient-nan", "clipping-excess", "loss-diverged"},
    "throughput-problem": {"throughput-drop", "step-time-periodic", "data-stall", "run-stalled", "gpu-throttled"},
    "memory-growth": {"memory-growth", "oom-risk"},
    "crashed": {"run-stalled", "oom-risk", "loss-nan", "loss-diverged"},
    "restart-overlap": {"restart-overlap", "resume-discontinuity", "steps-skipped", "lr-jump", "loss-level-shift"},
}
# Worth a note at most: an accepted alarm is right, and silence is right too.
MINOR = frozenset({"overfitting-mild", "stopped-early", "restart-overlap", "gan-imbalance", "crashed"})
# No alarm is right.
NO_ALARM = frozenset(
    {
        "healthy",
        "healthy-adversarial",
        "healthy-gap",
        "healthy-grokking",
        "healthy-kl-warning",
        "healthy-noisy",
        "healthy-rl",
        "insufficient-data",
        "negative-loss",
    }
)
# Not scored: nobody can tell, or the reader is at fault and the curves are not the run's.
UNSCORED = frozenset({"ambiguous", "wrong-reading"})
VOCABULARY = frozenset(ACCEPTED) | NO_ALARM | UNSCORED

# Labels of the shared files that say the same in other words, by collection.
SAME_LABELS = {
    ("wild", "no-generalisation"): "generalization-gap",  # codespell:ignore generalisation
    # There it is a cross-entropy below zero; ours means a quantity that may be negative.
    ("wild", "negative-loss"): "impossible-loss",
}


@dataclass(frozen=True)
class Verdict:
    """The label of one run."""

    run: str  # collection/folder/name, where the name is that of the run or of a file of it
    label: str  # two problems of one run are joined: overfitting+lr-problem
    confidence: str
    onset: str = ""
    comment: str = ""
    same_as: str = ""  # the run that this one repeats
    findings: frozenset[str] | None = None  # slugs that match, where the truth is known; None: those of the label
    causes: frozenset[str] = frozenset()  # that count as correct, where the truth is known

    @property
    def folder(self) -> str:
        """The collection and the folder."""
        return "/".join(self.run.split("/")[:2])

    @property
    def name(self) -> str:
        """The name below the folder; empty if the row names the folder."""
        return "/".join(self.run.split("/")[2:])

    @property
    def kind(self) -> str:
        """What is expected: `problem`, `minor`, `healthy` (no alarm) or `unscored`."""
        if self.findings is not None:
            return "problem" if self.findings else "healthy"
        kinds = {_kind(label) for label in self.labels}
        return next(kind for kind in ("problem", "minor", "unscored", "healthy") if kind in kinds)

    @property
    def labels(self) -> list[str]:
        """Its labels, mostly one."""
        return self.label.split("+")

    @property
    def accepted(self) -> frozenset[str]:
        """The slugs of findings that match."""
        if self.findings is not None:
            return self.findings
        return frozenset().union(*(ACCEPTED.get(label, set()) for label in self.labels))


def _kind(label: str) -> str:
    if label in UNSCORED:
        return "unscored"
    if label in NO_ALARM:
        return "healthy"
    return "minor" if label in MINOR else "problem"


def all_verdicts() -> list[Verdict]:
    """Every verdict, those of the shared files first."""
    found = [verdict for collection in COLLECTIONS for verdict in _shared(collection)]
    return found + (read_verdicts(OURS) if OURS.exists() else [])


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts of one file of ours. ValueError names every run that has an unknown label or confidence."""
    found, wrong = [], []
    for row in _rows(path):
        values = {name: (row.get(name) or "").strip() for name in COLUMNS}
        if not values["run"]:
            continue
        if problem := _problem(values):
            wrong.append(f"{problem}: {values['run']}")
        run, label, confidence, onset, comment = (values[name] for name in COLUMNS)
        found.append(Verdict(run, label, confidence, onset, comment))
    if wrong:
        raise ValueError(f"Unusable verdicts in {path}:\n  " + "\n  ".join(wrong))
    return found


def merge(paths: Iterable[Path], target: Path = OURS) -> list[str]:
    """Write the verdicts of several files into one, sorted, and return the disagreements.

    If two files judge a run differently, the more confident verdict is kept; between equals it is ambiguous.
    """
    by_run: dict[str, Verdict] = {}
    disagreements = []
    for verdict in (verdict for path in sorted(paths) for verdict in read_verdicts(path)):
        before = by_run.get(verdict.run)
        if before is not None and before.label != verdict.label:
            disagreements.append(f"{verdict.run}: {_spelled(before)} or {_spelled(verdict)}")
        by_run[verdict.run] = verdict if before is None else _preferred(before, verdict)
    ordered = sorted(by_run.values(), key=lambda verdict: verdict.run)
    lines = [COLUMNS, *([getattr(verdict, name) for name in COLUMNS] for verdict in ordered)]
    target.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    return disagreements


def _preferred(before: Verdict, after: Verdict) -> Verdict:
    ranks = CONFIDENCES.index(before.confidence), CONFIDENCES.index(after.confidence)
    if before.label != after.label and ranks[0] == ranks[1]:
        comment = f"{_spelled(before)}: {before.comment}; {_spelled(after)}: {after.comment}"
        return Verdict(before.run, "ambiguous", before.confidence, "", comment)
    return before if ranks[0] <= ranks[1] else after


def _spelled(verdict: Verdict) -> str:
    return f"{verdict.label} ({verdict.confidence})"


def _problem(values: dict[str, str]) -> str:
    unknown = set(values["label"].split("+")) - VOCABULARY
    if unknown:
        return f"unknown label {', '.join(sorted(map(repr, unknown)))}"
    if values["confidence"] not in CONFIDENCES:
        return f"unknown confidence {values['confidence']!r}"
    if values["run"].split("/")[0] not in COLLECTIONS or values["run"].count("/") < 1:
        return "the run does not start with wild/<folder> or corpus/<folder>"
    return ""


def _shared(collection: str) -> Iterator[Verdict]:
    path = SHARED / collection / "labels.tsv"
    if not path.exists():
        return
    for row in _rows(path):
        label = SAME_LABELS.get((collection, row["label"]), row["label"])
        same_as = row.get("dup_of") or ""
        yield Verdict(
            run=f"{collection}/{row['run']}",
            label=label,
            confidence=row["confidence"],
            comment=row.get("comment") or row.get("note") or "",
            same_as=f"{collection}/{same_as}" if same_as else "",
        )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        # Comments hold quotation marks that are not closed.
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
