"""Score: the diagnosis of the zoo, compared with what is wrong with it."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from pulseboard.core.finding import RunReport
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.earlier import Earlier
from pulseboard.read.runs import read
from zoo.fault import Fault, all_faults
from zoo.plan import HEALTHY, PlannedTraining
from zoo.scoring.headlines import Headline, first_causes, headlines
from zoo.views import DECLARED, FULL, VIEWS, View, thinned, up_to

# Causes that curves cannot distinguish: naming one of a group counts as correct.
INDISTINGUISHABLE = (
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
    """One training and its diagnosis."""

    training: PlannedTraining
    report: RunReport
    delay_points: float | None = None  # logged points from the onset of a sudden fault to its first correct finding
    view: View = FULL

    @property
    def _fault(self) -> Fault | None:
        return None if self.training.fault == HEALTHY else all_faults()[self.training.fault]

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with it yet, or nothing that its curves could reveal."""
        fault = self._fault
        if fault is None or fault.decoy or fault.visible == "no":
            return True
        return fault.onset == "middle" and self.training.onset >= self.view.until

    @property
    def hidden(self) -> bool:
        """Whether the view leaves out what reveals its fault or declares its decoy: it then counts neither way."""
        if not self.view.has_config and self.training.fault in DECLARED:
            return True
        fault = self._fault
        return not self.healthy and fault is not None and self.view.hides.issuperset(fault.accepted)

    @property
    def headlines(self) -> list[Headline]:
        """Its warnings and critical headlines."""
        return [headline for headline in headlines(self.report) if headline.alarms]

    @property
    def alarms(self) -> list[str]:
        """The slugs of these."""
        return [headline.slug for headline in self.headlines]

    @property
    def right(self) -> list[str]:
        """The alarms that match the fault."""
        fault = self._fault
        accepted = set(fault.accepted) if fault else set()
        return [headline.slug for headline in self.headlines if headline.accepted(accepted)]

    @property
    def right_causes(self) -> set[str]:
        """The causes that count as correct."""
        fault = all_faults()[self.training.fault]
        causes = {fault.cause, *fault.equivalent}
        return causes.union(*(group for group in INDISTINGUISHABLE if fault.cause in group))

    @property
    def rank_of_cause(self) -> int | None:
        """The rank of the correct cause, from 0; None if it was not named."""
        named = first_causes(self.report)
        return next((i for i, slug in enumerate(named) if slug in self.right_causes), None)


@dataclass(frozen=True)
class Score:
    """The scores of a set of trainings."""

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
    first_of_all: int  # faulty trainings with the correct cause first, found or not
    headlines: int  # of faulty trainings with an alarm
    broken: int  # such trainings
    delays: tuple[float, ...]

    def rows(self) -> list[tuple[str, str, str]]:
        """(metric, value, target) for the table."""
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
            ("correct cause first", _share(self.first, self.causes), ">= 75 %"),
            ("correct cause among the first three", _share(self.among_three, self.causes), ">= 90 %"),
            ("correct cause first, of all faults", _share(self.first_of_all, self.faulty), ">= 70 %"),
            ("headlines per broken run", f"{self.headlines / max(1, self.broken):.2f} (of {self.broken})", "<= 1.3"),
            ("median delay of sudden faults, logged points", f"{delay:.0f} (of {len(self.delays)})", "<= 15"),
        ]


def score(judged: Iterable[Judged]) -> Score:
    """The scores of these trainings."""
    judged = [one for one in judged if not one.hidden]
    faulty = [one for one in judged if not one.healthy]
    healthy = [one for one in judged if one.healthy]
    found = [one for one in faulty if one.right]
    delays = [delay for one in found if (delay := one.delay_points) is not None]
    ranks = [one.rank_of_cause for one in found]
    broken = [one for one in faulty if one.alarms]
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
        among_three=sum(rank is not None and rank < 3 for rank in ranks),
        first_of_all=sum(one.rank_of_cause == 0 for one in faulty),
        headlines=sum(len(one.alarms) for one in broken),
        broken=len(broken),
        delays=tuple(delays),
    )


def judge(
    planned: Iterable[PlannedTraining],
    directory: Path,
    *,
    view: View = FULL,
    earlier: Mapping[str, Earlier] | None = None,
) -> list[Judged]:
    """Diagnose each training that was built, through a `view`, given the earlier runs of its base."""
    built = [one for one in planned if (directory / f"{one.name}.done").exists()]
    return [_judge(one, directory, view=view, earlier=(earlier or {}).get(one.base)) for one in built]


def judge_views(
    planned: Iterable[PlannedTraining], directory: Path, views: Iterable[str], *, jobs: int = 2
) -> dict[str, list[Judged]]:
    """The same through several views by name, in a few processes."""
    built = [one for one in planned if (directory / f"{one.name}.done").exists()]
    names = list(views)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        reports = list(pool.map(_reports, built, repeat(directory), repeat(names), chunksize=4))
    return {
        name: [Judged(one, found[i], view=VIEWS[name]) for one, found in zip(built, reports, strict=True)]
        for i, name in enumerate(names)
    }


def _reports(one: PlannedTraining, directory: Path, views: list[str]) -> list[RunReport]:
    return [_judge(one, directory, view=VIEWS[name]).report for name in views]


def _judge(one: PlannedTraining, directory: Path, *, view: View, earlier: Earlier | None = None) -> Judged:
    training = next(iter(trainings(read(directory / one.name))))
    case = case_of(view.of(training, one))
    case.earlier = earlier
    if case.context.status == "running":  # it hung or was killed: diagnose it ten minutes later
        last_wall_times = [track.last_wall for track in case.tracks.values() if len(track)]
        case.now = max(last_wall_times) + 600
    found = Judged(one, report_on(case), view=view)
    if found.right and view is FULL and earlier is None:
        found = replace(found, delay_points=_delay(found, training, case))
    return found


def _delay(found: Judged, training: Training, case: Case) -> float | None:
    """Replay a sudden fault point by point, as live diagnosis sees it, until it is reported."""
    fault = all_faults()[found.training.fault]
    loss, planned = case.one("train.loss"), case.planned_steps
    if fault.onset != "middle" or loss is None or not planned or fault.after_kill:
        return None
    steps = loss.points().steps
    onset = int(found.training.onset * planned)
    after = steps[steps >= onset]
    for n in (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 60, 80, 120):
        if n > len(after):
            break
        early = case_of(thinned(up_to(int(after[n - 1]))).of(training, found.training))
        early.now = case.now
        if Judged(found.training, report_on(early)).right:
            return float(n)
    return float(len(after))


def interval(judged: list[Judged], *, rounds: int = 500) -> tuple[float, float]:
    """A 90 % interval of the share of faults found, by resampling faults, not runs."""
    by_fault: dict[str, list[Judged]] = {}
    for one in judged:
        if not one.healthy:
            by_fault.setdefault(one.training.fault, []).append(one)
    names, generator = sorted(by_fault), random.Random(0)
    shares = []
    for _ in range(rounds):
        sample = [one for name in generator.choices(names, k=len(names)) for one in by_fault[name]]
        shares.append(sum(bool(one.right) for one in sample) / len(sample))
    shares.sort()
    return shares[int(0.05 * rounds)], shares[int(0.95 * rounds) - 1]


def misses(judged: Iterable[Judged]) -> list[str]:
    """One line for each training with a wrong diagnosis."""
    lines = []
    for one in judged:
        wrong = Counter(one.alarms) - Counter(one.right)
        extra = f", wrong: {', '.join(sorted(wrong))}" if wrong else ""
        causes = ", ".join(f"{c.slug} {c.probability:.2f}" for c in one.report.causes)
        if one.healthy and one.alarms:
            lines.append(f"{one.training.name}: false alarm{extra}")
        elif not one.healthy and not one.right:
            infos = ", ".join(f.slug for f in one.report.findings if f.severity == "info")
            lines.append(f"{one.training.name}: missed{extra} (info: {infos})")
        elif not one.healthy and (one.rank_of_cause != 0 or wrong):
            lines.append(f"{one.training.name}: found {', '.join(one.right)}{extra}; causes {causes}")
    return lines


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "none"
