"""Context: what the run's config says and curves cannot: optimizer, plan, clipping, vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulseboard.diagnose.setting_names import (
    Setting,
    number,
    plain_text,
    positive,
    recognized,
    settings,
    text_of,
    truth,
    whole,
)

# What a diffusion model predicts, as libraries name it.
_TARGETS: Mapping[str, tuple[str, ...]] = {
    "noise": ("epsilon", "eps", "noise", "prednoise", "predeps", "predepsilon"),
    "data": ("sample", "x0", "xstart", "predx0", "predxstart", "start"),
    "velocity": ("vprediction", "v", "velocity", "predv"),
}

_ADAPTIVE = (
    "adam", "lamb", "lion", "rmsprop", "adagrad", "adafactor", "adadelta", "shampoo", "muon", "sophia", "novograd",
    "adabelief", "ranger", "prodigy",
)  # fmt: skip
_PLAIN = ("sgd", "momentum", "nesterov", "gradientdescent", "gradient_descent", "lars")


@dataclass(frozen=True, slots=True)
class Stated:
    """A number that a configuration states and that is used only if the curves agree with it."""

    value: int
    where: str  # for a sentence: `max_steps in args.yaml`
    is_own: bool  # the configuration was written with the log, so it counts in the log's steps


@dataclass(frozen=True, slots=True)
class Context:
    """What is known about how a run was set up. None means unknown."""

    config: Mapping[str, Any] = field(default_factory=dict)  # flat, as given
    optimizer: str | None = None  # as given, lower case
    learning_rate: float | None = None
    planned_steps: int | None = None  # plan.py compares it with the log, or derives it from what is stated
    warmup_steps: int | None = None
    clip_norm: float | None = None
    choices: int | None = None  # vocabulary size or classes: its log is the loss of random guessing
    entropy: float | None = None  # of labels or tokens, in nats: the loss of guessing by frequency
    dropout: float | None = None
    weight_decay: float | None = None
    precision: str | None = None  # float16, bfloat16, float32, float64, fp8 or "mixed, 16 bit"
    batch_size: int | None = None
    accumulation: int | None = None
    world_size: int = 1
    experts: int | None = None
    dimension: int | None = None
    activation: str | None = None  # as given, lower case
    ema: bool | None = None  # whether an average of the weights is kept
    frozen_on_purpose: bool = False
    hierarchy_weights: tuple[float, ...] | None = None
    memory_limit_gb: float | None = None
    diffusion_target: str | None = None  # noise, data or velocity
    declared_changes: tuple[tuple[int, str], ...] = ()  # (step, what), from the config's declared_changes
    status: str | None = None  # of a recorded run: running, finished, failed, killed
    heartbeat: float | None = None  # when a running run was last heard of, seconds since 1970
    stated_steps: Stated | None = None
    stated_epochs: Stated | None = None
    stated_choices: Stated | None = None
    doubts: tuple[str, ...] = ()  # sentences about what is stated and was not used

    @property
    def adaptive(self) -> bool | None:
        """Whether the optimizer normalizes gradients, like Adam. None means unknown."""
        if self.optimizer is None:
            return None
        if any(name in self.optimizer for name in _ADAPTIVE):
            return True
        return False if any(name in self.optimizer for name in _PLAIN) else None

    @property
    def guess_loss(self) -> float | None:
        """The cross-entropy of random guessing."""
        return math.log(self.choices) if self.choices and self.choices > 1 else None

    @classmethod
    def of(cls, config: Mapping[str, Any], *, others: Sequence[ForeignConfig] = (), **more: Any) -> Context:
        """From a config of any shape. `others` count where it says nothing, the first of them most."""
        processes = more.pop("world_size", None)
        known = {name: (one, "the config", True) for name, one in recognized(config).items()}
        flat = dict(settings(config))
        for other in others:
            for name, one in recognized(other.values, is_own=other.is_own).items():
                known.setdefault(name, (one, other.where, other.is_own))
            for key, value in settings(other.values):
                flat.setdefault(key, value)
        value = {name: one.value for name, (one, _, _) in known.items()}
        steps = _stated(known, "planned_steps")
        among = _stated(known, "vocabulary") or _stated(known, "classes")
        return cls(
            config=flat,
            optimizer=_optimizer(value.get("optimizer")),
            learning_rate=positive(value.get("learning_rate")),
            planned_steps=steps.value if steps is not None and steps.is_own else None,
            warmup_steps=whole(value.get("warmup_steps")),
            clip_norm=positive(value.get("clip_norm")),
            choices=among.value if among is not None and among.is_own else None,
            entropy=positive(value.get("entropy")),
            dropout=number(value.get("dropout")),
            weight_decay=number(value.get("weight_decay")),
            precision=value.get("precision"),
            batch_size=whole(value.get("batch_size")),
            accumulation=whole(value.get("accumulation")),
            world_size=whole(value.get("world_size")) or whole(processes) or 1,
            experts=whole(value.get("experts")),
            dimension=whole(value.get("dimension")),
            activation=_name(value.get("activation")),
            ema=_switch(value.get("ema")),
            frozen_on_purpose=truth(value.get("frozen_on_purpose")) or False,
            hierarchy_weights=value.get("hierarchy_weights"),
            memory_limit_gb=positive(value.get("memory_limit")),
            diffusion_target=_target(value.get("diffusion_target")),
            declared_changes=tuple(_declared(config, *(other.values for other in others if other.is_own))),
            stated_steps=steps,
            stated_epochs=_with_decay(_stated(known, "epochs"), _stated(known, "decay_epochs")),
            stated_choices=among if among is not None and not among.is_own else None,
            **more,
        )


@dataclass(frozen=True, slots=True)
class ForeignConfig:
    """A configuration that was not given to Pulseboard, and where it was found."""

    where: str
    values: Mapping[str, Any]
    is_own: bool = False


def _stated(known: Mapping[str, tuple[Setting, str, bool]], name: str) -> Stated | None:
    if name not in known:
        return None
    one, where, is_own = known[name]
    value = whole(one.value)
    return None if value is None else Stated(value, f"{one.key} in {where}", is_own)


def _with_decay(epochs: Stated | None, decay: Stated | None) -> Stated | None:
    """pix2pix and CycleGAN train for some epochs at a constant rate, and for others while the rate decays."""
    if epochs is None or decay is None:
        return epochs
    return Stated(epochs.value + decay.value, epochs.where, epochs.is_own)


def _declared(*configs: Mapping[str, Any]) -> Iterable[tuple[int, str]]:
    stated = next(
        (changes for config in configs if isinstance(changes := config.get("declared_changes"), list | tuple)), ()
    )
    for change in stated:
        if isinstance(change, Mapping) and isinstance(change.get("step"), int | float):
            yield int(change["step"]), str(change.get("what", "a declared change"))
        elif isinstance(change, int | float):
            yield int(change), "a declared change"


def _optimizer(value: Any) -> str | None:
    """A name; numbers and switches under such a key are something else, and `auto` says nothing."""
    name = _name(value)
    return None if name in ("auto", "default") else name


def _name(value: Any) -> str | None:
    return text_of(value) if isinstance(value, str) and number(value) is None and truth(value) is None else None


def _switch(value: Any) -> bool | None:
    """A switch, or a decay that is 0 if the average is off."""
    if value is None:
        return None
    amount = number(value)
    return truth(value) if amount is None else amount > 0


def _target(value: Any) -> str | None:
    given = plain_text(value)
    return next((target for target, names in _TARGETS.items() if given in names), None)
