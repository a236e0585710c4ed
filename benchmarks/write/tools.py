"""The loggers that are compared, one class each: how to start it, log a step, finish, and count what it stored.

To measure another one, add a class with an `id` here. What is not installed is reported as such.
"""

from __future__ import annotations

import array
import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.harness.event_records import event_files_below, record_offsets


class Tool:
    """One logger. The methods are called in the order in which they stand here."""

    id: ClassVar[str]
    label: ClassVar[str]
    modules: ClassVar[tuple[str, ...]] = ()  # what has to be importable
    requirement: ClassVar[str | None] = None  # for pip, if the tool may get an environment of its own
    max_steps: ClassVar[int | None] = None  # a slow tool is measured on fewer; figures are per scalar
    quick: ClassVar[bool] = True  # cheap enough for a smoke test
    slow: ClassVar[bool] = False  # measured fewer times
    histograms: ClassVar[bool] = False

    def __init__(self, directory: Path, tags: list[str]) -> None:
        self.directory, self.tags = directory, tags

    def setup(self) -> None:
        """Import the tool and open a run below `directory`."""

    def log(self, step: int, row: list[float]) -> None:
        """Log one step: a value for each tag."""

    def histogram(self, values: Any, step: int) -> None:
        """Log a histogram of a NumPy array."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish the run; everything is on disk afterwards."""

    def stored(self) -> int | None:
        """The number of scalars found on disk; None if there is no way to count them."""
        return None


# ---- Pulseboard


class Pulseboard(Tool):
    """`run.log` with all values of a step."""

    id, label, modules, histograms = "pulseboard", "Pulseboard `run.log`", ("pulseboard",), True

    def setup(self) -> None:
        import pulseboard as pb

        self.run = pb.init(dir=self.directory, run_id="r", telemetry_secs=0)

    def log(self, step: int, row: list[float]) -> None:
        self.run.log(dict(zip(self.tags, row, strict=True)), step)

    def histogram(self, values: Any, step: int) -> None:
        self.run.histogram("weights", values, step=step)

    def close(self) -> None:
        self.run.finish()

    def stored(self) -> int:
        import pulseboard as pb

        return sum(run.points for run in pb.read(self.directory).values())


class PulseboardWriter(Pulseboard):
    """The drop-in for torch's SummaryWriter: one call per scalar."""

    id, label = "pulseboard_writer", "Pulseboard `SummaryWriter`"

    def setup(self) -> None:
        from pulseboard import SummaryWriter

        self.writer = SummaryWriter(str(self.directory))

    def log(self, step: int, row: list[float]) -> None:
        add = self.writer.add_scalar
        for tag, value in zip(self.tags, row, strict=True):
            add(tag, value, step)

    def histogram(self, values: Any, step: int) -> None:
        self.writer.add_histogram("weights", values, step)

    def close(self) -> None:
        self.writer.close()


# ---- baselines


class JsonLines(Tool):
    """One JSON object per step, to a buffered file."""

    id, label = "jsonl", "one JSON line per step"

    def setup(self) -> None:
        self.file = self.directory / "log.jsonl"
        self.stream = self.file.open("w", encoding="utf-8")

    def log(self, step: int, row: list[float]) -> None:
        values = dict(zip(self.tags, row, strict=True))
        self.stream.write(json.dumps({"step": step, "time": time.time(), **values}) + "\n")

    def close(self) -> None:
        self.stream.close()

    def stored(self) -> int:
        with self.file.open(encoding="utf-8") as lines:
            return sum(len(json.loads(line)) - 2 for line in lines)


class InMemory(Tool):
    """The least a logger can do: append step, time and value to arrays, and write them at the end."""

    id, label = "array", "an in-memory array, lost if killed"

    def setup(self) -> None:
        self.columns = {tag: (array.array("q"), array.array("d"), array.array("d")) for tag in self.tags}

    def log(self, step: int, row: list[float]) -> None:
        now, columns = time.time(), self.columns
        for tag, value in zip(self.tags, row, strict=True):
            steps, walls, values = columns[tag]
            steps.append(step)
            walls.append(now)
            values.append(value)

    def close(self) -> None:
        with (self.directory / "columns").open("wb") as stream:
            for columns in self.columns.values():
                for column in columns:
                    column.tofile(stream)

    def stored(self) -> int:
        return (self.directory / "columns").stat().st_size // 24


# ---- event files


class Torch(Tool):
    """torch.utils.tensorboard."""

    id, label, modules, histograms = "torch", "torch `SummaryWriter`, array", ("torch", "tensorboard"), True
    slow = True

    def setup(self) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(self.directory))

    def log(self, step: int, row: list[float]) -> None:
        add = self.writer.add_scalar
        for tag, value in zip(self.tags, row, strict=True):
            add(tag, value, step)

    def histogram(self, values: Any, step: int) -> None:
        self.writer.add_histogram("weights", values, step)

    def close(self) -> None:
        self.writer.close()

    def stored(self) -> int:
        # All records of a file but the first, which holds its version; the last offset is the end.
        return sum(len(record_offsets(file)) - 2 for file in event_files_below(self.directory))


class TorchTensor(Torch):
    """The same, with a histogram of a tensor."""

    id, label = "torch_tensor", "torch `SummaryWriter`, tensor"

    def histogram(self, values: Any, step: int) -> None:
        import torch

        self.writer.add_histogram("weights", torch.from_numpy(values), step)


class TensorBoardX(Torch):
    """tensorboardX."""

    id, label, modules, histograms = "tensorboardX", "tensorboardX", ("tensorboardX",), False

    def setup(self) -> None:
        from tensorboardX import SummaryWriter

        self.writer = SummaryWriter(str(self.directory))


# ---- trackers


class Wandb(Tool):
    """Weights & Biases, offline."""

    id, label, modules, requirement, quick, slow = "wandb", "wandb, offline", ("wandb",), "wandb", False, True

    def setup(self) -> None:
        quiet = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
        os.environ.update(quiet, WANDB_CACHE_DIR="wandb_cache", WANDB_CONFIG_DIR="wandb_config")
        import wandb

        settings = wandb.Settings(x_disable_stats=True, console="off")
        self.run = wandb.init(project="bench", mode="offline", dir=str(self.directory), settings=settings)

    def log(self, step: int, row: list[float]) -> None:
        self.run.log(dict(zip(self.tags, row, strict=True)), step=step)

    def close(self) -> None:
        self.run.finish()

    def stored(self) -> int | None:
        try:
            from pulseboard.read import any_runs
        except ImportError:
            return None
        runs = any_runs(self.directory).values()
        return sum(len(run.series(tag)) for run in runs for tag in self.tags)


class Trackio(Tool):
    """trackio, a local tracker on SQLite."""

    id, label, modules, requirement, quick, slow = "trackio", "trackio", ("trackio",), "trackio", False, True

    def setup(self) -> None:
        os.environ.update(TRACKIO_DIR=str(self.directory), HF_HOME="hf_home", HF_HUB_OFFLINE="1")
        os.environ.update(HF_HUB_DISABLE_TELEMETRY="1", GRADIO_ANALYTICS_ENABLED="False")
        import trackio

        self.trackio = trackio
        trackio.init(project="bench", name="run", embed=False, auto_log_gpu=False, auto_log_cpu=False)

    def log(self, step: int, row: list[float]) -> None:
        self.trackio.log(dict(zip(self.tags, row, strict=True)), step=step)

    def close(self) -> None:
        self.trackio.finish()

    def stored(self) -> int:
        rows = sum(_count_rows(file, "metrics") for file in self.directory.rglob("*.db"))
        return rows * len(self.tags)


class Mlflow(Tool):
    """MLflow on SQLite, one `log_metrics` per step."""

    id, label, requirement, quick, slow = "mlflow", "MLflow, SQLite", "mlflow", False, True
    modules = ("mlflow", "sqlalchemy", "alembic")
    max_steps = 500

    def setup(self) -> None:
        os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")
        import logging

        logging.disable(logging.INFO)
        import mlflow

        self.mlflow = mlflow
        self.file = self.directory / "mlflow.db"
        mlflow.set_tracking_uri(f"sqlite:///{self.file}")
        mlflow.create_experiment("bench", artifact_location=str(self.directory / "artifacts"))
        mlflow.set_experiment("bench")
        mlflow.start_run()

    def log(self, step: int, row: list[float]) -> None:
        self.mlflow.log_metrics(dict(zip(self.tags, row, strict=True)), step=step)

    def close(self) -> None:
        self.mlflow.end_run()

    def stored(self) -> int:
        return _count_rows(self.file, "metrics")


class Aim(Tool):
    """Aim, one `track` per scalar."""

    id, label, modules, requirement, quick, slow = "aim", "Aim", ("aim",), "aim", False, True

    def setup(self) -> None:
        import aim

        self.run = aim.Run(
            repo=str(self.directory),
            system_tracking_interval=None,
            log_system_params=False,
            capture_terminal_logs=False,
        )

    def log(self, step: int, row: list[float]) -> None:
        track = self.run.track
        for tag, value in zip(self.tags, row, strict=True):
            track(value, name=tag, step=step)

    def close(self) -> None:
        self.run.close()


def _count_rows(file: Path, table: str) -> int:
    with sqlite3.connect(file) as database:
        count: int = database.execute(f"select count(*) from {table}").fetchone()[0]
    return count


TOOLS: dict[str, type[Tool]] = {
    tool.id: tool
    for tool in (
        *(Pulseboard, PulseboardWriter, Torch, TorchTensor, TensorBoardX),
        *(JsonLines, InMemory, Wandb, Trackio, Mlflow, Aim),
    )
}
