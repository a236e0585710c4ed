"""Weights & Biases: scalars, histograms, images, texts and config of a run, in a W&B run of its own."""

from __future__ import annotations

import base64
import html
import io
import os
from collections.abc import Mapping
from typing import Any

from pulseboard.core.values import Histogram
from pulseboard.files.json_log import metrics_of
from pulseboard.record.optional import load
from pulseboard.record.pie import pie_svg
from pulseboard.record.report import say
from pulseboard.record.sink import RunInfo, sink
from pulseboard.record.tracker import Tracker, earlier_id, keep_id, plain, step_of, wall_time_of

STEP = "trainer/step"
"""The x-axis of all charts. W&B's own step counts `log` calls: it must rise, and ours may go back."""

_MOST_BUCKETS = 512  # wandb.Histogram takes no more
_EXIT_CODES = {"finished": 0, "failed": 1, "killed": 255}  # 255: what W&B itself says of an interrupted run


@sink(id="wandb")
class WandB(Tracker):
    """Every setting `wandb_x` is argument `x` of wandb.init: project, name, entity, mode, group, …

    What is not set is left to W&B, its WANDB_… variables included. Where nobody has chosen a mode and
    going online fails, for want of a login or of a network, the run is kept offline for `wandb sync`.

    W&B prints nothing but warnings, and does not capture the console (WANDB_CONSOLE=wrap changes that).
    """

    style = "wandb"

    def __init__(self, info: RunInfo) -> None:
        self._wandb = load("wandb", what="report_to wandb", package="wandb", extra="wandb")
        self._run = self._begin(info)
        self._run.define_metric(STEP)
        self._run.define_metric("*", step_metric=STEP)
        self._slices: dict[str, float] = {}  # of the last pie
        self._say_where()

    def _begin(self, info: RunInfo) -> Any:
        wandb = self._wandb
        # Without this W&B would ask for a login, from this thread, in the midst of the job's output.
        session = wandb.setup(settings=wandb.Settings(show_info=False))
        arguments = _arguments(info)
        mode = arguments.get("mode") or session.settings.mode
        before = earlier_id(info, sink="wandb")
        # Not offline: W&B counts rows from 0 there, and `wandb sync` would drop those the server has.
        going_on = {"id": before, "resume": "allow"} if before and mode == "online" else {}
        try:
            run = wandb.init(**{**arguments, **going_on})
        except wandb.Error as error:
            if "mode" in arguments or "WANDB_MODE" in os.environ:
                raise
            why = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
            say(f"W&B cannot be reached ({why}), so the run is kept offline.")
            return wandb.init(**{**arguments, "mode": "offline"})
        if not (run.offline or run.disabled):
            keep_id(info, run.id, sink="wandb")
        return run

    def _say_where(self) -> None:
        if self._run.disabled:
            return
        if self._run.offline:
            say(f"W&B run kept offline. Upload it with: wandb sync {self._run.settings.sync_dir}")
        else:
            say(f"W&B run: {self._run.url}")

    # ---- what is logged

    def _log(self, values: dict[str, Any], *, step: int, wall_time: float) -> None:
        # One row of W&B's history a call: none is merged with or replaced by another of the same step.
        self._run.log({**values, STEP: step, "_timestamp": wall_time})

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """One row, with our step beside the values."""
        self._log(dict(values), step=step, wall_time=wall_time)

    def record(self, record: dict[str, Any]) -> None:
        """As scalars or config; memory by segment as a pie."""
        if record.get("log") == "allocator":
            self._pie(record)
        else:
            super().record(record)

    def _pie(self, record: dict[str, Any]) -> None:
        """GPU memory by segment, as a picture and as a table, whenever it has changed.

        A picture of our own: W&B has no pie among its charts, a custom one must be stored in the
        account first, and Plotly would be a package more.
        """
        slices = metrics_of(record, style="wandb")
        if not slices or slices == self._slices:
            return
        self._slices = slices
        table = self._wandb.Table(columns=["segment", "mib"], data=[[name, mib] for name, mib in slices.items()])
        picture = self._wandb.Html(
            pie_svg(slices, unit="MiB", title="GPU memory by segment"), inject=False, data_is_not_path=True
        )
        values = {"allocator/pie": picture, "allocator/segments": table}
        self._log(values, step=step_of(record), wall_time=wall_time_of(record))

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """The buckets as they are; of more than W&B takes, neighbours are joined."""
        import numpy as np

        counts = histogram.counts
        if not len(counts):
            return
        firsts = np.linspace(0, len(counts), min(len(counts), _MOST_BUCKETS), endpoint=False).astype(int)
        edges = np.append(histogram.lefts[firsts], histogram.rights[-1])
        value = self._wandb.Histogram(np_histogram=(np.add.reduceat(counts, firsts), edges))
        self._log({tag: value}, step=histogram.step, wall_time=histogram.wall_time)

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """As a panel: W&B shows no plain strings."""
        page = f'<pre style="white-space: pre-wrap">{html.escape(text)}</pre>'
        value = self._wandb.Html(page, inject=False, data_is_not_path=True)
        self._log({tag: value}, step=step, wall_time=wall_time)

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """As an image; without Pillow, which wandb.Image needs, in a page."""
        try:
            from PIL import Image

            value = self._wandb.Image(Image.open(io.BytesIO(png)))
        except ImportError:
            data = base64.b64encode(png).decode("ascii")
            value = self._wandb.Html(f'<img src="data:image/png;base64,{data}">', inject=False, data_is_not_path=True)
        self._log({tag: value}, step=step, wall_time=wall_time)

    def config(self, values: Mapping[str, Any]) -> None:
        """Into the run's config. What was there under the same names is replaced."""
        self._run.config.update(plain(values), allow_val_change=True)

    def close(self, *, status: str) -> None:
        """Wait for what is being uploaded, and end the W&B run."""
        self._run.finish(exit_code=_EXIT_CODES.get(status, 1))


def _arguments(info: RunInfo) -> dict[str, Any]:
    told = {key.removeprefix("wandb_"): value for key, value in info.settings.items() if key.startswith("wandb_")}
    return {
        "config": plain(info.config),
        "tags": info.tags or None,
        "notes": info.notes or None,
        # A run of the job's own stays the job's own, and the one that `wandb.log` means.
        "reinit": "create_new",
        "settings": {"show_info": False} | ({} if "WANDB_CONSOLE" in os.environ else {"console": "off"}),
        "name": None if "WANDB_NAME" in os.environ else info.id,
    } | {name: value for name, value in told.items() if value is not None}
