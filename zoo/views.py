"""Views: the same training, logged in another way."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from pulseboard.core.series import Series
from pulseboard.diagnose.cases import Training
from pulseboard.read.run import Run
from pulseboard.rundir import layout
from pulseboard.rundir.run_file import find_run_file
from zoo.plan import PlannedTraining
from zoo.scoring.names import NEEDS_MORE, ordinary, renamed, style_for
from zoo.scoring.seen_run import Points, SeenRun, select

See = Callable[[Run, PlannedTraining], Run]


@dataclass(frozen=True)
class View:
    """A way to log a training, and what cannot be found in it."""

    see: See = field(default=lambda run, _: run)
    until: float = 1.0  # the share of the training that is seen; a fault that starts later is not there yet
    hides: frozenset[str] = frozenset()  # findings that need what the view leaves out
    has_config: bool = True

    def of(self, training: Training, planned: PlannedTraining) -> Training:
        """The training as it is seen."""
        return replace(training, parts=tuple((prefix, self.see(run, planned)) for prefix, run in training.parts))


FULL = View()

# Decoys that are harmless because the configuration declares what they do: without it, an alarm is not wrong.
DECLARED = frozenset(
    {
        "batch-size-schedule",
        "frozen-backbone-declared",
        "frozen-patches-declared",
        "new-head-declared",
        "sequence-length-schedule",
        "warm-restarts-declared",
    }
)


def up_to(step: int) -> Points:
    """Only the points up to a step."""
    return lambda series: select(series, np.flatnonzero(series.steps <= step))


def every(n: int) -> Points:
    """Every n-th point of long series; evaluations and the like are already sparse."""
    return lambda series: select(series, np.arange(0, len(series), n)) if len(series) >= 20 * n else series


def means_of(n: int) -> Points:
    """Means of n points."""

    def view(series: Series) -> Series:
        if len(series) < 20 * n:
            return series
        cut = len(series) - len(series) % n
        last = select(series, np.arange(n - 1, cut, n))
        means = series.values[:cut].reshape(-1, n).mean(axis=1)
        return Series(last.tag, last.steps, last.wall_times, means, last.orphaned)

    return view


def without(share: float) -> Points:
    """Leave out a share of the tags, the same ones in every run."""

    def view(series: Series) -> Series | None:
        fraction = hashlib.sha256(series.tag.encode()).digest()[0] / 256
        # Losses stay: without them there is nothing to diagnose.
        return None if fraction < share and "loss" not in series.tag.lower() else series

    return view


def only_ordinary(run: Run, planned: PlannedTraining) -> Run:
    """Loss, accuracy, learning rate, gradient norm and times under our names, and no configuration."""
    names = {tag: tag for tag in ordinary(run.tags("scalar")).values()}
    return SeenRun(run, names=names, config={}, other_ranks=False)


def foreign_names(run: Run, planned: PlannedTraining) -> Run:
    """The ordinary metrics under the names of some framework, and no configuration."""
    names = renamed(run.tags("scalar"), style_for(planned.name))
    return SeenRun(run, names=names, config={}, other_ranks=False)


def no_config(run: Run, planned: PlannedTraining) -> Run:
    """Everything that was logged, but no run.json and no configuration."""
    return SeenRun(run, config={})


def cut(share: float) -> View:
    """The training while it runs, when this share of its planned steps is done."""

    def see(run: Run, planned: PlannedTraining) -> Run:
        return SeenRun(run, last_step=int(share * planned.steps), config=_config(run))

    return View(see, until=share, hides=frozenset({"run-stalled"}))


def thinned(points: Points) -> View:
    """The same tags with other points."""
    return View(lambda run, _: SeenRun(run, points=points))


def _config(run: Run) -> dict[str, object]:
    """What run.json says about the configuration; not how the run ended."""
    recorded = find_run_file(run.directory) or find_run_file(layout.recorded_directory(run.directory))
    return {**run.config(), **(recorded.config if recorded else {})}


VIEWS: dict[str, View] = {
    "ordinary metrics only": View(only_ordinary, hides=NEEDS_MORE, has_config=False),
    "foreign names": View(foreign_names, hides=NEEDS_MORE, has_config=False),
    "no run.json or config": View(no_config, hides=frozenset({"run-stalled"}), has_config=False),
    "every 10th point": thinned(every(10)),
    "cut at 30 %": cut(0.3),
    "cut at 60 %": cut(0.6),
    "means of 10": thinned(means_of(10)),
    "means of 20": thinned(means_of(20)),  # means of 50 would leave only eight points of most trainings
    "30 % of metrics missing": thinned(without(0.3)),
}
