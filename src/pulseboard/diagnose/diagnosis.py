"""Diagnosis: a log in, a report for each training out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, Finding, RunReport, report_dict
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.causes import Surroundings, rank_causes
from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.earlier import LEAST_RUNS, Earlier
from pulseboard.diagnose.followers import followers_below
from pulseboard.diagnose.guide import advice
from pulseboard.read.every_run import EveryRun, any_runs
from pulseboard.read.log import Log

Against = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# Enough for a drawing in a report.
_CURVE_POINTS = 256


class Diagnosis(tuple[RunReport, ...]):
    """The reports of a log, by the names of its runs."""

    __slots__ = ()

    @property
    def status(self) -> str:
        """The gravest status among the runs."""
        order = ("ok", *SEVERITIES)
        return max((report.status for report in self), key=order.index, default="ok")

    def to_dict(self) -> dict[str, Any]:
        """The JSON report."""
        return report_dict(self)

    def __getitem__(self, key: Any) -> Any:
        """A report by its place, or by the name of its run."""
        if isinstance(key, str):
            for report in self:
                if report.run == key:
                    return report
            raise KeyError(f"There is no report of a run {key!r}; there are {', '.join(r.run for r in self)}.")
        return super().__getitem__(key)

    def __str__(self) -> str:
        from pulseboard.diagnose.report.text import as_text

        return as_text(self)


def diagnose(
    *paths: str | os.PathLike[str] | Log | EveryRun,
    profile: str | None = None,
    roles: Mapping[str, str] | None = None,
    runs: Iterable[str] | None = None,
    against: Against | Earlier | None = None,
    watching: bool = False,
) -> Diagnosis:
    """Say what is wrong with every training below the paths.

    `profile` names a shipped profile or a file, `roles` says which tag has which role, `runs` picks runs by name.
    `against` is one path or more to earlier runs of this task that went well: where curves leave their band is told.
    """
    earlier = against if isinstance(against, Earlier) or against is None else earlier_runs(against, roles=roles)
    logs = [path if isinstance(path, Log | EveryRun) else any_runs(path) for path in paths]
    chosen = set(runs) if runs is not None else None
    found = []
    for log in logs:
        for training in sorted(trainings(log), key=lambda training: training.name):
            if chosen is None or training.name in chosen or any(run.name in chosen for _, run in training.parts):
                found.append(
                    report_on_training(training, profile=profile, roles=roles, earlier=earlier, watching=watching)
                )
    return Diagnosis(found)


def earlier_runs(paths: Against, *, roles: Mapping[str, str] | None = None) -> Earlier:
    """Earlier runs, as `diagnose` takes them. PulseboardError where they are too few for a band."""
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    cases = [case_of(training, roles=roles) for path in several for training in trainings(any_runs(path))]
    if len(cases) < LEAST_RUNS:
        where = ", ".join(map(str, several))
        raise PulseboardError(
            f"There are {len(cases)} runs below {where}, and a band takes {LEAST_RUNS}. Name more earlier runs."
        )
    return Earlier(cases)


def report_on_training(
    training: Training,
    *,
    profile: str | None = None,
    roles: Mapping[str, str] | None = None,
    earlier: Earlier | None = None,
    watching: bool = False,
) -> RunReport:
    """The report on one training. Silence counts only while watching, or where the run says that it is running."""
    case = case_of(training, profile=profile, roles=roles)
    case.earlier = earlier
    if watching or case.context.status == "running":
        case.now = time.time()
    return report_on(case)


def report_on(case: Case) -> RunReport:
    """The report on one case: the same for the same case, whenever it is asked for."""
    seen = run_detectors(case)
    findings = tuple(_advised(finding) for finding in seen.findings)
    causes, next_check = rank_causes(findings, seen.absent, Surroundings.of(case, findings))
    return RunReport(
        run=case.name,
        path=case.path,
        steps=case.steps,
        profile=case.profile.name,
        roles={role: tags[0] for role, tags in case.reading.tags.items() if tags},
        findings=followers_below(findings, case),
        causes=causes,
        next_check=next_check,
        not_checked=tuple(seen.not_checked),
        doubtful=case.reading.doubtful,
        curves=_curves(case, findings),
    )


def _curves(case: Case, findings: Iterable[Finding]) -> dict[str, tuple[list[int], list[float]]]:
    found = {}
    for tag in dict.fromkeys(finding.metric for finding in findings):
        track = case.tracks.get(tag)
        if track is not None:
            steps, values = track.points(most=_CURVE_POINTS)
            found[tag] = (steps.tolist(), values.tolist())
    return found


def _advised(finding: Finding) -> Finding:
    """The finding with what its guide says about causes, checks and fixes."""
    causes, checks, fixes = advice(finding.slug)
    return replace(finding, causes=causes, checks=checks, fixes=fixes)
