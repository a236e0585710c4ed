"""The settings of runs: hyperparameters and config. They are read once, and again when they have changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulseboard.charts.lists.run_files import RunFiles, flat
from pulseboard.charts.lists.tag_sets import TagSets
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Run
from pulseboard.tbformat import kinds

HParams = Mapping[str, float | str | bool | None]

EventFileVersions = tuple[tuple[int, int, int, int], ...]
"""Device, inode and modification time of each event file of a run, and the byte up to which it was read."""


class Settings:
    """What runs were configured with. Thread-safe."""

    def __init__(self, run_files: RunFiles, tag_sets: TagSets) -> None:
        self._run_files = run_files
        self._tag_sets = tag_sets
        self.reads = 0
        """How often hyperparameters were read."""
        self._hparams: dict[str, tuple[EventFileVersions, HParams]] = {}  # by run
        self._restored: dict[EventFileVersions, HParams] = {}  # until they are first used

    def merged(self, run: Run) -> dict[str, Any]:
        """Hyperparameters and config; if both have a name, the hyperparameter counts."""
        return {**self.config(run), **self.hparams(run)}

    def hparams(self, run: Run) -> HParams:
        """The run's hyperparameters; empty if it has none."""
        # The kinds of its tags first: with a thousand runs of hundreds of tags, looking at each one takes a second.
        if kinds.HPARAMS not in self._tag_sets.of(run).kinds:
            return {}
        version = _version_of(run)
        known = self._hparams.get(run.name)
        if known is not None and known[0] == version and version:
            return known[1]
        values = self._restored.pop(version, None)
        if values is None:
            values = run.hparam_values()
            self.reads += 1
        if version:
            self._hparams[run.name] = version, values
        return values

    def forget(self, run: str) -> None:
        """The run is gone."""
        self._hparams.pop(run, None)

    def config(self, run: Run) -> Mapping[str, Any]:
        """The configuration in the run's run.json and in its logs; empty if there is none."""
        recorded = self._run_files.config(run)
        logs = [log for log in run.logs() if isinstance(log, ParsedRun)]
        if not logs:
            return recorded
        merged = dict(recorded)
        for log in logs:
            for name, value in flat(log.config()).items():
                merged.setdefault(name, value)
        return merged

    # ---- for the disk index

    def known(self, run: Run) -> tuple[EventFileVersions, HParams] | None:
        """The versions of a run's files and the hyperparameters in them; None if they were not read."""
        version = _version_of(run)
        values = self._restored.get(version)
        return self._hparams.get(run.name) if values is None else (version, values)

    def restore(self, version: EventFileVersions, values: HParams) -> None:
        """What an earlier process read. It counts if the files have not changed since."""
        self._restored[version] = values


def _version_of(run: Run) -> EventFileVersions:
    """The versions of its files; empty if its hyperparameters are not those of event files alone."""
    if not isinstance(run, EventFileRun):
        return ()
    return tuple(
        (*file.seen.identity, file.seen.mtime_ns, file.log.offset) for file in run.files if file.seen is not None
    )
