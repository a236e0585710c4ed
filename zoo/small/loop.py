"""The training loop of every kind with one model and one loss, with the faults that any such loop can have."""

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from zoo.small.record import Record, Row
from zoo.small.settings import Settings

VALIDATION = 400
BASE_MEMORY_MB = 900.0
BATCHES_UNTIL_GOOD = 3  # a bad stretch of data has this many batches


class Task(Protocol):
    """A task with its model."""

    model: torch.nn.Module
    head: torch.nn.Module  # what is trained if the rest is frozen
    rates: dict[str, float]  # usual learning rate by optimizer

    def data(self, n: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets."""

    def shifted(self, x: torch.Tensor) -> torch.Tensor:
        """Inputs of another source."""

    def leaking(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Inputs that hold the target."""

    def losses(self, x: torch.Tensor, y: torch.Tensor, s: Settings) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss and other metrics."""


@dataclass
class Clock:
    """Simulated time and memory, so that neither depends on the machine."""

    s: Settings
    rng: np.random.Generator
    now: float = 0.0

    def tick(self, step: int) -> dict[str, float]:
        """The time of one step and the memory after it."""
        secs = self.s.secs_per_step * float(self.rng.lognormal(0.0, 0.05))
        if self.s.reached(self.s.slower_at, step):
            secs *= 4.0
        self.now += secs
        memory = BASE_MEMORY_MB + self.s.leak_mb_per_step * step + float(self.rng.normal(0, 2))
        return {"step_secs": secs, "memory_mb": memory}


def optimizer_of(s: Settings, parameters: Any, rate: float) -> torch.optim.Optimizer:
    """The optimizer that the settings name."""
    parameters = [p for p in parameters if p.requires_grad]
    if s.optimizer == "sgd":
        return torch.optim.SGD(parameters, rate, momentum=0.9, weight_decay=s.weight_decay)
    kind = torch.optim.AdamW if s.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, rate, weight_decay=s.weight_decay)


def prepare(seed: int) -> np.random.Generator:
    """Seed everything and use one core."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return np.random.default_rng(seed)


def train(task: Task, s: Settings, seed: int, *, n_train: int = 3000) -> Record:
    """Train, and return everything that was measured."""
    rng = prepare(seed + 1)
    size = max(s.batch, int(n_train * s.data_share))
    x, y = _training_data(task, s, size, rng)
    val_x, val_y = task.data(VALIDATION, np.random.default_rng(seed + 2))
    if s.eval_shifted:
        val_x = task.shifted(val_x)
    if s.eval_labels_shuffled:
        val_y = val_y[torch.as_tensor(rng.permutation(len(val_y)))]
    _set_up(task, s)
    rate = task.rates[s.optimizer]
    optimizer = optimizer_of(s, task.model.parameters(), rate)
    stale, averaged = copy.deepcopy(task.model), copy.deepcopy(task.model)
    first_weights = copy.deepcopy(task.model.state_dict())
    clock = Clock(s, np.random.default_rng(seed + 3))
    record = Record(s.steps, s.evaluations, config=_config(s, rate))
    rows = _rows(size, s, rng)
    for step in range(s.steps):
        if s.reached(s.resume_at, step) and not s.reached(s.resume_at, step - 1):
            if s.resume_loses == "weights":
                task.model.load_state_dict(first_weights)
            optimizer = optimizer_of(s, task.model.parameters(), rate)
        lr = rate * s.rate(step)
        for group in optimizer.param_groups:
            group["lr"] = lr
        values = _update(task, s, optimizer, step, ((x[r], y[r]) for r in rows))
        if s.eval_ema is not None:
            _average(averaged, task.model, s.eval_ema)
        epoch = step * s.evaluations // s.steps
        record.train.append(Row(step + 1, epoch + 1, clock.now, values | {"lr": lr} | clock.tick(step)))
        if (step + 1) * s.evaluations // s.steps > epoch:
            evaluated = stale if s.eval_stale else averaged if s.eval_ema is not None else task.model
            record.val.append(Row(step + 1, epoch + 1, clock.now, _evaluated(task, evaluated, val_x, val_y, s)))
    return record


def _training_data(task: Task, s: Settings, size: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = task.data(size, rng)
    if s.leaking:
        x = task.leaking(x, y)
    if s.sorted_data:
        order = torch.argsort(y.reshape(len(y), -1)[:, 0], stable=True)
        x, y = x[order], y[order]
    wrong = 1.0 if s.shuffled_labels else s.label_noise_share
    if wrong:
        chosen = torch.as_tensor(rng.permutation(size)[: int(wrong * size)])
        y = y.clone()
        y[chosen] = y[chosen[torch.as_tensor(rng.permutation(len(chosen)))]]
    return x, y


def _set_up(task: Task, s: Settings) -> None:
    for module in task.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = s.dropout
    with torch.no_grad():
        for parameter in task.model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(s.init_scale)
    if s.frozen:
        trained = set(map(id, task.head.parameters()))
        for parameter in task.model.parameters():
            parameter.requires_grad_(id(parameter) in trained)


def _rows(size: int, s: Settings, rng: np.random.Generator) -> Iterator[torch.Tensor]:
    """The rows of each batch, without end."""
    if s.repeated_batch:
        yield from itertools.repeat(torch.as_tensor(rng.permutation(size)[: s.batch]))
    while True:
        order = np.arange(size) if s.sorted_data else rng.permutation(size)
        yield from (torch.as_tensor(part) for part in np.array_split(order, max(1, size // s.batch)))


def _update(task: Task, s: Settings, optimizer: torch.optim.Optimizer, step: int, batches: Any) -> dict[str, float]:
    task.model.train()
    if s.zeroing:
        optimizer.zero_grad()
    sums: dict[str, float] = {}
    for x, y in itertools.islice(batches, s.accumulate):
        if s.reached(s.shift_at, step):
            x = task.shifted(x)
        if (
            s.reached(s.bad_batches_at, step)
            and (step - int((s.bad_batches_at or 0) * s.steps)) % 37 < BATCHES_UNTIL_GOOD
        ):
            x, y = task.shifted(x), y[torch.randperm(len(y))]
            x = 8 * x if x.is_floating_point() else x
        loss, metrics = task.losses(x, y, s)
        if s.nan_at is not None and step == int(s.nan_at * s.steps):
            loss = loss * float("nan")
        scaled = loss * s.loss_scale
        (scaled / s.accumulate if s.divided else scaled).backward()
        for name, value in {"loss": scaled.detach(), **metrics}.items():
            sums[name] = sums.get(name, 0.0) + float(value) / s.accumulate
    norms = [p.grad.norm() for p in task.model.parameters() if p.grad is not None]
    sums["grad_norm"] = float(torch.stack(norms).norm()) if norms else 0.0
    if s.clip_norm is not None:
        torch.nn.utils.clip_grad_norm_(task.model.parameters(), s.clip_norm)
    if s.stepping:
        optimizer.step()
    return sums


def _average(averaged: torch.nn.Module, model: torch.nn.Module, momentum: float) -> None:
    with torch.no_grad():
        for mine, new in zip(averaged.state_dict().values(), model.state_dict().values(), strict=True):
            if mine.is_floating_point():
                mine.mul_(momentum).add_(new, alpha=1 - momentum)
            else:
                mine.copy_(new)


def _evaluated(task: Task, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, s: Settings) -> dict[str, float]:
    trained, task.model = task.model, model
    model.train(s.eval_in_training_mode)
    with torch.no_grad():
        loss, metrics = task.losses(x, y, s)
    task.model = trained
    return {"val_loss": float(loss) * s.loss_scale, **{f"val_{name}": float(value) for name, value in metrics.items()}}


def _config(s: Settings, rate: float) -> dict[str, float | str | None]:
    return {
        "learning_rate": rate * s.lr_factor,
        "batch_size": s.batch,
        "optimizer": s.optimizer,
        "weight_decay": s.weight_decay,
        "lr_schedule": s.schedule,
        "max_steps": s.steps,
        "gradient_clip_val": s.clip_norm,
    }
