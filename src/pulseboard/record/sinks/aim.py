"""Aim: scalars, distributions, images, texts and config of a run, in an Aim run of its own."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.core.values import Histogram
from pulseboard.record.optional import load
from pulseboard.record.report import say_once
from pulseboard.record.sink import RunInfo, sink
from pulseboard.record.tracker import Tracker, earlier_id, keep_id, plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BINS = 64  # Aim's own number
# A job that logs everything at one step would make a context of every value.
_MOST_CONTEXTS = 16


@sink(id="aim")
class Aim(Tracker):
    """Settings: aim_experiment, aim_repo (a directory or aim://host:port), aim_name.

    Aim keeps one value a step. A value for a step that a metric has passed already goes to the same
    metric in the context {"again": 1}, the next to {"again": 2}: a line that goes back or logs twice
    shows as several lines, and nothing is written over. A resumed run writes over what it repeats.
    """

    def __init__(self, info: RunInfo) -> None:
        self._aim = load("aim", what="report_to aim", package="aim", extra="aim")
        self._last_steps: dict[str, list[int]] = {}  # of each metric, in each context
        self._hparams: dict[str, Any] = {}
        self._run = self._open(info)
        self._run.name = info.settings.get("aim_name") or info.id
        if info.notes:
            self._run.description = info.notes
        for tag in sorted(set(info.tags) - set(self._run.tags)):
            self._run.add_tag(tag)
        if info.config:
            self.config(info.config)
        keep_id(info, self._run.hash, sink="aim")

    def _open(self, info: RunInfo) -> Any:
        arguments = {
            "repo": info.settings.get("aim_repo"),
            "experiment": info.settings.get("aim_experiment"),
            # The job's telemetry and console are ours to record.
            "system_tracking_interval": None,
            "capture_terminal_logs": False,
        }
        if before := earlier_id(info, sink="aim"):
            # A job that was killed on another machine has left a lock that only force removes.
            for force in (False, True):
                try:
                    return self._aim.Run(before, force_resume=force, **arguments)
                except Exception:
                    continue  # with force too: deleted, or in another repo; a new run it is
        return self._aim.Run(None, **arguments)

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Each value for its step. Aim dates it itself, when it comes."""
        for tag, value in values.items():
            self._track(float(value), tag, step)

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """As a distribution, whose bins Aim wants equally wide."""
        counts, low, high = evenly_binned(histogram, bins=_BINS)
        if len(counts):
            self._track(self._aim.Distribution(hist=counts, bin_range=(low, high)), tag, histogram.step)

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """As a text."""
        self._track(self._aim.Text(text), tag, step)

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """As an image."""
        from PIL import Image  # Aim brings it

        self._track(self._aim.Image(Image.open(io.BytesIO(png))), tag, step)

    def config(self, values: Mapping[str, Any]) -> None:
        """Into the run's hparams. What was there under the same names is replaced."""
        self._hparams |= plain(values)
        self._run["hparams"] = self._hparams

    def close(self, *, status: str) -> None:
        """End the Aim run. Aim knows only that a run ended, so the status is an attribute."""
        self._run["status"] = status
        self._run.close()

    def _track(self, value: Any, tag: str, step: int) -> None:
        last_steps = self._last_steps.setdefault(tag, [])
        again = next((n for n, last in enumerate(last_steps) if last < step), len(last_steps))
        if again == _MOST_CONTEXTS:
            again -= 1
            say_once(
                f"aim {tag}",
                f"sink aim: {tag!r} came more than {again} times for step {step} or before it. Aim keeps one value "
                "a step, so some are written over there; the event file has them all. Pass a rising step.",
            )
        last_steps[again : again + 1] = [step]
        self._run.track(value, name=tag, step=step, context={"again": again} if again else {})


def evenly_binned(histogram: Histogram, *, bins: int) -> tuple[NDArray[np.float64], float, float]:
    """(counts, low, high) of equally wide bins. A bucket's values are taken to lie evenly in it."""
    import numpy as np

    finite = np.isfinite(histogram.lefts) & np.isfinite(histogram.rights)
    lefts, rights, counts = (column[finite] for column in (histogram.lefts, histogram.rights, histogram.counts))
    if not len(counts):
        return np.empty(0), 0.0, 0.0
    low, high = float(lefts.min()), float(rights.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    # How many values lie below each edge: all of the buckets before it, and its share of its own.
    width = np.where(rights > lefts, rights - lefts, 1.0)
    share = np.clip((edges[:, None] - lefts) / width, 0.0, 1.0)
    share[:, rights <= lefts] = edges[:, None] > lefts[rights <= lefts]
    share[-1] = 1.0
    return np.diff(share @ counts), low, high
