"""Scorecards: a profile's document filled in for each training of a log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, Finding, Severity
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.profile import GENERAL
from pulseboard.diagnose.scorecard.answers import answers
from pulseboard.diagnose.scorecard.cadence_table import cadence_rows
from pulseboard.diagnose.scorecard.flow_table import flow_rows, pattern_rows
from pulseboard.diagnose.scorecard.metric_table import metric_rows, missing_tags, stage_rows
from pulseboard.diagnose.scorecard.progress import progress_of
from pulseboard.diagnose.scorecard.rows import Answer, CadenceRow, FlowRow, Grade, MetricRow, PatternRow, StageRow
from pulseboard.read.runs import Runs, read

# Texts are decoded one by one to know their steps.
_MOST_TEXTS = 2000


@dataclass(frozen=True, slots=True)
class Scorecard:
    """One run measured by one document."""

    run: str
    path: str
    profile: str
    title: str
    steps: tuple[int, int] | None
    progress: float | None  # share of the training that is done; None if the plan is unknown
    metrics: tuple[MetricRow, ...]
    stages: tuple[StageRow, ...]
    checks: tuple[Answer, ...]
    flow: tuple[FlowRow, ...]
    patterns: tuple[PatternRow, ...]
    cadence: tuple[CadenceRow, ...]
    missing: tuple[str, ...]
    advice: tuple[str, ...]

    @property
    def grades(self) -> list[Grade]:
        """How each metric and each check counts."""
        return [*(row.grade for row in self.metrics), *(answer.grade for answer in self.checks)]

    @property
    def status(self) -> str:
        """The worst of all rows: ok, info, warning or critical; unknown if nothing could be compared."""
        known = [grade for grade in self.grades if grade is not None]
        return max(known, key=("ok", *SEVERITIES).index, default="unknown")

    def at_or_above(self, severity: Severity) -> bool:
        """Whether a row counts as this severity or worse."""
        return self.status in SEVERITIES[SEVERITIES.index(severity) :]

    def to_dict(self) -> dict[str, Any]:
        """For JSON. Values that are not known are None; a loss may be NaN."""
        return {**asdict(self), "status": self.status}

    def __str__(self) -> str:
        from pulseboard.diagnose.scorecard.text import as_text

        return as_text([self])


class Scorecards(tuple[Scorecard, ...]):
    """The scorecards of a log, in the order of run names."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema": 1, "runs": [card.to_dict() for card in self]}

    def __getitem__(self, key: Any) -> Any:
        """A scorecard by its position or by the name of its run."""
        if isinstance(key, str):
            for card in self:
                if card.run == key:
                    return card
            raise KeyError(f"No run {key!r}. Runs: {', '.join(card.run for card in self)}.")
        return super().__getitem__(key)

    def __str__(self) -> str:
        from pulseboard.diagnose.scorecard.text import as_text

        return as_text(self)


def guide(
    *paths: str | os.PathLike[str] | Runs, profile: str | None = None, runs: Iterable[str] | None = None
) -> Scorecards:
    """The scorecards of every training below the paths.

    Raises PulseboardError if no profile with a document fits a run and none is given.
    """
    chosen = set(runs) if runs is not None else None
    found = []
    for path in paths:
        log = path if isinstance(path, Runs) else read(path)
        for training in sorted(trainings(log), key=lambda training: training.name):
            if chosen is None or training.name in chosen or any(run.name in chosen for _, run in training.parts):
                found.append(scorecard_of_training(training, profile=profile))
    return Scorecards(found)


def scorecard_of_training(training: Training, *, profile: str | None = None) -> Scorecard:
    """The scorecard of one training."""
    case = case_of(training, profile=profile)
    if case.profile.name == GENERAL:
        raise NoDocument(training.name)
    return scorecard_of(case, other_steps={**_text_steps(training), **_histogram_steps(case)})


def scorecard_of(
    case: Case, *, other_steps: Mapping[str, Sequence[int]] | None = None, findings: Iterable[Finding] | None = None
) -> Scorecard:
    """The scorecard of a case. `other_steps` has the steps of tags that are not scalars."""
    if findings is None:
        findings = run_detectors(case).findings
    other_steps = other_steps or {}
    return Scorecard(
        run=case.name,
        path=case.path,
        profile=case.profile.name,
        title=case.profile.title,
        steps=case.steps,
        progress=progress_of(case),
        metrics=tuple(metric_rows(case)),
        stages=tuple(stage_rows(case)),
        checks=answers(case.profile.checks, case),
        flow=tuple(flow_rows(case)),
        patterns=tuple(pattern_rows(case, findings)),
        cadence=tuple(cadence_rows(case, other_steps)),
        missing=missing_tags(case, other_steps),
        advice=case.profile.advice,
    )


class NoDocument(PulseboardError):
    """No profile fits the run."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"No profile fits run {run!r}, so there is no guide to fill in. Choose one with --profile: "
            "`pulseboard explain --profile NAME` prints it; or write your own (docs/guides/diagnosis.md)."
        )
        self.run = run


def _text_steps(training: Training) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for prefix, run in training.parts:
        tags = run.tags("text")
        if sum(run.infos()[tag].spans for tag in tags) <= _MOST_TEXTS:
            found.update({prefix + tag: [text.step for text in run.texts(tag)] for tag in tags})
    return found


def _histogram_steps(case: Case) -> dict[str, list[int]]:
    return {tag: [histogram.step for histogram in kept] for tag, kept in case.histograms.items()}
