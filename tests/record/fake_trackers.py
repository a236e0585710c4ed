"""Fakes of wandb, aim and mlflow that keep what they are given. Only the calls that our sinks make.

sinks/test_real_trackers.py runs the same sinks with the real packages.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


class FakeWandb(ModuleType):
    """`fails` are the errors that the next calls of init raise."""

    class Error(Exception):
        pass

    def __init__(self, *, fails: list[str] | None = None) -> None:
        super().__init__("wandb")
        self.fails = list(fails or [])
        self.global_settings: dict[str, Any] = {}
        self.inits: list[dict[str, Any]] = []
        self.runs: list[FakeWandbRun] = []

    def setup(self, settings: dict[str, Any]) -> Any:
        self.global_settings |= settings
        return SimpleNamespace(settings=SimpleNamespace(mode=os.environ.get("WANDB_MODE", "online")))

    def init(self, **arguments: Any) -> FakeWandbRun:
        assert self.global_settings.get("show_info") is False, "W&B would have asked for a login"
        self.inits.append(arguments)
        if self.fails:
            raise self.Error(self.fails.pop(0))
        self.runs.append(FakeWandbRun(arguments))
        return self.runs[-1]

    Settings = staticmethod(dict)
    Html = staticmethod(lambda data, **named: SimpleNamespace(html=data, **named))
    Table = staticmethod(lambda columns, data: SimpleNamespace(columns=columns, data=data))
    Histogram = staticmethod(lambda np_histogram: SimpleNamespace(counts=np_histogram[0], edges=np_histogram[1]))
    Image = staticmethod(lambda picture: SimpleNamespace(size=picture.size))


class FakeWandbRun:
    def __init__(self, arguments: dict[str, Any]) -> None:
        self.id = arguments.get("id") or "abc123"
        self.offline = arguments.get("mode") == "offline"
        self.disabled = arguments.get("mode") == "disabled"
        self.settings = SimpleNamespace(sync_dir="wandb/offline-run-abc123")
        self.url = "https://wandb.example/run"
        self.defined: list[tuple[str, str | None]] = []
        self.rows: list[dict[str, Any]] = []
        self.exit_code: int | None = None
        self.config = FakeWandbConfig(arguments["config"])

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.defined.append((name, step_metric))

    def log(self, row: dict[str, Any]) -> None:
        self.rows.append(dict(row))

    def finish(self, *, exit_code: int) -> None:
        self.exit_code = exit_code


class FakeWandbConfig:
    def __init__(self, values: dict[str, Any]) -> None:
        self.values = dict(values)

    def update(self, values: dict[str, Any], *, allow_val_change: bool) -> None:
        assert allow_val_change or not self.values.keys() & values.keys()
        self.values |= values


class FakeAim(ModuleType):
    """Like Aim, a step that comes twice in one context is written over."""

    def __init__(self) -> None:
        super().__init__("aim")
        self.runs: list[FakeAimRun] = []
        self.locked: set[str] = set()

    def Run(self, run_hash: str | None, *, force_resume: bool = False, **arguments: Any) -> FakeAimRun:  # noqa: N802
        if run_hash is not None and run_hash not in {run.hash for run in self.runs}:
            raise KeyError("no such run")
        if run_hash in self.locked and not force_resume:
            raise TimeoutError("locked")
        self.runs.append(FakeAimRun(run_hash or "f00d", arguments))
        return self.runs[-1]

    Distribution = staticmethod(lambda hist, bin_range: SimpleNamespace(hist=hist, bin_range=bin_range))
    Text = staticmethod(lambda text: SimpleNamespace(text=text))
    Image = staticmethod(lambda picture: SimpleNamespace(size=picture.size))


@dataclass
class FakeAimRun:
    hash: str
    arguments: dict[str, Any]
    name: str = ""
    description: str = ""
    tags: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    tracked: dict[tuple[str, int], dict[int, Any]] = field(default_factory=dict)  # (name, again) -> step -> value
    closed: bool = False

    def add_tag(self, tag: str) -> None:
        self.tags.append(tag)

    def __setitem__(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def track(self, value: Any, *, name: str, step: int, context: dict[str, Any]) -> None:
        self.tracked.setdefault((name, context.get("again", 0)), {})[step] = value

    def close(self) -> None:
        self.closed = True


class FakeMlflow(ModuleType):
    """`MlflowClient` gives the one server there is."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.server = FakeMlflowServer()
        self.uris: list[str | None] = []
        self.entities = SimpleNamespace(
            Metric=lambda key, value, timestamp, step: (key, value, timestamp, step),
            Param=lambda key, value: (key, value),
        )

    def MlflowClient(self, tracking_uri: str | None) -> FakeMlflowServer:  # noqa: N802
        self.uris.append(tracking_uri)
        return self.server

    def modules(self) -> dict[str, ModuleType]:
        """Everything to put into sys.modules."""
        registry = ModuleType("mlflow.tracking.context.registry")
        registry.resolve_tags = lambda tags: {"mlflow.user": "me", **tags}  # type: ignore[attr-defined]
        parents = ("mlflow.tracking", "mlflow.tracking.context")
        return {"mlflow": self, registry.__name__: registry, **{name: ModuleType(name) for name in parents}}


class FakeMlflowServer:
    def __init__(self) -> None:
        self.experiments = {"Default": "0"}
        self.runs: dict[str, SimpleNamespace] = {}
        self.batches: list[int] = []  # how many metrics came in each
        self.metrics: list[tuple[str, float, int, int]] = []
        self.artifacts: dict[str, Any] = {}

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id=self.experiments[name]) if name in self.experiments else None

    def create_experiment(self, name: str) -> str:
        return self.experiments.setdefault(name, str(len(self.experiments)))

    def create_run(self, experiment_id: str, *, tags: dict[str, str], run_name: str) -> Any:
        info = SimpleNamespace(run_id=f"run{len(self.runs)}", run_name=run_name, experiment_id=experiment_id)
        data = SimpleNamespace(tags=dict(tags), params={})
        self.runs[info.run_id] = SimpleNamespace(info=info, data=data, status="RUNNING")
        return self.runs[info.run_id]

    def get_run(self, run_id: str) -> Any:
        return self.runs[run_id]

    def update_run(self, run_id: str, *, status: str) -> None:
        self.runs[run_id].status = status

    def log_batch(self, run_id: str, *, metrics: Any = (), params: Any = ()) -> None:
        assert len(metrics) <= 1000
        assert len(params) <= 100
        if metrics:
            self.batches.append(len(metrics))
        self.metrics += metrics
        stored = self.runs[run_id].data.params
        for key, value in params:
            assert stored.setdefault(key, value) == value, "a param cannot change"

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        self.runs[run_id].data.tags[key] = value

    def log_text(self, run_id: str, text: str, artifact_file: str) -> None:
        self.artifacts[artifact_file] = text

    def log_artifact(self, run_id: str, local_path: str, artifact_path: str) -> None:
        path = Path(local_path)
        self.artifacts[f"{artifact_path}/{path.name}"] = path.read_bytes()

    def log_image(self, run_id: str, image: Any, *, key: str, step: int, timestamp: int) -> None:
        self.artifacts[f"{key} {step}"] = image.size

    def set_terminated(self, run_id: str, *, status: str) -> None:
        self.runs[run_id].status = status


@contextlib.contextmanager
def absent(monkeypatch: Any, name: str) -> Any:
    """Have `import name` fail, as where the package is not installed."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, name, None)
        yield
