"""A run: one training with everything it logged, whatever format it was logged in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pulseboard.core.axes import Step, Tag, WallTime
from pulseboard.core.errors import RunNotFound
from pulseboard.core.locations import location_of
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.core.table import Table
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.axis.names import EPOCH_NAMES, plain
from pulseboard.read.stats import ScalarStats
from pulseboard.read.table import long_table
from pulseboard.read.tag_info import TagInfo
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    # Loading the classes of every kind of value takes longer than reading a small run.
    from pulseboard.core import values as logged
    from pulseboard.read.axis.clock import Placed
    from pulseboard.tbformat.event import EncodedValue

_STEPS = AxisInfo("step")


class Restart(NamedTuple):
    """A resume from an earlier step. Points logged before it at `step` or later are orphaned."""

    step: Step
    wall_time: WallTime


class Run(Table, ABC):
    """One run. Subclasses: event files (`EventFileRun`), other formats (`ParsedRun`), several of them (`JoinedRun`)."""

    name: str
    aliases: tuple[str, ...]
    """Other names the run can be looked up by."""
    format: str
    """`event-file`, or the id of the reader that read it."""
    path: str
    """What it was read from: its directory, or the file that holds its log."""
    directory: str
    """The directory that holds its files."""
    ranks: Mapping[int, Run]
    """What each rank of the training logged, as a run of its own. Rank 0 is the run itself."""
    last_active: WallTime
    """When it last logged something; if it has no wall times, when its files last changed."""

    # ---- tags

    @abstractmethod
    def infos(self) -> dict[Tag, TagInfo]:
        """Every tag, in order of appearance."""

    def tags(self, kind: str | None = None) -> list[Tag]:
        """The tags of one kind ('scalar', 'histogram', 'text', …), or all of them."""
        return [tag for tag, info in self.infos().items() if kind is None or kind in info.kinds]

    def kinds(self) -> list[str]:
        """The kinds of data the run has. An unknown TensorBoard plugin is a kind of its own name."""
        return list(dict.fromkeys(kind for info in self.infos().values() for kind in info.kinds))

    # ---- scalars

    @abstractmethod
    def series(self, tag: Tag, *, rank: int = 0, orphans: bool = False) -> Series:
        """The points of a scalar tag, in the order they were logged. Raises TagNotFound.

        `rank` selects what another rank of the training logged. With `orphans`, points that a restart
        replaced are included, and marked in `Series.orphaned`.
        """

    def _rank(self, number: int) -> Run:
        if number not in self.ranks:
            raise RunNotFound(f"{self.name} (rank {number})", known=[f"rank {n}" for n in self.ranks])
        return self.ranks[number]

    @abstractmethod
    def stats(self) -> Iterator[ScalarStats]:
        """Each scalar tag in one line, without orphaned points."""

    def columns(self) -> dict[str, Any]:
        """One long table of all scalars: `tag`, `step`, `wall_time`, `value`."""
        return long_table((((tag,), self.series(tag)) for tag in self.tags(kinds.SCALAR)), labels=("tag",))

    # ---- axes

    @property
    def axis(self) -> AxisInfo:
        """How the steps of the run were found. A joined run: those of its main log."""
        return _STEPS

    def axis_of(self, tag: Tag) -> AxisInfo:
        """How the steps of a scalar tag were found: what its steps count."""
        from pulseboard.read.axis.clock import axis_of, names_epochs

        log, original = self.source_of(tag)
        return axis_of(original, log.series(original) if names_epochs(original) else None, log.axis)

    def on_clock_of(self, reference: Tag, tag: Tag) -> Placed | None:
        """A scalar series on the steps of another one, such as a validation per epoch on the steps of the loss.

        None if the log does not say where its points belong. Raises TagNotFound.
        """
        from pulseboard.read.axis.clock import put_on

        epochs = next((name for name in self.tags(kinds.SCALAR) if plain(name) in EPOCH_NAMES), None)
        axis = self.axis_of(reference)
        counted = epochs is not None and self.axis_of(epochs).kind == axis.kind
        return put_on(
            self.series(reference),
            self.series(tag),
            axis=self.axis_of(tag),
            reference_axis=axis,
            epochs=self.series(epochs) if counted and epochs is not None else None,
        )

    def _repr_html_(self) -> str:
        from pulseboard.read.notebook import html_of_run

        return html_of_run(self)

    # ---- values of other kinds

    @abstractmethod
    def values(self, tag: Tag, *, kind: str, orphans: bool = False) -> list[Any]:
        """The tag's values of one kind, decoded, in the order they were logged. Raises TagNotFound.

        A value that cannot be decoded is left out, and a note says so.
        """

    def encoded_values(self, tag: Tag, *, orphans: bool = False) -> Iterator[EncodedValue]:
        """The tag's values other than scalars, as they are in event files, in the order they were logged."""
        return iter(())

    def metadata(self, tag: Tag) -> bytes:
        """What event files say about a tag, as bytes; values are decoded with it. Empty if they say nothing."""
        return b""

    def histograms(self, tag: Tag) -> list[logged.Histogram]:
        """The tag's histograms, in legacy and in tensor form."""
        return self.values(tag, kind="histogram")

    def images(self, tag: Tag) -> list[logged.Image]:
        """The tag's images, still encoded."""
        return self.values(tag, kind="image")

    def audio(self, tag: Tag) -> list[logged.Audio]:
        """The tag's audio clips, still encoded."""
        return self.values(tag, kind="audio")

    def texts(self, tag: Tag) -> list[logged.Text]:
        """The tag's texts."""
        return self.values(tag, kind="text")

    # ---- configuration

    @abstractmethod
    def hparams(self) -> logged.HParams | None:
        """The run's hyperparameters; None if it logged none."""

    def hparam_values(self) -> Mapping[str, float | str | bool | None]:
        """The values of its hyperparameters; empty if it logged none."""
        hparams = self.hparams()
        return {} if hparams is None else hparams.values

    def config(self) -> dict[str, Any]:
        """The configuration that was logged with the run; empty if there is none."""
        hparams = self.hparams()
        return {} if hparams is None else dict(hparams.values)

    # ---- the run as a whole

    @property
    def location(self) -> str:
        """What users know its directory as: the URL if it was read from a remote directory, else the path."""
        return location_of(self.directory)

    @property
    def identity(self) -> tuple[str, str]:
        """The location of its log, and which of several runs there it is; empty for the first or only one."""
        return self.location, ""

    @property
    @abstractmethod
    def points(self) -> int:
        """The number of scalar points, orphaned ones included."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """Size of its files on disk, those of other ranks included."""

    @property
    @abstractmethod
    def started(self) -> WallTime:
        """The first wall time; NaN if there is none."""

    @property
    @abstractmethod
    def ended(self) -> WallTime:
        """The last wall time so far; NaN if there is none."""

    @property
    def last_step(self) -> Step | None:
        """The greatest step of any scalar point; None if there are no points."""
        return max((stats.max_step for stats in self.stats() if stats.count), default=None)

    @property
    @abstractmethod
    def last_written(self) -> WallTime:
        """When its files were last written, by the file system's clock: wall times in logs may be anything."""

    def bytes_by_kind(self) -> dict[str, int]:
        """The bytes of its files by kind of data."""
        return {kinds.SCALAR: self.size_bytes} if self.size_bytes else {}

    def restarts(self) -> list[Restart]:
        """The restarts that the log marks. Only event files do."""
        return []

    @property
    def main(self) -> Run:
        """The log that has precedence, if the run is joined from several; else the run itself."""
        return self

    @property
    def whole(self) -> Run:
        """All event files of its directory as one run, as TensorBoard shows it; the run itself if it has none.

        Another one than the run if several trainings were logged to the directory, one after the other.
        """
        return self if self.main is self else self.main.whole

    def logs(self) -> list[Run]:
        """The logs that the run is joined from, the main one first."""
        return [self]

    def source_of(self, tag: Tag) -> tuple[Run, Tag]:
        """The log that a tag's values come from, and the tag's name there."""
        return self, tag

    @abstractmethod
    def paths(self) -> list[str]:
        """The paths of its files, in the order they are read; those of other ranks are not included."""

    @abstractmethod
    def notes(self) -> list[Note]:
        """What is wrong with its files, those of other ranks included."""
