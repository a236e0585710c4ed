"""Cases from runs: what was read of a log, as detectors want it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pulseboard.core.series import Series
from pulseboard.core.values import Histogram
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.context import Context
from pulseboard.diagnose.profile import Profile, choose_profile, load_profile
from pulseboard.diagnose.roles import changes_for, possible_roles, read_roles, split_of_directory, words_of
from pulseboard.diagnose.track import Track
from pulseboard.files import layout
from pulseboard.read.every_run import AnyRun

# Histograms are decoded one by one: of more than this many nobody's patience is served.
_MOST_HISTOGRAMS = 400


@dataclass(frozen=True, slots=True)
class Training:
    """One training: a run, or the sibling directories that its splits were written to."""

    name: str
    parts: tuple[tuple[str, AnyRun], ...]  # (what to put before tags, run); nothing for a run by itself

    @property
    def path(self) -> str:
        """The directory that holds all of it."""
        return os.path.commonpath([run.directory for _, run in self.parts])


def trainings(runs: Mapping[str, AnyRun]) -> Iterator[Training]:
    """Runs, those that are splits of one training joined: Keras writes `train/` and `validation/` side by side."""
    groups: dict[str, dict[str, AnyRun]] = {}
    for name, run in runs.items():
        split = split_of_directory(name)
        if split and not any(words_of(tag).split for tag in run.tags("scalar")):
            groups.setdefault(name.rpartition("/")[0], {})[split] = run
    joined = {parent: parts for parent, parts in groups.items() if {"train", "validation"} <= parts.keys()}
    inside = {id(run): parent for parent, parts in joined.items() for run in parts.values()}
    told: set[str] = set()
    for name, run in runs.items():
        parent = inside.get(id(run))
        if parent is None:
            yield Training(name, (("", run),))
        elif parent not in told:
            told.add(parent)
            yield Training(parent or ".", tuple((f"{split}/", part) for split, part in sorted(joined[parent].items())))


def case_of(
    training: Training,
    *,
    profile: str | None = None,
    roles: Mapping[str, str] | None = None,
    now: float | None = None,
    view: Callable[[Series], Series | None] | None = None,
) -> Case:
    """The case of one training. `profile` and `roles` are the user's; without them names decide.

    `view` shows each series as it should be seen, or not at all: up to a step, thinned, left out.
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
            if {"train.loss", "rl.return", "gan.loss"} & set(possible_roles(name)):
                overlaps = max(overlaps, _overlaps(series.steps))
    chosen = load_profile(profile) if profile else choose_profile(tracks)
    main = training.parts[0][1]
    reading = read_roles({tag: len(t) for tag, t in tracks.items()}, given={**chosen.roles, **(roles or {})})
    told = _run_file(main)
    return Case(
        name=training.name,
        path=training.path,
        tracks=tracks,
        reading=reading,
        profile=chosen,
        context=_context(main, told),
        ranks=_ranks(main, tracks),
        histograms=_histograms(training.parts),
        restarts=_restarts(main, tracks),
        overlaps=overlaps,
        now=now,
    )


def profile_named(name: str | None, tags: Iterable[str]) -> Profile:
    """The user's profile, or the one that fits the tags."""
    return load_profile(name) if name else choose_profile(tags)


def _renamed(series: Series, tag: str) -> Series:
    if series.tag == tag:
        return series
    return Series(tag, series.steps, series.wall_times, series.values, series.orphaned)


def _overlaps(steps: Any) -> int:
    """Points at or before a step that was logged already."""
    if len(steps) < 2:
        return 0
    return int((steps[1:] <= np.maximum.accumulate(steps)[:-1]).sum())


def _run_file(run: AnyRun) -> Mapping[str, Any]:
    """The run.json of a recorded run; nothing where there is none, or where it is being written."""
    at = Path(run.directory)
    for directory in (at, Path(str(at).removesuffix(os.sep + layout.EVENTS_DIRECTORY))):
        if (directory / layout.RUN_FILE).is_symlink():  # it may lead anywhere; see serve's Access
            continue
        try:
            told = json.loads((directory / layout.RUN_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(told, dict):
            return told
    return {}


def _context(run: AnyRun, told: Mapping[str, Any]) -> Context:
    config: dict[str, Any] = {}
    hparams = run.hparams() if "hparams" in run.kinds() else None
    if hparams is not None:
        config.update(hparams.values)
    if isinstance(told.get("config"), dict):
        config.update(told["config"])
    status, heartbeat = told.get("status"), told.get("heartbeat")
    return Context.of(
        config,
        status=status if isinstance(status, str) else None,
        heartbeat=heartbeat if isinstance(heartbeat, int | float) else None,
        world_size=told.get("world_size"),
    )


def _ranks(run: AnyRun, tracks: Mapping[str, Track]) -> dict[int, Mapping[str, Track]]:
    ranks: dict[int, Mapping[str, Track]] = {0: tracks}
    for number, rank in run.ranks.items():
        if number != 0:
            ranks[number] = {tag: Track.of(rank.series(tag), changes=changes_for(tag)) for tag in rank.tags("scalar")}
    return ranks


def _restarts(run: AnyRun, tracks: Mapping[str, Track]) -> list[int]:
    """The resumes that came after the first point: a session start before it is the beginning."""
    firsts = [track.first_step for track in tracks.values() if track.first_step is not None]
    return [restart.step for restart in run.restarts() if firsts and restart.step > min(firsts)]


def _histograms(parts: Iterable[tuple[str, AnyRun]]) -> dict[str, list[Histogram]]:
    found: dict[str, list[Histogram]] = {}
    for prefix, run in parts:
        tags = run.tags("histogram")
        if sum(run.infos()[tag].spans for tag in tags) <= _MOST_HISTOGRAMS:
            found.update({prefix + tag: run.histograms(tag) for tag in tags})
    return found
