"""The parts of a training loop, so that a fault can swap one of them and the loop stays as it is.

A trainer builds its model, optimizer and data, puts them into `Parts`, and then calls nothing but these parts:

    for step in range(parts.first_step, parts.steps):
        parts.set_lr(parts.lr_at(step))
        parts.zero_grad()
        loss = parts.loss(parts.batch(step))
        parts.backward(loss)
        norm = parts.clip()
        parts.step()
        parts.log({"train/loss": loss}, step)

`--fault NAME` hands the parts to one function of `zoo/faults/`, which swaps what it breaks. `apply_fault` comes after
`pb.init` and before `pb.watch`, because a fault may bring another optimizer or a loss scaler.
"""

import sys
import zlib
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_FAULT_ARGUMENTS = ("fault", "fault_strength", "fault_onset")


@dataclass
class Parts:
    """Everything a loop calls. A trainer adds what only it has to `extra`."""

    base: str  # the trainer: "gpt", "moe", "hjepa", "diffusion", "classifier"
    args: Namespace
    run: Any  # the Pulseboard run
    model: Any
    optimizer: Any
    steps: int
    lr_at: Callable[[int], float]
    batch: Callable[[int], Any]  # the training batch of a step
    loss: Callable[[Any], Any]  # batch -> scalar tensor to train on
    evaluate: Callable[[int], dict[str, float]]  # step -> numbers to log
    first_step: int = 0
    clip_norm: float | None = 1.0
    log: Callable[[dict[str, Any], int], None] | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # ema_momentum(step), router, scaler, after_step(step), …

    def set_lr(self, lr: float) -> None:
        """The learning rate of every group."""
        for group in self.optimizer.param_groups:
            group["lr"] = lr * group.get("lr_scale", 1.0)

    def zero_grad(self) -> None:
        """Forget the gradients of the step before."""
        self.optimizer.zero_grad(set_to_none=True)

    def backward(self, loss: Any) -> None:
        """Gradients of the loss, times the scale of mixed precision where there is one."""
        scaler = self.extra.get("scaler")
        (loss if scaler is None else scaler.scale(loss)).backward()

    def clip(self) -> Any:
        """Bound the gradient's norm; the norm before is returned."""
        import torch

        if self.extra.get("scaler") is not None:
            self.extra["scaler"].unscale_(self.optimizer)
        bound = float("inf") if self.clip_norm is None else self.clip_norm
        return torch.nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.grad is not None], bound)

    def step(self) -> None:
        """One update of the parameters; a scaler skips it where the gradients overflowed."""
        scaler = self.extra.get("scaler")
        if scaler is None:
            self.optimizer.step()
        else:
            scaler.step(self.optimizer)
            scaler.update()


def batch_checksum(batch: Any) -> float:
    """A number that two different batches hardly share: 24 bits, which a scalar of an event file holds exactly."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    tensors = batch if isinstance(batch, list | tuple) else [batch]
    crc = 0
    for tensor in tensors:
        if hasattr(tensor, "numpy"):
            crc = zlib.crc32(tensor.detach().cpu().contiguous().numpy().tobytes(), crc)
    return float(crc & 0xFFFFFF)


def apply_fault(parts: Parts) -> None:
    """Break the training as `--fault` says; without it, nothing."""
    name = getattr(parts.args, "fault", None)
    if not name:
        return
    find_fault(name, base=parts.base).inject(parts)


def find_fault(name: str, *, base: str) -> Any:
    """The fault of this name, or an exit that lists those there are for this trainer."""
    root = str(Path(__file__).parents[1])
    if root not in sys.path:
        sys.path.insert(0, root)
    from zoo.fault import find

    return find(name, base=base)


def add_fault_argument(parser: Any, *, base: str) -> None:
    """`--fault NAME` and how strong, for the faults that make sense in this trainer."""
    parser.add_argument("--fault", metavar="NAME", help=f"break the training on purpose: see zoo/faults/ ({base})")
    parser.add_argument("--fault-strength", type=float, default=1.0, help="1: as documented; 2: twice as far off")
    parser.add_argument("--fault-onset", type=float, default=0.5, help="where in the run a sudden fault begins, 0-1")


def config_of(args: Namespace) -> dict[str, Any]:
    """The arguments as the run's config, without the fault: a diagnosis shall not read the answer there."""
    return {name: value for name, value in vars(args).items() if name not in _FAULT_ARGUMENTS}


def notes_of(args: Namespace) -> str:
    """What a person should know who finds the run of a broken training."""
    return f"Broken on purpose: {args.fault}, strength {args.fault_strength:g}." if args.fault else ""
