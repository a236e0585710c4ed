"""MLflow: metrics, params, texts and images of a run, in an MLflow run of its own."""

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

from pulseboard.record.optional import load
from pulseboard.record.sink import RunInfo, sink
from pulseboard.record.tracker import Tracker, earlier_id, keep_id, plain

# What a server takes in one request, and a name and value may be long (MLflow's utils/validation.py).
_MOST_METRICS = 1000
_MOST_PARAMS = 100
_MOST_NAME_CHARS = 250
_MOST_PARAM_CHARS = 6000
# A request takes 10 to 100 ms; metrics that come faster than this go together.
_SEND_SECS = 1.0
_STATES = {"finished": "FINISHED", "failed": "FAILED", "killed": "KILLED"}


@sink(id="mlflow")
class MLflow(Tracker):
    """Settings: mlflow_tracking_uri, mlflow_experiment, mlflow_run_name.

    What is not set is left to MLflow, its MLFLOW_… variables included. Metrics of one second go in one
    request; `flush` and `close` send what is held. MLflow has no histograms: they stay in the event file.
    """

    def __init__(self, info: RunInfo) -> None:
        mlflow = load("mlflow", what="report_to mlflow", package="mlflow", extra="mlflow")
        self._entities = mlflow.entities
        self._names: dict[str, str] = {}  # tag -> its name in MLflow
        self._params: dict[str, str] = {}
        self._held: list[Any] = []  # metrics that were not sent yet
        self._sent_secs = -_SEND_SECS
        with _quiet():
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
            return None  # deleted, or kept by another server: a new run it is
        return before

    def _create(self, info: RunInfo) -> str:
        resolve_tags = importlib.import_module("mlflow.tracking.context.registry").resolve_tags
        tags = {"pulseboard.run": info.id}
        if info.notes:
            tags["mlflow.note.content"] = info.notes
        if info.tags:
            tags["pulseboard.tags"] = ", ".join(info.tags)
        name = info.settings.get("mlflow_run_name") or os.environ.get("MLFLOW_RUN_NAME") or info.id
        # With what MLflow itself says of a run: user, program, git commit.
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
            # Another job may have made it just now.
            if found := self._client.get_experiment_by_name(name):
                return str(found.experiment_id)
            raise

    # ---- what is logged

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """As metrics. MLflow keeps every value, be its step logged already."""
        millis = int(wall_time * 1000)
        metric = self._entities.Metric
        self._held += [metric(self._name(tag), float(value), millis, step) for tag, value in values.items()]
        if len(self._held) >= _MOST_METRICS or time.monotonic() - self._sent_secs >= _SEND_SECS:
            self.flush()

    def text(self, tag: str, text: str, *, step: int, wall_time: float) -> None:
        """As an artifact: text/<tag>/<step>.md."""
        self._client.log_text(self._run_id, text, f"text/{self._name(tag)}/{step:09d}.md")

    def image(self, tag: str, png: bytes, *, step: int, wall_time: float) -> None:
        """As an image that MLflow can leaf through by step; without Pillow, which it needs for that, as a file."""
        name = self._name(tag).replace(":", "_")  # an image's name takes no colon
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
        """As params, nested names joined with a dot. A param cannot change: its later values are tags."""
        told = {self._name(name): text[:_MOST_PARAM_CHARS] for name, text in _flat(plain(values))}
        fresh = {name: text for name, text in told.items() if name not in self._params}
        changed = {name: text for name, text in told.items() if self._params.get(name, text) != text}
        self._params |= fresh
        params = [self._entities.Param(name, text) for name, text in fresh.items()]
        for at in range(0, len(params), _MOST_PARAMS):
            self._client.log_batch(self._run_id, params=params[at : at + _MOST_PARAMS])
        for name, text in changed.items():
            self._client.set_tag(self._run_id, f"changed.{name}"[:_MOST_NAME_CHARS], text)

    def flush(self) -> None:
        """Send the metrics that are held."""
        while self._held:
            self._client.log_batch(self._run_id, metrics=self._held[:_MOST_METRICS])
            del self._held[:_MOST_METRICS]
        self._sent_secs = time.monotonic()

    def close(self, *, status: str) -> None:
        """Send what is held, and end the MLflow run."""
        self.flush()
        self._client.set_terminated(self._run_id, status=_STATES.get(status, "FAILED"))

    def _name(self, tag: str) -> str:
        """The tag as MLflow takes it; two tags never share a name."""
        if tag not in self._names:
            allowed = re.sub(r"[^\w/.\- :]", "_", tag)
            # A name is a path there: no empty, '.' or '..' part, and none at either end.
            wanted = "/".join(part for part in allowed.split("/") if part.strip(".")) or "_"
            wanted = wanted[:_MOST_NAME_CHARS]
            taken, name, number = set(self._names.values()), wanted, 2
            while name in taken:
                name, number = f"{wanted[: _MOST_NAME_CHARS - 8]}_{number}", number + 1
            self._names[tag] = name
        return self._names[tag]


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep MLflow from telling how it makes its tables, unless the user has set how much it shall tell."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    before = [logger.level for logger in loggers]
    if "MLFLOW_LOGGING_LEVEL" not in os.environ:
        for logger in loggers:
            logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
