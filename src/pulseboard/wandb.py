"""The calls of W&B that scripts use most: `import pulseboard.wandb as wandb` records locally, with no other change."""

from __future__ import annotations

import enum
import os
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pulseboard.instruments.watch.any_optimizer import AnyOptimizer
from pulseboard.instruments.watch.watch import Watch
from pulseboard.instruments.watch.watch import watch as _watch
from pulseboard.record import run as _runs
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.media.values import Audio, ConfusionMatrix, Histogram, Image, PRCurve, Table, Text, Video

__all__ = [
    "AlertLevel",
    "Artifact",
    "Audio",
    "Histogram",
    "Html",
    "Image",
    "Settings",
    "Table",
    "Video",
    "alert",
    "define_metric",
    "finish",
    "init",
    "log",
    "log_artifact",
    "login",
    "plot",
    "save",
    "unwatch",
    "watch",
]

Html = Text
plot = types.SimpleNamespace(
    pr_curve=lambda y_true, y_probas, **_: PRCurve(y_true, y_probas),
    confusion_matrix=lambda y_true, preds, class_names=None, **_: ConfusionMatrix(y_true, preds, classes=class_names),
)
_watches: list[Watch] = []


class AlertLevel(str, enum.Enum):
    """How serious an alert is."""

    INFO = "info"
    WARN = "warning"
    ERROR = "error"


class Settings(dict[str, Any]):
    """W&B's settings have no effect here."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(settings)


class Artifact:
    """Files to keep with a run."""

    def __init__(self, name: str, type: str = "", **_: Any) -> None:
        self.name, self.type = name, type
        self.paths: list[tuple[str, str]] = []

    def add_file(self, local_path: str | os.PathLike[str], name: str | None = None) -> None:
        """Add a file."""
        self.paths.append((os.fspath(local_path), f"{self.name}/{name or Path(local_path).name}"))

    def add_dir(self, local_path: str | os.PathLike[str], name: str | None = None) -> None:
        """Add all files of a directory."""
        self.paths.append((os.fspath(local_path), f"{self.name}/{name}" if name else self.name))


def init(
    project: str | None = None,
    *,
    id: str | None = None,
    entity: str | None = None,
    reinit: Any = None,
    save_code: bool | None = None,
    settings: Any = None,
    anonymous: Any = None,
    sync_tensorboard: bool | None = None,
    monitor_gym: bool | None = None,
    **named: Any,
) -> ActiveRun:
    """Start a run: `id` is its run_id. What only makes sense on W&B's servers is ignored."""
    mode = named.pop("mode", None) or os.environ.get("WANDB_MODE")
    if mode == "dryrun":
        mode = "offline"
    if named.get("tags") is None:
        named.pop("tags", None)
    if named.get("notes") is None:
        named.pop("notes", None)
    return _runs.init(project=project or os.environ.get("WANDB_PROJECT"), run_id=id, mode=mode, **named)


def log(data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, sync: Any = None) -> None:
    """Log numbers, media and texts. With `commit=False`, the next call has the same step."""
    active = _active("log")
    values = {tag: Text(value) if isinstance(value, str) else value for tag, value in data.items()}
    at = active.last_step + 1 if step is None else step
    if commit is False and step is None:
        active.log_measurements(values, at)
    else:
        active.log(values, at)


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """Finish the run."""
    _runs.finish(status="failed" if exit_code else "finished")


def watch(
    models: Any, criterion: Any = None, log: str | None = "gradients", log_freq: int = 100, **_: Any
) -> list[Watch]:
    """Watch one model or several: what `pb.watch` logs, with histograms every `log_freq` optimizer steps."""
    for model in models if isinstance(models, list | tuple) else [models]:
        interval = log_freq if log in ("gradients", "parameters", "all") else 0
        _watches.append(
            _watch(model, cast("Any", AnyOptimizer(model)), run=_active("watch"), histogram_interval=interval)
        )
    return list(_watches)


def unwatch(models: Any = None) -> None:
    """Stop watching."""
    while _watches:
        _watches.pop().close()


def define_metric(name: str, step_metric: Any = None, **named: Any) -> None:
    """Follow a metric for the summary."""
    _active("define_metric").define_metric(name, **named)


def alert(title: str, text: str = "", level: str | AlertLevel = AlertLevel.INFO, wait_duration: Any = None) -> None:
    """Print, log and post a message."""
    levels: dict[str, Any] = {"info": "info", "warn": "warning", "warning": "warning", "error": "error"}
    word = level.value if isinstance(level, AlertLevel) else str(level).lower()
    _active("alert").alert(title, text, level=levels.get(word, "info"))


def save(glob_str: str | os.PathLike[str], base_path: Any = None, policy: str = "live") -> None:
    """Keep files with the run, as they are now."""
    path = Path(glob_str)
    for each in sorted(path.parent.glob(path.name)):
        _active("save").artifact(each)


def log_artifact(artifact: Any, name: str | None = None, type: str | None = None, **_: Any) -> Any:
    """Keep an artifact, a file or a directory with the run."""
    active = _active("log_artifact")
    if isinstance(artifact, Artifact):
        for path, path_name in artifact.paths:
            active.artifact(path, name=path_name)
    else:
        active.artifact(artifact, name=name)
    return artifact


def login(*args: Any, **named: Any) -> bool:
    """Nothing to log in to."""
    return True


def _active(call: str) -> ActiveRun:
    active = _runs.current_run()
    if active is None:
        raise RuntimeError(f"wandb.{call}() has no run. Call wandb.init() first.")
    return active


def __getattr__(name: str) -> Any:
    """`wandb.run`, `wandb.config` and `wandb.summary` are those of the run that started last."""
    if name == "run":
        return _runs.current_run()
    if name in ("config", "summary"):
        return getattr(_active(name), name)
    raise AttributeError(f"pulseboard.wandb has no {name!r}. It has: {', '.join(__all__)}, run, config and summary.")
