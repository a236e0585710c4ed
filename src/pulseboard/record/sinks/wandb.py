"""The Weights & Biases sink: scalars, histograms, images, texts and config, in a W&B run of its own."""

from __future__ import annotations

import base64
import html
import io
import os
from collections.abc import Mapping
from typing import Any

from pulseboard.core.histogram import Histogram
from pulseboard.record.media.pie import pie_svg
from pulseboard.record.messages import inform, warn
from pulseboard.record.optional_import import load
from pulseboard.record.setting import Setting
from pulseboard.record.sink import RunInfo, sink
from pulseboard.record.tracker import Tracker, earlier_id, keep_id, plain, step_of, wall_time_of
from pulseboard.rundir.json_log_metrics import metrics_of

SETTINGS = [
    Setting("wandb_project", "the project", key="project"),
    Setting("wandb_name", "the run's name in W&B; without it, the run's id", key="name"),
    Setting("wandb_entity", "the user or team that owns the run", key="entity"),
    Setting("wandb_mode", "online, offline or disabled", key="mode"),
]

STEP = "trainer/step"
"""The x-axis of all charts. W&B's own step counts `log` calls and must rise; ours may go back."""

_CONNECT_SECS = 20.0  # well below what a run waits for its sinks at the end (record/sink_runner.py)
_MAX_BUCKETS = 512  # the limit of wandb.Histogram
_EXIT_CODES = {"finished": 0, "failed": 1, "killed": 255}  # 255: as W&B itself reports an interrupted run


@sink(id="wandb", settings=SETTINGS)
class WandB(Tracker):
    """Forwards a run to W&B. A setting `wandb_x` is the argument `x` of wandb.init.

    Settings that are not given are left to W&B and its WANDB_… variables. If no mode is set and going online fails,
    because there is no login or no network, the run is kept offline for `wandb sync`.

    W&B prints only warnings and does not capture the console (WANDB_CONSOLE=wrap changes that).
    """

    style = "wandb"

    def __init__(self, info: RunInfo) -> None:
        self._wandb = load("wandb", what="report_to wandb", package="wandb", extra="wandb")
        self._run = self._open(info)
        self._run.define_metric(STEP)
        self._run.define_metric("*", step_metric=STEP)
        self._slices: dict[str, float] = {}  # of the last pie chart
        self._print_location()

    def _open(self, info: RunInfo) -> Any:
        wandb = self._wandb
        # Otherwise W&B would prompt for a login, from this thread, in the middle of the training's output.
        # A training that ends early waits for a sink only so long; W&B would try to connect for 90 s.
        seconds = {} if "WANDB_INIT_TIMEOUT" in os.environ else {"init_timeout": _CONNECT_SECS}
        session = wandb.setup(settings=wandb.Settings(show_info=False, **seconds))
        arguments = _arguments(info)
        mode = arguments.get("mode") or session.settings.mode
        before = earlier_id(info, sink="wandb")
        # Not offline: there W&B counts rows from 0, and `wandb sync` would drop the rows that the server has already.
        resume = {"id": before, "resume": "allow"} if before and mode == "online" else {}
        try:
            run = wandb.init(**{**arguments, **resume})
        except wandb.Error as error:
            if "mode" in arguments or "WANDB_MODE" in os.environ:
                raise
            reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
            warn(f"W&B cannot be reached ({reason}), so the run is kept offline.")
            return wandb.init(**{**arguments, "mode": "offline"})
        if not (run.offline or run.disabled):
            keep_id(info, run.id, sink="wandb")
        return run

    def _print_location(self) -> None:
        if self._run.disabled:
            return
        if self._run.offline:
            inform(f"W&B run kept offline. Upload it with: wandb sync {self._run.settings.sync_dir}")
        else:
            inform(f"W&B run: {self._run.url}")

    # ---- logging

    def _log(self, values: dict[str, Any], *, step: int, wall_time: float) -> None:
        # One row of W&B's history per call: rows of the same step are neither merged nor replaced.
        self._run.log({**values, STEP: step, "_timestamp": wall_time})

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Log one row: the values and our step."""
        self._log(dict(values), step=step, wall_time=wall_time)

    def record(self, record: dict[str, Any]) -> None:
        """Log scalars or config; memory by segment is logged as a pie chart."""
        if record.get("log") == "allocator":
            self._pie(record)
        else:
            super().record(record)

    def _pie(self, record: dict[str, Any]) -> None:
        """Log GPU memory by segment as a picture and a table, whenever it has changed.

        We draw the picture ourselves: W&B has no pie chart, a custom chart must be stored in the account first, and
        Plotly would be another dependency.
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
        """Log the buckets as they are; if there are more than W&B accepts, neighbors are merged."""
        import numpy as np

        counts = histogram.counts
        if not len(counts):
            return
        firsts = np.linspace(0, len(counts), min(len(counts), _MAX_BUCKETS), endpoint=False).astype(int)
        edges = np.append(histogram.lefts[firsts], histogram.rights[-1])
        value = self._wandb.Histogram(np_histogram=(np.add.reduceat(counts, firsts), edges))
        self._log({tag: value}, step=histogram.step, wall_time=histogram.wall_time)

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """Log an HTML panel, since W&B does not show plain strings."""
        page = f'<pre style="white-space: pre-wrap">{html.escape(text)}</pre>'
        value = self._wandb.Html(page, inject=False, data_is_not_path=True)
        self._log({tag: value}, step=step, wall_time=wall_time)

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """Log an image. wandb.Image needs Pillow; without it, log an HTML panel."""
        try:
            from PIL import Image

            value = self._wandb.Image(Image.open(io.BytesIO(png)))
        except ImportError:
            data = base64.b64encode(png).decode("ascii")
            value = self._wandb.Html(f'<img src="data:image/png;base64,{data}">', inject=False, data_is_not_path=True)
        self._log({tag: value}, step=step, wall_time=wall_time)

    def config(self, values: Mapping[str, Any]) -> None:
        """Add the values to the run's config, replacing those of the same name."""
        self._run.config.update(plain(values), allow_val_change=True)

    def close(self, *, status: str) -> None:
        """Wait for uploads, and end the W&B run."""
        self._run.finish(exit_code=_EXIT_CODES.get(status, 1))


def _arguments(info: RunInfo) -> dict[str, Any]:
    given = {key.removeprefix("wandb_"): value for key, value in info.settings.items() if key.startswith("wandb_")}
    return {
        "config": plain(info.config),
        "tags": info.tags or None,
        "notes": info.notes or None,
        # If the training has a W&B run of its own, that stays the run that `wandb.log` uses.
        "reinit": "create_new",
        "settings": {"show_info": False} | ({} if "WANDB_CONSOLE" in os.environ else {"console": "off"}),
        "name": None if "WANDB_NAME" in os.environ else info.id,
    } | {name: value for name, value in given.items() if value is not None}
