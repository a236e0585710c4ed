"""The MLflow sink: metrics, params, texts and images, in an MLflow run of its own."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

from pulseboard.core.config import flatten
from pulseboard.record.optional_import import load
from pulseboard.record.setting import Setting
from pulseboard.record.sink import RunInfo, sink
from pulseboard.record.tracker import Tracker, earlier_id, keep_id, plain

SETTINGS = [
    Setting("mlflow_tracking_uri", "the tracking server or directory", key="tracking_uri"),
    Setting("mlflow_experiment", "the experiment's name", key="experiment"),
    Setting("mlflow_run_name", "the run's name in MLflow; without it, the run's id", key="run_name"),
]

# Limits of a server: entries per request, and lengths of names and values (MLflow's utils/validation.py).
_MAX_METRICS = 1000
_MAX_PARAMS = 100
_MAX_NAME_CHARS = 250
_MAX_PARAM_CHARS = 6000
# A request takes 10 to 100 ms, so metrics are sent together, at most once per second.
_SEND_SECS = 1.0
_STATES = {"finished": "FINISHED", "failed": "FAILED", "killed": "KILLED"}


@sink(id="mlflow", settings=SETTINGS)
class MLflow(Tracker):
    """Forwards a run to MLflow.

    Settings that are not given are left to MLflow and its MLFLOW_… variables. MLflow has no histograms: they are in
    the event file only.
    """

    def __init__(self, info: RunInfo) -> None:
        mlflow = load("mlflow", what="report_to mlflow", package="mlflow", extra="mlflow")
        self._entities = mlflow.entities
        self._names: dict[str, str] = {}  # tag -> name in MLflow
        self._params: dict[str, str] = {}
        self._unsent: list[Any] = []  # metrics
        self._sent_at = -_SEND_SECS
        with _fewer_log_messages():
            self._client = mlflow.MlflowClient(tracking_uri=info.settings.get("mlflow_tracking_uri"))
            self._run_id = self._resume(info) or self._create(info)
        keep_id(info, self._run_id, sink="mlflow")
        if info.config:
            self.config(info.config)

    def _resume(self, info: RunInfo) -> str | None:
        before = earlier_id(info, sink="mlflow")
        if before is None:
            return None
        try:
            self._params = dict(self._client.get_run(before).data.params)
            self._client.update_run(before, status="RUNNING")
        except Exception:
            return None  # deleted, or on another server: create a new run
        return before

    def _create(self, info: RunInfo) -> str:
        resolve_tags = importlib.import_module("mlflow.tracking.context.registry").resolve_tags
        tags = {"pulseboard.run": info.id}
        if info.notes:
            tags["mlflow.note.content"] = info.notes
        if info.tags:
            tags["pulseboard.tags"] = ", ".join(info.tags)
        name = info.settings.get("mlflow_run_name") or os.environ.get("MLFLOW_RUN_NAME") or info.id
        # Together with MLflow's own tags: user, program, git commit.
        run = self._client.create_run(self._experiment_id(info), tags=resolve_tags(tags), run_name=name)
        return str(run.info.run_id)

    def _experiment_id(self, info: RunInfo) -> str:
        name = info.settings.get("mlflow_experiment")
        if name is None and (id := os.environ.get("MLFLOW_EXPERIMENT_ID")):
            return id
        name = name or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "Default"
        if found := self._client.get_experiment_by_name(name):
            return str(found.experiment_id)
        try:
            return str(self._client.create_experiment(name))
        except Exception:
            # Another process may have created it just now.
            if found := self._client.get_experiment_by_name(name):
                return str(found.experiment_id)
            raise

    # ---- logging

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Log metrics. MLflow keeps every value, even for a step that was logged before."""
        millis = int(wall_time * 1000)
        metric = self._entities.Metric
        self._unsent += [metric(self._name(tag), float(value), millis, step) for tag, value in values.items()]
        if len(self._unsent) >= _MAX_METRICS or time.monotonic() - self._sent_at >= _SEND_SECS:
            self.flush()

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """Log an artifact: text/<tag>/<step>.md."""
        self._client.log_text(self._run_id, text, f"text/{self._name(tag)}/{step:09d}.md")

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """Log an image with its step. MLflow needs Pillow for that; without it, log a file."""
        name = self._name(tag).replace(":", "_")  # colons are not allowed in the names of images
        try:
            from PIL import Image

            picture = Image.open(io.BytesIO(png))
            self._client.log_image(self._run_id, picture, key=name, step=step, timestamp=int(wall_time * 1000))
        except ImportError:
            with tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, f"{step:09d}.png")
                with open(path, "wb") as file:
                    file.write(png)
                self._client.log_artifact(self._run_id, path, f"images/{name}")

    def config(self, values: Mapping[str, Any]) -> None:
        """Log params, nested names joined with dots. A param cannot change: later values are logged as tags."""
        texts = {self._name(name): str(value)[:_MAX_PARAM_CHARS] for name, value in flatten(plain(values))}
        new = {name: text for name, text in texts.items() if name not in self._params}
        changed = {name: text for name, text in texts.items() if self._params.get(name, text) != text}
        self._params |= new
        params = [self._entities.Param(name, text) for name, text in new.items()]
        for at in range(0, len(params), _MAX_PARAMS):
            self._client.log_batch(self._run_id, params=params[at : at + _MAX_PARAMS])
        for name, text in changed.items():
            self._client.set_tag(self._run_id, f"changed.{name}"[:_MAX_NAME_CHARS], text)

    def flush(self) -> None:
        """Send the metrics that wait."""
        while self._unsent:
            self._client.log_batch(self._run_id, metrics=self._unsent[:_MAX_METRICS])
            del self._unsent[:_MAX_METRICS]
        self._sent_at = time.monotonic()

    def close(self, *, status: str) -> None:
        """Send the metrics that wait, and end the MLflow run."""
        self.flush()
        self._client.set_terminated(self._run_id, status=_STATES.get(status, "FAILED"))

    def _name(self, tag: str) -> str:
        """The tag as a valid name in MLflow. Two tags never share one."""
        if tag not in self._names:
            allowed = re.sub(r"[^\w/.\- :]", "_", tag)
            # MLflow treats names as paths: no empty, '.' or '..' component.
            base = "/".join(part for part in allowed.split("/") if part.strip(".")) or "_"
            base = base[:_MAX_NAME_CHARS]
            used, name, number = set(self._names.values()), base, 2
            while name in used:
                name, number = f"{base[: _MAX_NAME_CHARS - 8]}_{number}", number + 1
            self._names[tag] = name
        return self._names[tag]


@contextlib.contextmanager
def _fewer_log_messages() -> Iterator[None]:
    """Hide MLflow's messages about creating its tables, unless the user has set a log level."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    if "MLFLOW_LOGGING_LEVEL" not in os.environ:
        for logger in loggers:
            logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
