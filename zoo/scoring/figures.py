"""Figures: how often alarms on strangers' runs are right, and how many problems they find."""

from collections.abc import Iterable
from dataclasses import dataclass

from zoo.scoring.headlines import Headline
from zoo.scoring.matching import Case
from zoo.scoring.verdicts import Verdict

# (column, target); the order of the table.
COLUMNS = (
    ("flagged runs right", ">= 90 %"),
    ("alarms right", ">= 90 %"),
    ("critical right", "all"),
    ("healthy flagged", "<= 2 %"),
    ("false alarms per 10,000 logged steps", "<= 0.2"),
    ("problems found, high", ">= 90 %"),
    ("problems found, medium", ">= 90 %"),
    ("headlines per broken run", "<= 1.3"),
    ("green, nothing checked", "0"),
)


@dataclass(frozen=True)
class Share:
    """A part of a whole."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{100 * self.part / self.whole:.0f} % ({self.part} of {self.whole})" if self.whole else "none"


@dataclass(frozen=True)
class Figures:
    """The score of a set of cases."""

    runs_right: Share  # flagged runs whose first headline is right
    alarms_right: Share  # headlines that are warnings or worse
    critical_right: Share
    healthy_flagged: Share
    false_alarms: int  # on healthy runs
    healthy_steps: int  # logged
    high_found: Share  # problems of high confidence with a right alarm
    medium_found: Share
    headlines: int  # of broken runs that were flagged
    broken: int  # such runs
    green_unchecked: Share  # of all runs, labeled or not
    unlabeled_alarms: int
    unread: int  # verdicts whose run was not found

    @property
    def false_alarm_rate(self) -> float:
        """Per 10,000 logged steps of healthy runs."""
        return 1e4 * self.false_alarms / max(1, self.healthy_steps)

    @property
    def headlines_per_broken_run(self) -> float:
        """The mean over broken runs with at least one alarm."""
        return self.headlines / max(1, self.broken)

    def cells(self) -> list[str]:
        """One row of the table."""
        rate = f"{self.false_alarm_rate:.2f} ({self.false_alarms} in {self.healthy_steps})"
        return [
            str(self.runs_right),
            str(self.alarms_right),
            str(self.critical_right),
            str(self.healthy_flagged),
            rate,
            str(self.high_found),
            str(self.medium_found),
            f"{self.headlines_per_broken_run:.2f} ({self.headlines} of {self.broken})",
            f"{self.green_unchecked.part} of {self.green_unchecked.whole}",
        ]


def is_right(alarm: Headline, verdict: Verdict) -> bool:
    """Whether the verdict agrees with an alarm."""
    return alarm.accepted(verdict.accepted)


def found(case: Case) -> bool:
    """Whether an alarm matches the verdict."""
    return case.verdict is not None and any(is_right(alarm, case.verdict) for alarm in case.alarms)


def figures(cases: Iterable[Case]) -> Figures:
    """The score of these cases."""
    cases = list(cases)
    scored = [(case, case.verdict) for case in cases if case.verdict and case.verdict.kind != "unscored"]
    alarms = [(alarm, verdict) for case, verdict in scored for alarm in case.alarms]
    critical = [(alarm, verdict) for alarm, verdict in alarms if alarm.severity == "critical"]
    flagged = [(case.alarms[0], verdict) for case, verdict in scored if case.alarms]
    healthy = [case for case, verdict in scored if verdict.kind == "healthy" and case.runs]
    problems = [case for case, verdict in scored if verdict.kind == "problem"]
    broken = [case for case in problems if case.alarms]
    read = [case for case in cases if case.runs]
    green = [case for case in read if all(run.status == "ok" and run.checks == 0 for run in case.runs)]
    return Figures(
        runs_right=_right(flagged),
        alarms_right=_right(alarms),
        critical_right=_right(critical),
        healthy_flagged=Share(sum(bool(case.alarms) for case in healthy), len(healthy)),
        false_alarms=sum(len(case.alarms) for case in healthy),
        healthy_steps=sum(case.runs[0].logged_steps for case in healthy),
        high_found=_found(problems, "high"),
        medium_found=_found(problems, "medium"),
        headlines=sum(len(case.alarms) for case in broken),
        broken=len(broken),
        green_unchecked=Share(len(green), len(read)),
        unlabeled_alarms=sum(len(case.alarms) for case in read if case.verdict is None),
        unread=sum(not case.runs for case in cases),
    )


def alarm_lines(cases: Iterable[Case]) -> list[str]:
    """Every alarm, the wrong ones first: verdict, severity, slug, label, run and summary."""
    lines = []
    for case in cases:
        label = f"{case.verdict.label} ({case.verdict.confidence})" if case.verdict else "-"
        for alarm in case.alarms:
            lines.append((judgment(alarm, case.verdict), alarm.severity, alarm.slug, label, case.id, alarm.text))
    order = ("wrong", "unlabeled", "unscored", "right")
    lines.sort(key=lambda line: (order.index(line[0]), line[1], line[2], line[4]))
    return ["{:<9} {:<8} {:<20} {}  [{}]\n          {}".format(*line[:3], line[4], line[3], line[5]) for line in lines]


def judgment(alarm: Headline, verdict: Verdict | None) -> str:
    """`right`, `wrong`, `unlabeled` or `unscored`."""
    if verdict is None:
        return "unlabeled"
    if verdict.kind == "unscored":
        return "unscored"
    return "right" if is_right(alarm, verdict) else "wrong"


def missed_lines(cases: Iterable[Case]) -> list[str]:
    """Every problem of high or medium confidence without a right alarm."""
    lines = []
    for case in cases:
        verdict = case.verdict
        if verdict is None or verdict.kind != "problem" or verdict.confidence == "low" or found(case):
            continue
        said = dict.fromkeys(f"{line.severity}:{line.slug}" for run in case.runs for line in run.headlines)
        instead = ", ".join(said) or ("nothing" if case.runs else "not read")
        lines.append(f"missed    {verdict.confidence:<8} {verdict.label:<20} {case.id}")
        why = verdict.comment or f"from {verdict.onset or 'the start'}"
        lines.append(f"          {why}; said: {instead}")
    return lines


def _right(alarms: list[tuple[Headline, Verdict]]) -> Share:
    return Share(sum(is_right(alarm, verdict) for alarm, verdict in alarms), len(alarms))


def _found(problems: list[Case], confidence: str) -> Share:
    group = [case for case in problems if case.verdict and case.verdict.confidence == confidence]
    return Share(sum(map(found, group)), len(group))
