"""The runs of one directory of event files: one, or one for each training that was logged there."""

from __future__ import annotations

from collections.abc import Container

from pulseboard.read.discovery.tree import FoundRun
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.event_files.trainings import Trainings
from pulseboard.rundir import layout


class DirectoryRuns:
    """Keeps `runs` up to date as files are added. `whole` is the run of all files, which is what TensorBoard shows."""

    def __init__(self, whole: EventFileRun) -> None:
        self.whole = whole
        self.runs: dict[str, EventFileRun] = {}
        """By name. Replaced by every update, never changed in place."""
        self._trainings = Trainings()

    def is_of(self, found: FoundRun) -> bool:
        """Whether a run that was found is the one of this directory, under the same names."""
        return self.whole.directory == found.directory and self.whole.aliases == found.aliases

    def update(self, *, taken: Container[str]) -> None:
        """Divide the files of `whole` into trainings. Names in `taken` are those of other directories."""
        groups = self._trainings.of(self.whole.files) if self._may_hold_several() else []
        if len(groups) < 2:
            self.runs = {self.whole.name: self.whole}
            return
        runs: dict[str, EventFileRun] = {}
        for number, files in enumerate(groups, start=1):
            name = self._name_of(number, taken)
            part = self.runs.get(name)
            if part is None or part is self.whole:
                aliases = self.whole.aliases if number == 1 else ()
                part = EventFileRun(name, aliases=aliases, directory=self.whole.directory, whole=self.whole)
            part.set_part(files, number=number, count=len(groups))
            runs[name] = part
        self.runs = runs

    def _may_hold_several(self) -> bool:
        """Not a recorded run, which knows when it was resumed, and not one with several ranks."""
        recorded = layout.recorded_directory(self.whole.directory) != self.whole.directory
        return len(self.whole.files) > 1 and len(self.whole.ranks) == 1 and not recorded

    def _name_of(self, number: int, taken: Container[str]) -> str:
        if number == 1:
            return self.whole.name
        above = "" if self.whole.name == "." else f"{self.whole.name}/"
        name = f"{above}part {number}"
        while name in taken:
            name += "'"
        return name
