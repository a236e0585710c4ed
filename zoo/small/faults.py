"""Faults of small trainings: the settings that each changes, and the findings and causes that its curves allow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zoo.foreign.truth import KINDS


@dataclass(frozen=True)
class SmallFault:
    """One fault."""

    name: str
    like: str  # the row of zoo/foreign/truth.py
    change: Mapping[str, tuple[Any, ...]]  # setting -> values to choose from
    also: tuple[str, ...] = ()  # further findings
    causes: tuple[str, ...] = ()  # in place of the row's; the first is what was done
    shows_in: tuple[str, ...] = field(default=())  # metrics that may show it although the losses do not

    @property
    def findings(self) -> tuple[str, ...]:
        """The accepted findings."""
        return (*KINDS[self.like][0], *self.also)

    @property
    def accepted_causes(self) -> tuple[str, ...]:
        """The accepted causes."""
        return self.causes or KINDS[self.like][1]

    def changes(self, rng: np.random.Generator) -> dict[str, Any]:
        """The settings it changes, by chance among those given."""
        return {name: values[int(rng.integers(len(values)))] for name, values in self.change.items()}


_MIDDLE = (0.4, 0.5, 0.6)
_RL = ("return-flat", "return-collapsed", "value-diverged", "policy-update-too-large")
_GAN = ("gan-imbalance", "loss-zero", "gradient-vanishing")
_GRADIENT = ("gradient-scale-off", "gradient-exploding", "clipping-excess")
_JUMPS = ("loss-spike", "loss-level-shift", "loss-diverged", "resume-discontinuity", "loss-drift-up", "data-shift")
_COLLAPSED = ("representation-collapse", "loss-zero", "loss-too-good")
_SLOW = ("data-stall", "throughput-drop", "step-time-periodic")
_FITS = ("val-gap-from-start", "overfitting", "best-checkpoint-missed", "loss-too-good", "metric-disagreement")

FAULTS = (
    SmallFault("lr-high", "lr-high", {"lr_factor": (20.0, 50.0)}, also=("eval-at-chance", *_RL)),
    SmallFault("lr-very-high", "lr-high", {"lr_factor": (200.0, 600.0)}, also=("eval-at-chance", *_RL, *_GAN)),
    SmallFault("lr-low", "lr-low", {"lr_factor": (0.001, 0.003, 0.01)}, also=_RL),
    SmallFault("lr-zero", "lr-zero", {"lr_factor": (0.0,)}),
    SmallFault("not-stepping", "not-stepping", {"stepping": (False,)}, also=(*_RL, *_GAN)),
    SmallFault(
        "no-zero-grad", "lr-high", {"zeroing": (False,)}, also=_GRADIENT,
        causes=("zero-grad-missing", "lr-too-high", "no-warmup"), shows_in=("grad_norm",),
    ),
    SmallFault(
        "undivided", "lr-high", {"divided": (False,), "accumulate": (8,), "optimizer": ("sgd",)}, also=_GRADIENT,
        causes=("accumulation-unscaled", "lr-too-high", "no-warmup"),
    ),
    SmallFault(
        "loss-scale", "lr-high", {"loss_scale": (100.0, 1000.0), "optimizer": ("sgd",)}, also=_GRADIENT,
        causes=("lr-too-high", "loss-weights-wrong", "accumulation-unscaled", "no-warmup"),
    ),
    SmallFault(
        "no-clipping", "lr-high", {"lr_factor": (10.0,), "clip_norm": (None,), "optimizer": ("sgd",)},
        also=("eval-at-chance",), causes=("no-clipping", "lr-too-high", "no-warmup"),
    ),
    SmallFault(
        "schedule-early", "schedule-early", {"rate_ends_at": (0.1,), "schedule": ("cosine", "linear")}, shows_in=("lr",)
    ),
    SmallFault(
        "schedule-restart", "schedule-restart", {"rate_restarts_at": _MIDDLE, "schedule": ("cosine", "linear")},
        also=("loss-diverged", "eval-noisy"), shows_in=("lr",),
    ),
    SmallFault("nan", "nan", {"nan_at": _MIDDLE}),
    SmallFault("shift", "shift", {"shift_at": _MIDDLE}, also=("overfitting", "best-checkpoint-missed", *_RL, *_GAN)),
    SmallFault(
        "bad-batches", "shift", {"bad_batches_at": _MIDDLE},
        also=("batch-outlier", "gradient-spike", "loss-noisy", "loss-oscillating", "eval-noisy", "gradient-exploding"),
        causes=("bad-batch", "data-shift", "data-order-bug"),
    ),
    SmallFault(
        "weights-lost", "shift", {"resume_at": _MIDDLE, "resume_loses": ("weights",)}, also=_JUMPS,
        causes=("resume-bug", "data-shift", "bad-batch"),
    ),
    SmallFault("bad-init", "bad-init", {"init_scale": (8.0, 0.02)}, also=("eval-at-chance", "overfitting")),
    SmallFault(
        "decay", "weight-decay", {"weight_decay": (0.3, 1.0), "optimizer": ("adam", "sgd")}, also=("eval-at-chance",)
    ),
    SmallFault("frozen", "frozen", {"frozen": (True,), "init_scale": (0.3,)}, also=("eval-at-chance",)),
    SmallFault("labels-shuffled", "labels", {"shuffled_labels": (True,)}),
    SmallFault("label-noise", "labels", {"label_noise_share": (0.5, 0.7)}, causes=("label-noise", "labels-misaligned")),
    SmallFault("tiny-data", "tiny-data", {"data_share": (0.01, 0.02)}, also=("metric-disagreement",)),
    SmallFault(
        "repeated-batch", "tiny-data", {"repeated_batch": (True,)}, also=("batches-repeated", "metric-disagreement"),
        causes=("repeated-batches", "too-little-data"),
    ),
    SmallFault(
        "sorted", "shift", {"sorted_data": (True,)},
        also=("loss-oscillating", "eval-noisy", "epoch-staircase", "overfitting", "eval-at-chance", "loss-noisy",
              "metric-disagreement", "best-checkpoint-missed"),
        causes=("data-order-bug", "data-shift"),
    ),
    SmallFault(
        "target-leak", "val-preprocessing", {"leaking": (True,)}, also=_FITS, causes=("target-leak", "eval-bug")
    ),
    SmallFault("eval-stale", "eval-frozen", {"eval_stale": (True,)}, also=_FITS),
    SmallFault("eval-shifted", "val-preprocessing", {"eval_shifted": (True,)}, also=_FITS),
    SmallFault("eval-labels", "val-preprocessing", {"eval_labels_shuffled": (True,)}, also=_FITS),
    SmallFault(
        "eval-ema", "eval-frozen", {"eval_ema": (0.99999, 0.9999)}, also=_FITS,
        causes=("eval-bug", "ema-momentum-too-high"),
    ),
    SmallFault(
        "posterior-collapse", "lr-low", {"part_scale": (30.0, 100.0)}, also=_COLLAPSED, causes=("loss-weights-wrong",)
    ),
    SmallFault(
        "rival-strong", "lr-high", {"rival_factor": (50.0,)}, also=_GAN, causes=("lr-too-high", "loss-weights-wrong")
    ),
    SmallFault("rival-weak", "lr-low", {"rival_factor": (0.0, 0.001)}, also=(*_GAN, "loss-too-good")),
    SmallFault(
        "wrong-sign", "lr-low", {"divided": (False,)}, also=(*_RL, "loss-diverged"),
        causes=("loss-weights-wrong", "labels-misaligned"),
    ),
    SmallFault(
        "no-exploration", "lr-high", {"exploration": (-50.0,)}, also=_RL, causes=("loss-weights-wrong", "lr-too-high")
    ),
    SmallFault(
        "all-exploration", "lr-low", {"exploration": (0.999,)}, also=_RL, causes=("loss-weights-wrong", "lr-too-low")
    ),
    SmallFault("slow-loader", "stall", {"slower_at": _MIDDLE}, shows_in=("step_secs",), also=_SLOW),
    SmallFault(
        "memory-leak", "stall", {"leak_mb_per_step": (3.0, 10.0)}, also=("memory-growth", "oom-risk"),
        causes=("memory-leak",), shows_in=("memory_mb",),
    ),
)  # fmt: skip


def fault_named(name: str) -> SmallFault:
    """The fault of this name."""
    return {fault.name: fault for fault in FAULTS}[name]
