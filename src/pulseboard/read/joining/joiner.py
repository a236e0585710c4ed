"""Finds the logs that belong to one training among runs of all formats, and joins them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pulseboard.read.discovery.log_directory import path_and_parents
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.joining.agreement import Agreement, Comparable, agreement_of, agreement_of_environments
from pulseboard.read.joining.joined_run import JoinedRun
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Run
from pulseboard.rundir import layout
from pulseboard.tbformat import kinds

# Beyond this many runs near a log, only those in its own directory are compared with it.
_MAX_NEAR = 200
# W&B keeps all runs of a project in a directory of this name, next to what other loggers write, and each run in one of
# its own: run-20251226_222106-7gqy82kd. There it also keeps what the program printed.
_TRACKER_DIRECTORIES = frozenset({"wandb", ".wandb"})
_TRACKED_RUN = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-\w+|latest-run\S*")

R = TypeVar("R", bound=Run)

_Key = tuple[str, str]
"""A log: its path, and its name within the file (for event files, the run's name)."""


@dataclass(slots=True)
class _Compared:
    points: tuple[int, int]
    tags: tuple[int, int]
    agreement: Agreement

    def holds(self, one: Run, other: Run) -> bool:
        """Whether comparing again is unnecessary: neither log has doubled, shrunk or got another tag since."""
        sizes = zip(self.points, (one.points, other.points), strict=True)
        if any(not before <= now <= 2 * before for before, now in sizes):
            return False
        return self.tags == (len(one.tags(kinds.SCALAR)), len(other.tags(kinds.SCALAR)))


class Joiner:
    """Joins runs, and remembers what it compared: a training that grows is not compared again at every step."""

    def __init__(self) -> None:
        self.near: set[str] = set()
        """The runs of event files that were compared with other logs in the last call of `join`."""
        self.has_logs = False
        """Whether the last call had any runs of formats other than event files."""
        self._compared: dict[tuple[_Key, _Key], _Compared] = {}
        self._keys: set[_Key] = set()  # of all logs in `_compared`
        self._joined: dict[str, JoinedRun] = {}
        self._comparables: dict[int, Comparable] = {}  # by the id of a run; during a call of `join`
        self._indexed: Mapping[str, EventFileRun] | None = None
        self._event_file_runs: dict[str, list[EventFileRun]] = {}  # by directory: the runs at or below it

    def is_alone(self, run: ParsedRun) -> bool:
        """Whether there was no other log that this one could be joined with."""
        return _key(run) not in self._keys

    def join(self, event_file_runs: Mapping[str, EventFileRun], parsed: Iterable[ParsedRun]) -> dict[str, Run]:
        """All runs by name. A log that repeats or completes another is part of the other's run."""
        if self._indexed is not event_file_runs:
            self._event_file_runs = _by_directory((run, place_of(run)) for run in event_file_runs.values())
            self._indexed = event_file_runs
        self.near, self._comparables = set(), {}
        logs = sorted(parsed, key=lambda run: (-len(run.tags()), run.name))
        self.has_logs = bool(logs)
        near_logs = _by_directory((run, run.training_directory) for run in logs)
        members: dict[int, list[Run]] = {}  # by the id of any member: all logs of its training, the main one first
        compared: dict[tuple[_Key, _Key], _Compared] = {}
        for run in logs:
            group = self._group_of(run, near_logs, members, compared)
            group.append(run)
            members[id(run)] = group
        self._compared = compared
        self._keys = {key for keys in compared for key in keys}
        out: dict[str, Run] = dict(event_file_runs)
        joined: dict[str, JoinedRun] = {}
        for group in {id(group): group for group in members.values()}.values():
            main = group[0]
            if len(group) == 1:
                out[main.name] = main
                continue
            joined[main.name] = out[main.name] = self._joined_run(group, compared)
        self._joined = joined
        self._comparables = {}
        return out

    def _group_of(
        self,
        run: ParsedRun,
        near_logs: Mapping[str, list[ParsedRun]],
        members: dict[int, list[Run]],
        compared: dict[tuple[_Key, _Key], _Compared],
    ) -> list[Run]:
        """The logs of the training that `run` belongs to; an empty list if there are none."""
        best: tuple[int, list[Run]] = (0, [])
        for other in self._near(run, near_logs):
            if isinstance(other, ParsedRun):
                if id(other) not in members or not _may_be_joined(run, other):
                    continue
                if best[1] and isinstance(best[1][0], EventFileRun):
                    continue
            else:
                self.near.add(other.name)
            agreement = self._agreement(run, other, compared)
            if agreement.same_training and agreement.agreed_points > best[0]:
                best = agreement.agreed_points, members.setdefault(id(other), [other])
        return best[1]

    def _near(self, run: ParsedRun, near_logs: Mapping[str, list[ParsedRun]]) -> Iterator[Run]:
        """The runs at and below the directory of a log, and if they are few, those in sibling directories.

        The Hugging Face Trainer keeps checkpoints in `results/` and event files in `logs/`. Of a log that W&B keeps,
        those of the whole project.
        """
        directory = run.training_directory
        project = _project_of(directory)
        places = [*([] if project is None else [project]), os.path.dirname(directory), directory]
        for runs in (self._event_file_runs, near_logs):
            found = (runs.get(place, []) for place in places)
            few = next((around for around in found if len(around) <= _MAX_NEAR), None)
            yield from few if few is not None else (one for one in runs[directory] if place_of(one) == directory)

    def _agreement(self, one: ParsedRun, other: Run, compared: dict[tuple[_Key, _Key], _Compared]) -> Agreement:
        key = (_key(one), _key(other))
        before = compared.get(key) or self._compared.get(key)
        if before is None or not before.holds(one, other):
            same_directory = place_of(other) == one.training_directory and one.format != other.format
            agreement = agreement_of_environments(one, other)
            agreement = agreement or agreement_of(*map(self._comparable, (one, other)), same_directory=same_directory)
            sizes = (one.points, other.points), (len(one.tags(kinds.SCALAR)), len(other.tags(kinds.SCALAR)))
            before = _Compared(*sizes, agreement)
        compared[key] = before
        return before.agreement

    def _comparable(self, run: Run) -> Comparable:
        if id(run) not in self._comparables:
            self._comparables[id(run)] = Comparable(run)
        return self._comparables[id(run)]

    def _joined_run(self, group: list[Run], compared: dict[tuple[_Key, _Key], _Compared]) -> JoinedRun:
        main, others = group[0], [run for run in group[1:] if isinstance(run, ParsedRun)]
        parts = []
        for i, run in enumerate(others):
            found = [self._agreement(run, other, compared) for other in (main, *others[:i])]
            parts.append((run, _combined(found)))
        before = self._joined.get(main.name)
        if before is not None and before.main is main and before.others == tuple(parts):
            return before
        return JoinedRun(main, parts)


def _combined(agreements: list[Agreement]) -> Agreement:
    """The agreement of a log with several others: a tag that one of them has is not added again."""
    if len(agreements) == 1:
        return agreements[0]
    out = Agreement(same_training=True)
    for one in agreements:
        out.same |= one.same
        out.longer |= one.longer
        out.differing |= one.differing
        out.is_parallel |= one.is_parallel
    out.differing = {tag: other for tag, other in out.differing.items() if tag not in out.same}
    return out


def _may_be_joined(one: ParsedRun, other: ParsedRun) -> bool:
    """Not two runs of one file, and not the same kind of log of two directories, which is how copies look.

    What W&B keeps of a program's output is the same kind of log as a file that the program wrote itself.
    """
    if one.path == other.path:
        return False
    if one.training_directory == other.training_directory or one.format != other.format:
        return True
    return (_project_of(one.training_directory) is None) != (_project_of(other.training_directory) is None)


def _project_of(directory: str) -> str | None:
    """The directory in which a program was started that logged to W&B into this directory; None if it did not."""
    for place in path_and_parents(directory):
        above, name = os.path.split(place)
        if not _TRACKED_RUN.fullmatch(name) and os.path.basename(above) not in _TRACKER_DIRECTORIES:
            continue
        while os.path.basename(above) in _TRACKER_DIRECTORIES:
            above = os.path.dirname(above)
        return above
    return None


def place_of(run: Run) -> str:
    """The directory of a whole training."""
    return run.training_directory if isinstance(run, ParsedRun) else layout.recorded_directory(run.directory)


def _key(run: Run) -> _Key:
    return (run.path, run.name_in_file) if isinstance(run, ParsedRun) else (run.path, run.name)


def _by_directory(runs: Iterable[tuple[R, str]]) -> dict[str, list[R]]:
    out: dict[str, list[R]] = {}
    for run, directory in runs:
        for above in path_and_parents(directory):
            out.setdefault(above, []).append(run)
    return out
