"""Matching: which run a verdict is about, and which runs are one training."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.scoring.collect import Diagnosed
from zoo.scoring.headlines import Headline
from zoo.scoring.verdicts import Verdict


@dataclass(frozen=True)
class Case:
    """One training of a stranger, with the verdict on it if there is one."""

    runs: tuple[Diagnosed, ...]  # the run that stands for it first; none if the verdict's run was not read
    verdict: Verdict | None = None

    @property
    def id(self) -> str:
        """The name of the run that stands for it."""
        return self.runs[0].id if self.runs else f"{self.verdict.run if self.verdict else '?'}"

    @property
    def alarms(self) -> list[Headline]:
        """Its warnings and critical headlines. What several of its runs say counts once."""
        found: list[Headline] = []
        for run in self.runs:
            known = {line.slug for line in found}
            found += [line for line in run.headlines if line.alarms and line.slug not in known]
        return found


def cases(runs: Iterable[Diagnosed], verdicts: Iterable[Verdict]) -> list[Case]:
    """The trainings, each once, with the first verdict on its longest run that has one."""
    by_folder: dict[str, list[Diagnosed]] = defaultdict(list)
    for run in runs:
        by_folder[run.folder].append(run)
    by_run: dict[str, Verdict] = {}
    twins: dict[str, str] = {}
    unread = []
    for verdict in verdicts:
        found = find(verdict.name, by_folder[verdict.folder])
        if found is None:
            unread.append(Case((), verdict))
            continue
        by_run.setdefault(found.id, verdict)
        if verdict.same_as and (twin := _twin(verdict, by_folder[verdict.folder])):
            twins[found.id] = twin.id
    groups: dict[str, list[Diagnosed]] = defaultdict(list)
    for run in (run for group in by_folder.values() for run in group):
        stands = f"{run.folder}/{run.same_as}" if run.same_as else run.id
        groups[twins.get(stands, stands)].append(run)
    known = [_case(name, group, by_run) for name, group in groups.items()]
    return known + [case for case in unread if not (case.verdict and case.verdict.same_as)]


def _twin(verdict: Verdict, folder: list[Diagnosed]) -> Diagnosed | None:
    return find("/".join(verdict.same_as.split("/")[2:]), folder)


def _case(name: str, group: list[Diagnosed], by_run: dict[str, Verdict]) -> Case:
    ordered = sorted(group, key=lambda run: (run.id != name, -run.points, run.id))
    return Case(tuple(ordered), next((by_run[run.id] for run in ordered if run.id in by_run), None))


def find(name: str, folder: list[Diagnosed]) -> Diagnosed | None:
    """The run of a folder that a verdict names: by its name, an alias, a file of it, or a directory around it.

    If several runs fit equally well, it is the one with the most points.
    """
    for fits in (_is_called, _has, _is_below, _is_around):
        found = [run for run in folder if fits(run, name)]
        if found:
            return max(found, key=lambda run: (run.points, run.run))
    return None


def _is_called(run: Diagnosed, name: str) -> bool:
    return run.run == (name or ".")


def _has(run: Diagnosed, name: str) -> bool:
    return name in run.names


def _is_below(run: Diagnosed, name: str) -> bool:
    """Whether the verdict names a directory that the run is in, such as a repository with one run."""
    return not name or any(known.startswith(f"{name}/") for known in run.names)


def _is_around(run: Diagnosed, name: str) -> bool:
    """Whether the verdict names a file in the run's own directory, which may have been joined to it."""
    return run.run not in ("", ".") and name.startswith(f"{run.run}/")
