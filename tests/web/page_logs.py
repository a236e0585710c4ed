"""Logs for the tests of the page: a few runs with every kind of value, known curves, and hostile names."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from pathlib import Path

import numpy as np

import pulseboard as pb
from pulseboard import SummaryWriter

HOSTILE_NAMES = (
    "<img src=x onerror=alert(1)>",
    "quotes \" and ' and `",
    "emoji 🦊 and العربية",
    "long " + "name " * 40,
    "a&b=c#d%20e",
)
HOSTILE_TAGS = (
    "<script>alert(1)</script>/loss",
    "tag with \"quotes\" and 'more'",
    "emoji 🦊/лосс",
    "long/" + "t" * 495,
    "a&b=c#d%20e",
)


def write_gallery(directory: Path, *, steps: int = 600, graph: bool = False) -> Path:
    """Realistic runs: two learning rates with three seeds each, one that diverges and one that was resumed."""
    for rate in (1e-3, 3e-4):
        for seed in range(3):
            _train(directory, f"base-lr{rate:g}-seed{seed}", rate=rate, seed=seed, steps=steps)
    _train(directory, "overfit", rate=3e-4, seed=7, steps=steps, overfits=True)
    _train(directory, "diverged", rate=0.1, seed=3, steps=steps, diverges_at=steps // 2)
    _resumed(directory, steps=steps)
    _samples(directory, steps=steps)
    if graph:
        write_model(directory)
    return directory


def _train(
    directory: Path,
    name: str,
    *,
    rate: float,
    seed: int,
    steps: int,
    overfits: bool = False,
    diverges_at: int | None = None,
) -> None:
    random = np.random.default_rng(seed)
    config = {"lr": rate, "seed": seed, "optimizer": {"name": "adamw", "beta2": 0.95}, "layers": 4, "batch_size": 32}
    with pb.init(dir=directory, run_id=name, config=config, report_to="tensorboard", telemetry_secs=0) as run:
        for step in range(steps):
            progress = step / steps
            loss = 0.4 + 2.6 * np.exp(-progress * 5 * (rate / 3e-4) ** 0.25) + 0.06 * random.standard_normal()
            norm = 0.8 + 0.5 * np.exp(-progress * 4) + 0.15 * abs(random.standard_normal())
            if diverges_at is not None and step > diverges_at:
                loss *= 1.05 ** (step - diverges_at)
                norm *= 1.06 ** (step - diverges_at)
                if step > diverges_at + 120:
                    loss = norm = float("nan")
            values = {
                "train/loss": loss,
                "train/grad_norm": norm,
                "train/lr": rate * min(1.0, step / (steps * 0.1)) * (0.5 + 0.5 * np.cos(np.pi * progress)),
                "train/accuracy": 1 - np.exp(-progress * 3) * 0.9 + 0.01 * random.standard_normal(),
                "perf/tokens_per_sec": 52_000 + 900 * random.standard_normal() - (9000 if 0.6 < progress < 0.7 else 0),
                "perf/step_time": 0.31 + 0.01 * abs(random.standard_normal()),
                "gpu/0/memory_used": 31e9 + 4e8 * progress,
                "gpu/0/utilization": 93 + 3 * random.standard_normal(),
            }
            if step % 20 == 0:  # the last value is the result of the hyperparameters
                gap = 1.6 * max(0.0, progress - 0.25) if overfits else 0.05
                values["val/loss"] = 0.45 + 2.6 * np.exp(-progress * 5) + gap + 0.02 * random.standard_normal()
                validation = float(values["val/loss"])
                values["val/accuracy"] = 1 - np.exp(-progress * 2.6) * 0.9 - gap * 0.1
            run.log(values, step=step)
            if step % (steps // 30) == 0 and seed == 0:
                for layer in range(3):
                    width = 0.4 + 0.8 * progress + layer * 0.2
                    run.histogram(f"weights/layer{layer}", random.standard_normal(2000) * width + progress, step=step)
        run.hparams({"lr": rate, "seed": seed, "optimizer": "adamw"}, {"val/loss": validation})


def _resumed(directory: Path, *, steps: int) -> None:
    random = np.random.default_rng(11)
    for sitting, (first, last) in enumerate([(0, int(steps * 0.6)), (int(steps * 0.45), steps)]):
        with SummaryWriter(directory / "resumed", purge_step=first if sitting else None) as writer:
            for step in range(first, last):
                lift = 0.3 if sitting == 0 and step > steps * 0.45 else 0.0
                loss = 0.5 + 2.4 * np.exp(-4 * step / steps) + lift + 0.05 * random.standard_normal()
                writer.add_scalar("train/loss", loss, step)


def _samples(directory: Path, *, steps: int) -> None:
    """Images, audio and text."""
    random = np.random.default_rng(5)
    rows, columns = np.mgrid[0:64, 0:64] / 64
    for name, hue in (("samples/a", 0.2), ("samples/b", 0.7)):
        with SummaryWriter(directory / name) as writer:
            for step in range(0, steps, steps // 6):
                progress = step / steps
                picture = np.stack(
                    [
                        rows * progress + hue * columns,
                        columns * (1 - progress),
                        np.sin(rows * 9 * (progress + hue)) ** 2,
                    ]
                )
                noise = random.random((3, 64, 64)) * (1 - progress) * 0.5
                writer.add_image("samples/generated", np.clip(picture + noise, 0, 1), step)
                writer.add_image("samples/target", np.clip(picture, 0, 1), step)
                tone = np.sin(np.arange(8000) * (0.05 + 0.1 * progress + hue * 0.1)) * 0.5
                writer.add_audio("samples/speech", tone[None, :], step, sample_rate=8000)
                writer.add_text(
                    "samples/story",
                    f"**Step {step}**: once upon a time there was a *model* that had learned {progress:.0%}.\n\n"
                    "| token | probability |\n|---|---|\n| once | 0.91 |\n| twice | 0.06 |\n\n"
                    "<script>alert(1)</script>",
                    step,
                )
                writer.add_scalar("train/loss", 1 + np.exp(-progress) + hue, step)


def write_model(directory: Path) -> None:
    """The graph of a model and the gradient norms of its layers. Nothing if torch is missing."""
    try:
        import torch
    except ImportError:
        return
    layers = [
        torch.nn.Linear(16, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 4),
    ]
    with SummaryWriter(directory / "model") as writer, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # add_graph uses tracing, which torch deprecates
        writer.add_graph(torch.nn.Sequential(*layers), torch.zeros(1, 16))
        for step in range(50):
            for layer in (0, 2, 4):
                writer.add_scalar(f"train_gradients/Sequential.Linear[{layer}]", 1 / (step + 1 + layer), step)


def write_watched(directory: Path) -> None:
    """A short training with `pb.watch` of a model with a frozen part, without a graph."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        OrderedDict(
            embedding=nn.Linear(16, 64),
            blocks=nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)),
            head=nn.Linear(64, 4, bias=False),
        )
    )
    model.embedding.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
    with (
        pb.init(dir=directory, run_id="watched", report_to="tensorboard", telemetry_secs=0) as run,
        pb.watch(model, optimizer, run=run, every=1, overhead=None, histogram_interval=0),
    ):
        for _ in range(20):
            loss = model(torch.randn(8, 16)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            run.log({"train/loss": loss})


STUDY_START = 1_700_000_000.0


def write_study(directory: Path) -> Path:
    """Curves with known values, a run with four ranks, and a run with metrics that a profile describes."""
    for name, level in (("a", 2.0), ("b", 4.0), ("c", 1.0)):
        with SummaryWriter(directory / name) as writer:
            for step in range(101):
                writer.add_scalar("level", level, step, STUDY_START + 10 * step)
    with SummaryWriter(directory / "alone") as writer:
        for step in range(1, 1001):
            wall = STUDY_START + step
            writer.add_scalar("count", step, step, wall)
            writer.add_scalar("sawtooth", step % 2, step, wall)
            writer.add_scalar("outlier", 1000.0 if step == 500 else np.sin(step / 50), step, wall)
            writer.add_scalar("edges", {300: np.inf, 600: -np.inf, 900: np.nan}.get(step, 0.5), step, wall)
    with SummaryWriter(directory / "experts") as writer:
        for step in range(200):
            wall = STUDY_START + step  # at a constant pace, however busy the machine is
            writer.add_scalar("moe/aux_loss", 0.05, step, wall)
            writer.add_scalar("moe/z_loss", 0.005, step, wall)
            writer.add_scalar("moe/load_imbalance", 1.0 + 3.0 * step / 200, step, wall)
    write_ranks(directory / "parallel", utilization=(90.0, 88.0, 86.0, 40.0))
    return directory


def write_ranks(directory: Path, *, utilization: tuple[float, ...]) -> None:
    """A run whose ranks logged the utilization of their GPUs."""
    for rank, percent in enumerate(utilization):
        with SummaryWriter(directory / (f"ranks/{rank}" if rank else "logs/tensorboard")) as writer:
            for step in range(50):
                writer.add_scalar("gpu/0/utilization", percent, step)
    (directory / "run.json").write_text("{}")


def write_hostile(directory: Path) -> Path:
    """Names that look like code, which the page must show as text."""
    for number, (name, tag) in enumerate(zip(HOSTILE_NAMES, HOSTILE_TAGS, strict=True)):
        with SummaryWriter(directory / name.replace("/", "_")[:200]) as writer:
            for step in range(20):
                writer.add_scalar(tag, step * (number + 1), step)
                writer.add_scalar("shared/loss", 1 / (step + 1 + number), step)
            writer.add_text("notes", "<img src=x onerror=alert(1)> [link](javascript:alert(1))", 0)
    return directory
