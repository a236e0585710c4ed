"""Subjects: trainings that a question is about, each with its diagnosis and what its config states."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pulseboard.core.finding import RunReport
from pulseboard.core.series import Series
from pulseboard.core.tag_names import is_of_machine
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.read.config.sources import run_file_of
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs


@dataclass(frozen=True, slots=True)
class Subject:
    """A training with its diagnosis."""

    training: Training
    case: Case
    report: RunReport

    @property
    def name(self) -> str:
        """The name of the training."""
        return self.training.name

    @property
    def config(self) -> dict[str, Any]:
        """Its settings, flat."""
        return dict(self.case.context.config)

    def tags(self) -> list[str]:
        """Its scalar tags: those with a role first, those of the machine last."""
        known = {tag: i for i, tag in enumerate(self.report.roles.values())}
        tags = [prefix + tag for prefix, run in self.training.parts for tag in run.tags("scalar")]
        return sorted(tags, key=lambda tag: (is_of_machine(tag), known.get(tag, len(known))))

    def series(self, tag: str) -> Series:
        """The points of a tag. Raises TagNotFound."""
        for prefix, run in self.training.parts:
            if tag.startswith(prefix) and tag.removeprefix(prefix) in run.infos():
                return run.series(tag.removeprefix(prefix))
        return self.training.parts[0][1].series(tag)


def subject_of(training: Training, *, profile: str | None = None) -> Subject:
    """Diagnose one training. A stall counts only if the run says that it is running."""
    case = case_of(training, profile=profile)
    if case.context.status == "running":
        case.now = time.time()
    return Subject(training, case, report_on(case))


def trainings_of(runs: Runs, names: Iterable[str] | None = None) -> Iterator[Training]:
    """The trainings that these runs are part of; all of them if None. Most recently active first."""
    chosen = None if names is None else set(names)
    for training in trainings(runs):
        if chosen is None or training.name in chosen or any(run.name in chosen for _, run in training.parts):
            yield training


def state_of(run: Run, *, idle_secs: float, now: float) -> str:
    """`running`, or how it ended: `finished`, `failed`, `killed`, or `idle` if its log has not grown for so long.

    A log without run.json does not say whether its training has ended, so only the time since it grew can.
    """
    stated = run_file_of(run)
    if stated.status is not None and stated.status != "running":
        return stated.status
    return "idle" if now - max(run.last_written, stated.heartbeat or 0.0) > idle_secs else "running"
