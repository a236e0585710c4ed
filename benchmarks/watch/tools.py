"""The tools that watch a model, each with its defaults: Pulseboard, trainscope and wandb."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
from collections.abc import Callable, Iterator

from benchmarks.watch.training import Training


@contextlib.contextmanager
def pulseboard_watch(training: Training, directory: str) -> Iterator[None]:
    """`pb.watch` with its defaults, histograms included."""
    import pulseboard as pb

    with (
        pb.init(dir=directory, run_id="r", telemetry_secs=0) as run,
        pb.watch(training.model, training.optimizer, run=run),
    ):
        yield


@contextlib.contextmanager
def wandb_watch(training: Training, directory: str, *, log_freq: int = 1000) -> Iterator[None]:
    """`wandb.watch` with gradients and parameters, by default every 1000 steps; and one log call per step."""
    import wandb

    os.environ.update(WANDB_SILENT="true", WANDB_ERROR_REPORTING="false", WANDB_DIR=directory)
    run = wandb.init(mode="offline", dir=directory, settings=wandb.Settings(x_disable_stats=True, console="off"))
    run.watch(training.model, log="all", log_freq=log_freq)
    training.after_step = lambda step: run.log({"step": step})
    try:
        yield
    finally:
        training.after_step = lambda step: None
        run.unwatch(training.model)
        run.finish()


@contextlib.contextmanager
def trainscope_watch(training: Training, directory: str) -> Iterator[None]:
    """`TrainScope` with its defaults, called as its README shows: between backward and the optimizer's step."""
    from trainscope import TrainScope, TrainScopeConfig

    scope = TrainScope(training.model, training.optimizer, config=TrainScopeConfig(run_dir=directory)).attach()
    training.before_update = lambda loss, step: scope.step(loss.item(), batch_index=step)
    try:
        yield
    finally:
        training.before_update = lambda loss, step: None
        scope.detach()


TOOLS: dict[str, Callable[[Training, str], contextlib.AbstractContextManager[None]]] = {
    "pulseboard": pulseboard_watch,
    "trainscope": trainscope_watch,
    "wandb": wandb_watch,
    "wandb, every 100 steps": functools.partial(wandb_watch, log_freq=100),
}


def installed(tool: str) -> bool:
    """Whether the tool can be imported."""
    return importlib.util.find_spec(tool.partition(",")[0]) is not None
