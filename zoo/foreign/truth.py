"""What counts as a correct diagnosis of the usual faults: findings and causes that the curves allow."""

from collections.abc import Mapping
from typing import Any

from zoo.foreign.base import BaseFault

_NOT_LEARNING = ("loss-flat", "loss-at-ignorance", "loss-at-marginal", "loss-plateau", "eval-at-chance")
_UNSTABLE = (
    "loss-diverged",
    "loss-nan",
    "loss-spike",
    "loss-drift-up",
    "loss-level-shift",
    "loss-noisy",
    "loss-oscillating",
    "gradient-exploding",
    "gradient-spike",
    "gradient-nan",
    "eval-noisy",
    "impossible-value",
)
_DECAYED = ("lr-horizon-off", "lr-zero", "lr-jump", "lr-never-decays")

# Kind of fault: (accepted findings, accepted causes).
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "lr-high": ((*_UNSTABLE, *_NOT_LEARNING, "initial-loss-off", "gradient-vanishing"), ("lr-too-high", "no-warmup")),
    "lr-low": (
        (*_NOT_LEARNING, "update-too-small", "weights-frozen"),
        ("lr-too-low", "optimizer-not-stepping", "frozen-weights", "scheduler-bug"),
    ),
    "not-stepping": (
        (*_NOT_LEARNING, "eval-frozen", "weights-frozen", "lr-zero"),
        ("optimizer-not-stepping", "lr-too-low", "scheduler-bug", "frozen-weights", "detached-graph"),
    ),
    "lr-zero": (
        (*_NOT_LEARNING, "eval-frozen", "weights-frozen", *_DECAYED),
        ("scheduler-bug", "optimizer-not-stepping", "lr-too-low"),
    ),
    "labels": (
        (*_NOT_LEARNING, "overfitting", "val-gap-from-start", "best-checkpoint-missed"),
        ("labels-misaligned", "label-noise"),
    ),
    "tiny-data": (
        ("overfitting", "best-checkpoint-missed", "loss-too-good", "val-gap-from-start"),
        ("too-little-data", "repeated-batches"),
    ),
    "weight-decay": (
        (*_NOT_LEARNING, "weights-shrinking", "loss-drift-up", "loss-diverged", "gradient-vanishing"),
        ("weight-decay-too-high",),
    ),
    "frozen": ((*_NOT_LEARNING, "gradient-zeros"), ("frozen-weights", "detached-graph", "capacity-too-small")),
    "bad-init": (
        (*_NOT_LEARNING, "initial-loss-off", "gradient-exploding", "loss-spike"),
        ("bad-init", "no-warmup"),
    ),
    "nan": (("loss-nan", "gradient-nan", "nan-masked", "loss-zero"), ("bad-batch", "precision-overflow")),
    "shift": (
        ("data-shift", "loss-level-shift", "loss-spike", "loss-diverged", "loss-drift-up", "val-gap-from-start"),
        ("data-shift", "bad-batch"),
    ),
    "schedule-early": ((*_DECAYED, *_NOT_LEARNING, "eval-frozen", "weights-frozen"), ("scheduler-bug", "lr-too-low")),
    "schedule-restart": (
        (*_DECAYED, "loss-spike", "loss-level-shift", "loss-drift-up"),
        ("scheduler-bug", "resume-bug"),
    ),
    "val-preprocessing": (("val-gap-from-start", "eval-at-chance", "overfitting"), ("eval-bug", "data-shift")),
    "eval-frozen": (("eval-frozen", "eval-at-chance", "metric-disagreement", "val-gap-from-start"), ("eval-bug",)),
    "stall": (
        ("data-stall", "throughput-drop", "step-time-periodic"),
        ("dataloader-bottleneck", "contention", "checkpoint-in-loop"),
    ),
    "crash": (("run-stalled", "lr-horizon-off", "lr-never-decays"), ("killed", "hardware-fault")),
}


def fault(
    name: str,
    kind: str,
    *,
    visible: bool = True,
    also: tuple[str, ...] = (),
    causes: tuple[str, ...] = (),
    **change: Any,
) -> BaseFault:
    """A fault of a usual kind. `also` accepts further findings; `causes` replace the kind's."""
    findings, usual_causes = KINDS[kind]
    return BaseFault(name, _settings(change), (*findings, *also), causes or usual_causes, visible)


def harmless(name: str, **change: Any) -> BaseFault:
    """A training that is healthy, or whose fault cannot be seen in its log: an alarm is a false one."""
    return BaseFault(name, _settings(change), visible=False)


def _settings(change: Mapping[str, Any]) -> dict[str, Any]:
    return dict(change)
