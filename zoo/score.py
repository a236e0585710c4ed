"""Scoring: what diagnosis says of the zoo, held against what is wrong with it."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pulseboard.core.finding import RunReport
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.earlier import Earlier
from pulseboard.read.log import read
from zoo.fault import all_faults
from zoo.plan import HEALTHY, Specimen
from zoo.views import View, up_to

# Causes that the curves cannot tell apart: naming one of them is naming the right one.
ALIKE = (
    {"lr-too-high", "no-warmup"},
    {"optimizer-not-stepping", "scheduler-bug", "lr-too-low"},
    {"labels-misaligned", "label-noise"},
    {"precision-underflow", "dead-relu"},
    {"frozen-weights", "detached-graph"},
    {"router-collapse", "missing-aux-loss"},
    {"too-little-data", "repeated-batches"},
)


@dataclass(frozen=True)
class Judged:
    """One training and what was said of it."""

    specimen: Specimen
    report: RunReport
    delay_points: float | None = None  # logged points from a sudden fault's onset to its first right finding

    @property
    def healthy(self) -> bool:
        """Nothing is wrong with it, or nothing that its curves could show."""
        fault = None if self.specimen.fault == HEALTHY else all_faults()[self.specimen.fault]
        return fault is None or fault.decoy or fault.visible == "no"

    @property
    def alarms(self) -> list[str]:
        """Slugs of its warnings and critical findings."""
        return [finding.slug for finding in self.report.findings if finding.severity != "info"]

    @property
    def right(self) -> list[str]:
        """Those of the alarms that belong to the fault."""
        if self.specimen.fault == HEALTHY:
            return []
        accepted = all_faults()[self.specimen.fault].accepted
        return [slug for slug in self.alarms if slug in accepted]

    @property
    def right_causes(self) -> set[str]:
        """The causes that count as right."""
        fault = all_faults()[self.specimen.fault]
        causes = {fault.cause, *fault.equivalent}
        return causes.union(*(group for group in ALIKE if fault.cause in group))

    @property
    def rank_of_cause(self) -> int | None:
        """The place of the right cause, from 0 on; None where it is not among those named."""
        return next((i for i, cause in enumerate(self.report.causes) if cause.slug in self.right_causes), None)


@dataclass(frozen=True)
class Score:
    """The figures of one set of trainings."""

    faulty: int
    found: int
    alarms: int
    right_alarms: int
    healthy: int
    flagged: int
    healthy_steps: int
    false_alarms: int
    causes: int
    first: int
    among_three: int
    delays: tuple[float, ...]

    def rows(self) -> list[tuple[str, str, str]]:
        """(what, figure, owed) for the table."""
        per_10k = 1e4 * self.false_alarms / max(1, self.healthy_steps)
        delay = sorted(self.delays)[len(self.delays) // 2] if self.delays else float("nan")
        return [
            ("faults found by an accepted finding", _share(self.found, self.faulty), ">= 95 %"),
            ("precision of warnings and critical findings", _share(self.right_alarms, self.alarms), ">= 90 %"),
            ("healthy runs and decoys flagged", _share(self.flagged, self.healthy), "<= 5 %"),
            (
                "false alarms per 10,000 healthy steps",
                f"{per_10k:.2f} ({self.false_alarms} in {self.healthy_steps})",
                "<= 0.2",
            ),
            ("right cause first", _share(self.first, self.causes), ">= 75 %"),
            ("right cause among three", _share(self.among_three, self.causes), ">= 90 %"),
            ("median delay of sudden faults, logged points", f"{delay:.0f} (of {len(self.delays)})", "<= 15"),
        ]


def score(judged: Iterable[Judged]) -> Score:
    """The figures of these trainings."""
    judged = list(judged)
    faulty = [one for one in judged if not one.healthy]
    healthy = [one for one in judged if one.healthy]
    found = [one for one in faulty if one.right]
    delays = [delay for one in found if (delay := one.delay_points) is not None]
    ranks = [one.rank_of_cause for one in found]
    return Score(
        faulty=len(faulty),
        found=len(found),
        alarms=sum(len(one.alarms) for one in judged),
        right_alarms=sum(len(one.right) for one in faulty),
        healthy=len(healthy),
        flagged=sum(bool(one.alarms) for one in healthy),
        healthy_steps=sum((one.report.steps or (0, 0))[1] for one in healthy),
        false_alarms=sum(len(one.alarms) for one in healthy),
        causes=len(found),
        first=sum(rank == 0 for rank in ranks),
        among_three=sum(rank is not None for rank in ranks),
        delays=tuple(delays),
    )


def judge(
    specimens: Iterable[Specimen],
    directory: Path,
    *,
    view: View | None = None,
    earlier: Mapping[str, Earlier] | None = None,
) -> list[Judged]:
    """Diagnose each training that was built, seen as `view` shows it, beside the earlier runs of its base."""
    judged = []
    for one in specimens:
        if not (directory / f"{one.name}.done").exists():
            continue
        training = next(iter(trainings(read(directory / one.name))))
        case = case_of(training, view=view)
        case.earlier = (earlier or {}).get(one.base)
        if case.context.status == "running":  # it hung, or was killed: it is looked at ten minutes later
            walls = [track.last_wall for track in case.tracks.values() if len(track)]
            case.now = max(walls) + 600
        found = Judged(one, report_on(case))
        if found.right and view is None and earlier is None:
            found = replace(found, delay_points=_delay(found, training, case))
        judged.append(found)
    return judged


def _delay(found: Judged, training: Training, case: Case) -> float | None:
    """Play a sudden fault point by point, as live diagnosis would have seen it, until it is told."""
    fault = all_faults()[found.specimen.fault]
    loss, planned = case.one("train.loss"), case.planned_steps
    if fault.onset != "middle" or loss is None or not planned or fault.after_kill:
        return None
    steps = loss.points().steps
    onset = int(found.specimen.onset * planned)
    after = steps[steps >= onset]
    for n in (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 60, 80, 120):
        if n > len(after):
            break
        early = case_of(training, view=up_to(int(after[n - 1])))
        early.now = case.now
        told = {f.slug for f in report_on(early).findings if f.severity != "info"}
        if told & set(fault.accepted):
            return float(n)
    return float(len(after))


def interval(judged: list[Judged], *, rounds: int = 500) -> tuple[float, float]:
    """The middle 90 % of the share of faults found, drawing faults, not runs, anew."""
    by_fault: dict[str, list[Judged]] = {}
    for one in judged:
        if not one.healthy:
            by_fault.setdefault(one.specimen.fault, []).append(one)
    names, draw = sorted(by_fault), random.Random(0)
    shares = []
    for _ in range(rounds):
        some = [one for name in draw.choices(names, k=len(names)) for one in by_fault[name]]
        shares.append(sum(bool(one.right) for one in some) / len(some))
    shares.sort()
    return shares[int(0.05 * rounds)], shares[int(0.95 * rounds) - 1]


def misses(judged: Iterable[Judged]) -> list[str]:
    """A line for each training that was not judged right."""
    lines = []
    for one in judged:
        wrong = Counter(one.alarms) - Counter(one.right)
        extra = f", wrongly {', '.join(sorted(wrong))}" if wrong else ""
        causes = ", ".join(f"{c.slug} {c.probability:.2f}" for c in one.report.causes)
        if one.healthy and one.alarms:
            lines.append(f"{one.specimen.name}: false alarm{extra}")
        elif not one.healthy and not one.right:
            infos = ", ".join(f.slug for f in one.report.findings if f.severity == "info")
            lines.append(f"{one.specimen.name}: missed{extra} (info: {infos})")
        elif not one.healthy and (one.rank_of_cause != 0 or wrong):
            lines.append(f"{one.specimen.name}: found {', '.join(one.right)}{extra}; causes {causes}")
    return lines


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "none"
