"""Diagnosis: reads a log and reports on each training in it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, Finding, RunReport, report_dict
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.earlier import LEAST_RUNS, Earlier
from pulseboard.diagnose.facts.fact import all_facts
from pulseboard.diagnose.facts.signs.sign import signs_of
from pulseboard.diagnose.guide import advice
from pulseboard.diagnose.judge.conditions import CauseConditions
from pulseboard.diagnose.judge.coverage import coverage_of, judged
from pulseboard.diagnose.judge.followers import followers_below
from pulseboard.diagnose.judge.incidents import Ranked, incidents_of
from pulseboard.diagnose.judge.ranking import rank_causes
from pulseboard.read.runs import Runs, read

Against = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# Enough to draw a curve in a report.
_CURVE_POINTS = 256


class Diagnosis(tuple[RunReport, ...]):
    """The reports on the runs of a log, by run name."""

    __slots__ = ()

    @property
    def status(self) -> str:
        """The worst status among the runs."""
        order = ("ok", "unknown", *SEVERITIES)
        return max((report.status for report in self), key=order.index, default="ok")

    def to_dict(self) -> dict[str, Any]:
        """The JSON report."""
        return report_dict(self)

    def __getitem__(self, key: Any) -> Any:
        """A report by its position or by the name of its run."""
        if isinstance(key, str):
            for report in self:
                if report.run == key:
                    return report
            raise KeyError(f"No report on a run {key!r}. Runs: {', '.join(r.run for r in self)}.")
        return super().__getitem__(key)

    def __str__(self) -> str:
        from pulseboard.diagnose.report.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """In a notebook: the verdict of each run, then the report as the terminal shows it."""
        from html import escape

        from pulseboard.diagnose.report.sentences import verdict
        from pulseboard.diagnose.report.text import title_of

        rows = (f"<tr><td>{escape(title_of(one))}</td><td>{escape(verdict(one))}</td></tr>" for one in self)
        return f"<table>{''.join(rows)}</table><pre>{escape(str(self))}</pre>"


def diagnose(
    *paths: str | os.PathLike[str] | Runs,
    profile: str | None = None,
    roles: Mapping[str, str] | None = None,
    runs: Iterable[str] | None = None,
    against: Against | Earlier | None = None,
    watching: bool = False,
) -> Diagnosis:
    """Report what is wrong with every training below the paths.

    `profile` is a shipped profile or a file, `roles` assigns tags to roles, `runs` selects runs by name.
    `against` is one or more paths to known-good runs of the task: curves that leave their range are reported.
    """
    earlier = against if isinstance(against, Earlier) or against is None else earlier_runs(against, roles=roles)
    logs = [path if isinstance(path, Runs) else read(path) for path in paths]
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
    """Earlier runs for `diagnose`. PulseboardError if they are too few."""
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    cases = [case_of(training, roles=roles) for path in several for training in trainings(read(path))]
    if len(cases) < LEAST_RUNS:
        where = ", ".join(map(str, several))
        raise PulseboardError(
            f"Found {len(cases)} runs below {where}, but comparing needs {LEAST_RUNS}. Add more known-good runs."
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
    """The report on one training. A stall counts only while watching, or if the run says that it is running."""
    now = time.time()
    case = case_of(training, profile=profile, roles=roles, now=now if watching else None)
    case.earlier = earlier
    if case.context.status == "running":
        case.now = now
    return report_on(case)


def report_on(case: Case) -> RunReport:
    """The report on one case. The same case always gives the same report."""
    seen = run_detectors(case)
    raw = tuple(_advised(finding) for finding in seen.findings)
    findings = followers_below(raw, case)
    signs = signs_of(case)

    def rank(chosen: Sequence[Finding], machine: bool) -> Ranked:
        # Signs of the curves say nothing about a slow machine.
        return rank_causes(chosen, seen.absent, CauseConditions.of(case, chosen), {} if machine else signs)

    incidents = incidents_of(findings, raw, case, rank)
    causes = incidents[0].causes if incidents else rank(raw, False)[0]
    reading = case.reading
    return RunReport(
        run=case.name,
        path=case.path,
        steps=case.steps,
        profile=case.profile.name,
        roles={role: tags[0] for role, tags in reading.tags.items() if tags},
        findings=findings,
        causes=causes,
        next_check=incidents[0].next_check if incidents else None,
        not_checked=tuple(seen.not_checked),
        doubtful=(*reading.doubtful, *case.context.doubts),
        incidents=incidents,
        coverage=coverage_of(seen),
        judged=judged(case),
        facts={name: establish(case).to_dict() for name, establish in all_facts().items()},
        readings=tuple(
            {"tag": one.tag, "role": one.role, "sure": one.sure, "why": one.why} for one in reading.readings
        ),
        unread=reading.unread,
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
    """The finding with the causes, checks and fixes from its page."""
    causes, checks, fixes = advice(finding.slug)
    return replace(finding, causes=causes, checks=checks, fixes=fixes)
