"""Context: what the run's config says and curves cannot: optimizer, plan, clipping, vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulseboard.core.config import flatten

# Common names of each setting, most common first. Matched without punctuation and case, at any depth.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "optimizer": ("optimizer", "optimizername", "optim", "optimizerclass", "opt", "optimtype", "watchoptimizer"),
    "planned_steps": ("maxsteps", "totalsteps", "numsteps", "trainsteps", "maxiters", "numtrainingsteps", "steps"),
    "warmup_steps": ("warmupsteps", "numwarmupsteps", "warmupiters", "lrwarmupsteps", "warmup"),
    "clip_norm": ("clipnorm", "gradclip", "maxgradnorm", "clipgradnorm", "gradclipnorm", "gradientclipval", "clip"),
    "vocabulary": ("vocabsize", "vocabularysize", "nvocab", "vocab"),
    "classes": ("numclasses", "nclasses", "classes", "numlabels"),
    "entropy": ("unigramentropy", "labelentropy", "datasetentropy", "marginalentropy"),
    "dropout": ("dropout", "dropoutrate", "pdropout"),
    "weight_decay": ("weightdecay", "wd"),
    "precision": ("dtype", "precision", "amp", "ampdtype", "mixedprecision"),
    "batch_size": ("batchsize", "trainbatchsize", "perdevicetrainbatchsize"),
    "accumulation": ("gradaccum", "gradientaccumulationsteps", "accumulategradbatches", "gradaccumsteps"),
    "world_size": ("worldsize", "nprocs", "numprocesses"),
    "experts": ("numexperts", "nexperts", "numlocalexperts", "experts"),
    "dimension": ("embeddim", "embeddingdim", "featuredim", "nembd", "hiddensize", "dmodel", "dim"),
    "task": ("task", "objective", "losstype"),
    "frozen_on_purpose": ("frozenonpurpose", "freezebackbone", "frozenbackbone"),
    "hierarchy_weights": ("hierarchyweights", "levelweights"),
    "memory_limit": ("memorylimitgb", "gpumemorygb"),
    "epochs": ("epochs", "numepochs", "numtrainepochs", "maxepochs"),
    "mask_ratio": ("maskratio",),
    "diffusion_target": ("predictiontype", "parameterization", "predtype", "predictiontarget", "objective"),
}

# What a diffusion model predicts, as libraries name it.
_TARGETS: Mapping[str, tuple[str, ...]] = {
    "noise": ("epsilon", "eps", "noise", "prednoise", "predeps", "predepsilon"),
    "data": ("sample", "x0", "xstart", "predx0", "predxstart", "start"),
    "velocity": ("vprediction", "v", "velocity", "predv"),
}

_ADAPTIVE = ("adam", "lamb", "lion", "rmsprop", "adagrad", "adafactor", "shampoo", "muon", "sophia", "novograd")


@dataclass(frozen=True, slots=True)
class Context:
    """What is known about how a run was set up. None means unknown."""

    config: Mapping[str, Any] = field(default_factory=dict)  # flat, as given
    optimizer: str | None = None  # as given, lower case
    planned_steps: int | None = None
    warmup_steps: int | None = None
    clip_norm: float | None = None
    choices: int | None = None  # vocabulary size or classes: its log is the loss of random guessing
    entropy: float | None = None  # of labels or tokens, in nats: the loss of guessing by frequency
    dropout: float | None = None
    weight_decay: float | None = None
    precision: str | None = None
    batch_size: int | None = None
    accumulation: int | None = None
    world_size: int = 1
    experts: int | None = None
    dimension: int | None = None
    frozen_on_purpose: bool = False
    hierarchy_weights: tuple[float, ...] | None = None
    memory_limit_gb: float | None = None
    diffusion_target: str | None = None  # noise, data or velocity
    declared_changes: tuple[tuple[int, str], ...] = ()  # (step, what), from the config's declared_changes
    status: str | None = None  # of a recorded run: running, finished, failed, killed
    heartbeat: float | None = None  # when a running run was last heard of, seconds since 1970

    @property
    def adaptive(self) -> bool | None:
        """Whether the optimizer normalizes gradients, like Adam. None means unknown."""
        if self.optimizer is None:
            return None
        return any(name in self.optimizer for name in _ADAPTIVE)

    @property
    def guess_loss(self) -> float | None:
        """The cross-entropy of random guessing."""
        return math.log(self.choices) if self.choices and self.choices > 1 else None

    @classmethod
    def of(cls, config: Mapping[str, Any], **more: Any) -> Context:
        """From a config of any shape."""
        flat = dict(_settings(config))
        processes = more.pop("world_size", None)
        known: dict[str, Any] = {}
        for name, spellings in _NAMES.items():
            for spelling in spellings:
                value = next((value for key, value in flat.items() if _plain(key) == spelling), None)
                if value is not None:
                    known[name] = value
                    break
        weights = next((v for k, v in _lists(config) if _plain(k) in _NAMES["hierarchy_weights"]), None)
        return cls(
            config=flat,
            optimizer=_text(known.get("optimizer")),
            planned_steps=_whole(known.get("planned_steps")),
            warmup_steps=_whole(known.get("warmup_steps")),
            clip_norm=_positive(known.get("clip_norm")),
            choices=_whole(known.get("vocabulary")) or _whole(known.get("classes")),
            entropy=_positive(known.get("entropy")),
            dropout=_number(known.get("dropout")),
            weight_decay=_number(known.get("weight_decay")),
            precision=_text(known.get("precision")),
            batch_size=_whole(known.get("batch_size")),
            accumulation=_whole(known.get("accumulation")),
            world_size=_whole(known.get("world_size")) or _whole(processes) or 1,
            experts=_whole(known.get("experts")),
            dimension=_whole(known.get("dimension")),
            frozen_on_purpose=bool(known.get("frozen_on_purpose")),
            hierarchy_weights=tuple(float(w) for w in weights) if weights else None,
            memory_limit_gb=_positive(known.get("memory_limit")),
            diffusion_target=_target(known.get("diffusion_target")),
            declared_changes=tuple(_declared(config)),
            **more,
        )


def _settings(config: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in flatten(config):
        if isinstance(value, bool | int | float | str):
            yield name, value
        elif isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            yield name, ", ".join(value)


def _lists(config: Mapping[str, Any]) -> Iterable[tuple[str, list[Any]]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _lists(value)
        elif isinstance(value, list | tuple) and value and all(isinstance(v, int | float) for v in value):
            yield key, list(value)


def _declared(config: Mapping[str, Any]) -> Iterable[tuple[int, str]]:
    for change in config.get("declared_changes") or ():
        if isinstance(change, Mapping) and isinstance(change.get("step"), int | float):
            yield int(change["step"]), str(change.get("what", "a declared change"))
        elif isinstance(change, int | float):
            yield int(change), "a declared change"


def _plain(key: str) -> str:
    last = key.rsplit(".", 1)[-1].rsplit("/", 1)[-1]
    return "".join(sign for sign in last.lower() if sign.isalnum())


def _target(value: Any) -> str | None:
    given = _plain(str(value))
    return next((target for target, names in _TARGETS.items() if given in names), None)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _positive(value: Any) -> float | None:
    number = None if isinstance(value, bool) else _number(value)
    return number if number is not None and number > 0 else None


def _whole(value: Any) -> int | None:
    number = _positive(value)
    return int(number) if number is not None and number == int(number) else None


def _text(value: Any) -> str | None:
    return str(value).lower() if value not in (None, "") else None
