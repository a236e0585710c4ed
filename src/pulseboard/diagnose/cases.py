"""Cases from runs: what was read from a log, in the form detectors need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pulseboard.core.histogram import Histogram
from pulseboard.core.locations import location_of
from pulseboard.core.series import Series
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.context import Context, ForeignConfig
from pulseboard.diagnose.profile import Profile, choose_profile, load_profile
from pulseboard.diagnose.roles.resolve import changes_for, possible_roles, read_tracks
from pulseboard.diagnose.roles.words import split_of_directory, words_of
from pulseboard.diagnose.track import Track
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.config.sources import config_sources, run_file_of, shared_directories
from pulseboard.read.run import Run

# Histograms are decoded one by one; more than this many would take too long.
_MOST_HISTOGRAMS = 400


@dataclass(frozen=True, slots=True)
class Training:
    """One training: a run, or sibling directories that hold its splits."""

    name: str
    parts: tuple[tuple[str, Run], ...]  # (prefix for tags, run); an empty prefix for a single run
    shared: frozenset[str] = frozenset()  # directories that hold other trainings as well

    @property
    def path(self) -> str:
        """The directory that contains all of it."""
        return location_of(os.path.commonpath([run.directory for _, run in self.parts]))


def trainings(runs: Mapping[str, Run]) -> Iterator[Training]:
    """The trainings of a log. Splits of one training are joined: Keras writes `train/` and `validation/`."""
    groups: dict[str, dict[str, Run]] = {}
    for name, run in runs.items():
        split = split_of_directory(name)
        if split and not any(words_of(tag).split for tag in run.tags("scalar")):
            groups.setdefault(name.rpartition("/")[0], {})[split] = run
    joined = {parent: parts for parent, parts in groups.items() if {"train", "validation"} <= parts.keys()}
    inside = {id(run): parent for parent, parts in joined.items() for run in parts.values()}
    shared = shared_directories(runs.values())
    seen: set[str] = set()
    for name, run in runs.items():
        parent = inside.get(id(run))
        if parent is None:
            yield Training(name, (("", run),), shared)
        elif parent not in seen:
            seen.add(parent)
            parts = tuple((f"{split}/", part) for split, part in sorted(joined[parent].items()))
            yield Training(parent or ".", parts, shared)


def case_of(
    training: Training,
    *,
    profile: str | None = None,
    roles: Mapping[str, str] | None = None,
    now: float | None = None,
    view: Callable[[Series], Series | None] | None = None,
) -> Case:
    """The case of one training. `profile` and `roles` override what is recognized.

    `view` may cut, thin or leave out each series.
    """
    tracks: dict[str, Track] = {}
    overlaps = 0
    for prefix, run in training.parts:
        for tag in run.tags("scalar"):
            name = prefix + tag
            series = run.series(tag) if view is None else view(run.series(tag))
            if series is None:
                continue
            tracks[name] = Track.of(_renamed(series, name), changes=changes_for(name))
            if counts_overlaps(name):
                overlaps = max(overlaps, overlaps_in(series.steps))
    chosen = load_profile(profile) if profile else choose_profile(tracks)
    main = training.parts[0][1]
    reading = read_tracks(tracks, given={**chosen.roles, **(roles or {})})
    return Case(
        name=training.name,
        path=training.path,
        tracks=tracks,
        reading=reading,
        profile=chosen,
        context=_context(training),
        ranks=_ranks(main, tracks),
        histograms=_histograms(training.parts),
        restarts=_restarts(main, tracks),
        overlaps=overlaps,
        axis=_axis(training, reading.first("train.loss")),
        now=now,
    )


def profile_named(name: str | None, tags: Iterable[str]) -> Profile:
    """The given profile, or the one that fits the tags."""
    return load_profile(name) if name else choose_profile(tags)


def _renamed(series: Series, tag: str) -> Series:
    if series.tag == tag:
        return series
    return Series(tag, series.steps, series.wall_times, series.values, series.orphaned)


def counts_overlaps(tag: str) -> bool:
    """Whether a repeated step in this series means that something was trained twice."""
    return not {"train.loss", "rl.return", "gan.loss"}.isdisjoint(possible_roles(tag))


def overlaps_in(steps: Any) -> int:
    """The number of points at or before a step that was already logged, other than that of the point before.

    Where only the epoch is known, many points in a row are at one step.
    """
    if len(steps) < 2:
        return 0
    return int(((steps[1:] <= np.maximum.accumulate(steps)[:-1]) & (steps[1:] != steps[:-1])).sum())


def _context(training: Training) -> Context:
    run = training.parts[0][1]
    run_file = run_file_of(run)
    # A recorded run has its whole configuration in run.json, and live diagnosis knows no other.
    sources, notes = config_sources(run, shared=training.shared, files=not run_file.id)
    return Context.of(
        run_file.config,
        others=[ForeignConfig(one.where, one.values, one.is_own) for one in sources],
        status=run_file.status,
        heartbeat=run_file.heartbeat,
        world_size=run_file.world_size,
        doubts=tuple(map(str, notes)),
    )


def _axis(training: Training, tag: str | None) -> AxisInfo | None:
    """What the steps of a tag count."""
    if tag is None:
        return None
    for prefix, run in training.parts:
        if tag.startswith(prefix) and tag.removeprefix(prefix) in run.infos():
            return run.axis_of(tag.removeprefix(prefix))
    return None


def _ranks(run: Run, tracks: Mapping[str, Track]) -> dict[int, Mapping[str, Track]]:
    ranks: dict[int, Mapping[str, Track]] = {0: tracks}
    for number, rank in run.ranks.items():
        if number != 0:
            ranks[number] = {tag: Track.of(rank.series(tag), changes=changes_for(tag)) for tag in rank.tags("scalar")}
    return ranks


def _restarts(run: Run, tracks: Mapping[str, Track]) -> list[int]:
    """The resumes after the first point. A session start before it is the start of the run."""
    firsts = [track.first_step for track in tracks.values() if track.first_step is not None]
    return [restart.step for restart in run.restarts() if firsts and restart.step > min(firsts)]


def _histograms(parts: Iterable[tuple[str, Run]]) -> dict[str, list[Histogram]]:
    found: dict[str, list[Histogram]] = {}
    for prefix, run in parts:
        tags = run.tags("histogram")
        if sum(run.infos()[tag].spans for tag in tags) <= _MOST_HISTOGRAMS:
            found.update({prefix + tag: run.histograms(tag) for tag in tags})
    return found
