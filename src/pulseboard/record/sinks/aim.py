"""The Aim sink: scalars, distributions, images, texts and config, in an Aim run of its own."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.core.histogram import Histogram
from pulseboard.record.messages import warn_once
from pulseboard.record.optional_import import load
from pulseboard.record.setting import Setting
from pulseboard.record.sink import RunInfo, sink
from pulseboard.record.tracker import Tracker, earlier_id, keep_id, plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SETTINGS = [
    Setting("aim_experiment", "the experiment's name", key="experiment"),
    Setting("aim_repo", "a directory, or aim://host:port", key="repo"),
    Setting("aim_name", "the run's name in Aim; without it, the run's id", key="name"),
]

_BINS = 64  # as Aim itself uses
# A training that logs everything at one step would create one context per value.
_MAX_CONTEXTS = 16


@sink(id="aim", settings=SETTINGS)
class Aim(Tracker):
    """Forwards a run to Aim.

    Aim keeps one value per step. A value for a step that a metric has already passed goes to the same metric in the
    context {"again": 1}, the next one to {"again": 2}. So a metric that goes back or logs a step twice is shown as
    several curves, and nothing is overwritten. A resumed run overwrites the steps it repeats.
    """

    def __init__(self, info: RunInfo) -> None:
        self._aim = load("aim", what="report_to aim", package="aim", extra="aim")
        self._last_steps: dict[str, list[int]] = {}  # tag -> last step in each context
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
            # Pulseboard records telemetry and console output itself.
            "system_tracking_interval": None,
            "capture_terminal_logs": False,
        }
        if before := earlier_id(info, sink="aim"):
            # A training that was killed on another machine leaves a lock that only force_resume removes.
            for force in (False, True):
                try:
                    return self._aim.Run(before, force_resume=force, **arguments)
                except Exception:
                    continue  # deleted, or in another repo: create a new run
        return self._aim.Run(None, **arguments)

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Track each value. Aim sets the wall time itself."""
        for tag, value in values.items():
            self._track(float(value), tag, step)

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """Track a distribution, in bins of equal width as Aim requires."""
        counts, low, high = evenly_binned(histogram, bins=_BINS)
        if len(counts):
            self._track(self._aim.Distribution(hist=counts, bin_range=(low, high)), tag, histogram.step)

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """Track a text."""
        self._track(self._aim.Text(text), tag, step)

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """Track an image."""
        from PIL import Image  # a dependency of Aim

        self._track(self._aim.Image(Image.open(io.BytesIO(png))), tag, step)

    def config(self, values: Mapping[str, Any]) -> None:
        """Add the values to the run's hparams, replacing those of the same name."""
        self._hparams |= plain(values)
        self._run["hparams"] = self._hparams

    def close(self, *, status: str) -> None:
        """End the Aim run. Aim has no statuses, so the status is an attribute of the run."""
        self._run["status"] = status
        self._run.close()

    def _track(self, value: Any, tag: str, step: int) -> None:
        last_steps = self._last_steps.setdefault(tag, [])
        again = next((n for n, last in enumerate(last_steps) if last < step), len(last_steps))
        if again == _MAX_CONTEXTS:
            again -= 1
            warn_once(
                f"aim {tag}",
                f"sink aim: {tag!r} was logged more than {again} times for step {step} or an earlier one. Aim keeps "
                "one value per step, so some are overwritten there; the event file has them all. Pass a rising step.",
            )
        last_steps[again : again + 1] = [step]
        self._run.track(value, name=tag, step=step, context={"again": again} if again else {})


def evenly_binned(histogram: Histogram, *, bins: int) -> tuple[NDArray[np.float64], float, float]:
    """(counts, low, high) in bins of equal width, assuming that values are spread evenly within each bucket."""
    import numpy as np

    finite = np.isfinite(histogram.lefts) & np.isfinite(histogram.rights)
    lefts, rights, counts = (column[finite] for column in (histogram.lefts, histogram.rights, histogram.counts))
    if not len(counts):
        return np.empty(0), 0.0, 0.0
    low, high = float(lefts.min()), float(rights.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    # The number of values below each edge: all of the buckets before it, and a fraction of the one it falls in.
    width = np.where(rights > lefts, rights - lefts, 1.0)
    share = np.clip((edges[:, None] - lefts) / width, 0.0, 1.0)
    share[:, rights <= lefts] = edges[:, None] > lefts[rights <= lefts]
    share[-1] = 1.0
    return np.diff(share @ counts), low, high
