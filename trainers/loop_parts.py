"""The parts of a training loop, so that a fault can replace one of them without changing the loop.

A trainer builds its model, optimizer and data, puts them into `LoopParts`, and then calls only these parts:

    for step in range(parts.first_step, parts.steps):
        parts.set_lr(parts.lr_at(step))
        parts.zero_grad()
        loss = parts.loss(parts.batch(step))
        parts.backward(loss)
        norm = parts.clip()
        parts.step()
        parts.log({"train/loss": loss}, step)

`--fault NAME` passes the parts to a function in `zoo/faults/`, which replaces the part that it breaks. `apply_fault`
comes after `pb.init` and before `pb.watch`, because a fault may install another optimizer or a loss scaler.
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
class LoopParts:
    """Everything a loop calls. Parts of one trainer only are in `extra`."""

    base: str  # the trainer: "gpt", "moe", "hjepa", "diffusion", "classifier"
    args: Namespace
    run: Any  # the Pulseboard run
    model: Any
    optimizer: Any
    steps: int
    lr_at: Callable[[int], float]
    batch: Callable[[int], Any]  # the training batch of a step
    loss: Callable[[Any], Any]  # batch -> scalar to minimize
    evaluate: Callable[[int], dict[str, float]]  # step -> values to log
    first_step: int = 0
    clip_norm: float | None = 1.0
    log: Callable[[dict[str, Any], int], None] | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # ema_momentum(step), router, scaler, after_step(step), …

    def set_lr(self, lr: float) -> None:
        """Set the learning rate of every parameter group."""
        for group in self.optimizer.param_groups:
            group["lr"] = lr * group.get("lr_scale", 1.0)

    def zero_grad(self) -> None:
        """Clear the gradients of the previous step."""
        self.optimizer.zero_grad(set_to_none=True)

    def backward(self, loss: Any) -> None:
        """Compute gradients, scaled if mixed precision uses a loss scale."""
        scaler = self.extra.get("scaler")
        (loss if scaler is None else scaler.scale(loss)).backward()

    def clip(self) -> Any:
        """Clip the gradient norm, and return the norm before clipping."""
        import torch

        if self.extra.get("scaler") is not None:
            self.extra["scaler"].unscale_(self.optimizer)
        max_norm = float("inf") if self.clip_norm is None else self.clip_norm
        return torch.nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.grad is not None], max_norm)

    def step(self) -> None:
        """Update the parameters; a scaler skips this if gradients overflowed."""
        scaler = self.extra.get("scaler")
        if scaler is None:
            self.optimizer.step()
        else:
            scaler.step(self.optimizer)
            scaler.update()

    def get_moe_stats(self) -> dict[str, Any]:
        """The state of the routers at the last step. `valid` is false before the first one and without experts."""
        names = ("aux_loss", "z_loss", "expert_utilization", "load_imbalance")
        latest = self.extra.get("moe_stats")
        return {
            **{name: float(latest[f"moe/{name}"]) if latest else 0.0 for name in names},
            "valid": latest is not None,
        }


def batch_checksum(batch: Any) -> float:
    """A checksum that different batches rarely share: 24 bits, which a float32 in an event file holds exactly."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    tensors = batch if isinstance(batch, list | tuple) else [batch]
    crc = 0
    for tensor in tensors:
        if hasattr(tensor, "numpy"):
            crc = zlib.crc32(tensor.detach().cpu().contiguous().numpy().tobytes(), crc)
    return float(crc & 0xFFFFFF)


def apply_fault(parts: LoopParts) -> None:
    """Break the training if `--fault` was given."""
    name = getattr(parts.args, "fault", None)
    if not name:
        return
    find_fault(name, base=parts.base).inject(parts)


def find_fault(name: str, *, base: str) -> Any:
    """The fault of this name; exits with a list of this trainer's faults if there is none."""
    root = str(Path(__file__).parents[1])
    if root not in sys.path:
        sys.path.insert(0, root)
    from zoo.fault import find

    return find(name, base=base)


def add_fault_argument(parser: Any, *, base: str) -> None:
    """Add `--fault NAME`, with its strength and onset."""
    parser.add_argument("--fault", metavar="NAME", help=f"break the training on purpose; see zoo/faults/ ({base})")
    parser.add_argument("--fault-strength", type=float, default=1.0, help="1: as documented; 2: twice as strong")
    parser.add_argument("--fault-onset", type=float, default=0.5, help="where in the run a sudden fault starts, 0-1")


def config_of(args: Namespace) -> dict[str, Any]:
    """The arguments as the run's config, without the fault, so that a diagnosis cannot read the answer there."""
    return {name: value for name, value in vars(args).items() if name not in _FAULT_ARGUMENTS}


def notes_of(args: Namespace) -> str:
    """A note for anyone who finds the run of a broken training."""
    return f"Broken on purpose: {args.fault}, strength {args.fault_strength:g}." if args.fault else ""
