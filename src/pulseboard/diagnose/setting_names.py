"""Settings: what the keys of a configuration mean, by the names that scripts and frameworks give them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulseboard.core.config import flatten

# Common names of each setting, most common first. Matched without punctuation and case, at any depth. A name may
# consist of the last two parts of a key: `optimizer.type` is `optimizertype`.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "optimizer": (
        "optimizer", "optimizername", "optim", "optimizerclass", "opt", "optimtype", "watchoptimizer", "optimizertype",
        "optimizertarget", "optimizerclasspath", "optimizerclassname", "optname", "solvertype",
    ),
    "learning_rate": (
        "learningrate", "lr", "baselr", "lr0", "initiallr", "initlr", "maxlr", "peaklr", "optimizerlr",
    ),
    "planned_steps": (
        "maxsteps", "totalsteps", "numsteps", "trainsteps", "maxiters", "numtrainingsteps", "steps", "maxiter",
        "maxiterations", "numiterations", "totaltimesteps", "totaliterations", "totaliters", "numtrainsteps",
        "trainiters", "iterations", "numiters", "niters", "maxupdate", "maxupdates", "totalupdates", "trainnumsteps",
    ),
    "epochs": (
        "epochs", "numepochs", "numtrainepochs", "maxepochs", "nepochs", "nepoch", "numepoch", "maxepoch",
        "totalepochs", "totalepoch", "trainepochs", "nbepochs", "epoch", "niter",
    ),
    "decay_epochs": ("nepochsdecay", "niterdecay"),
    "warmup_steps": ("warmupsteps", "numwarmupsteps", "warmupiters", "lrwarmupsteps", "warmup", "warmupiterations"),
    "clip_norm": (
        "clipnorm", "gradclip", "maxgradnorm", "clipgradnorm", "gradclipnorm", "gradientclipval", "clip", "clipgrad",
        "gradientclip", "gradientclipping", "maxnorm", "clipgradients", "gradclipval", "clipgradientsvalue",
    ),
    "vocabulary": ("vocabsize", "vocabularysize", "nvocab", "vocab", "ntoken", "ntokens", "numtokens"),
    "classes": (
        "numclasses", "nclasses", "classes", "numlabels", "numclass", "nclass", "nbclasses", "classcount", "nlabels",
    ),
    "entropy": ("unigramentropy", "labelentropy", "datasetentropy", "marginalentropy"),
    "dropout": ("dropout", "dropoutrate", "pdropout"),
    "weight_decay": ("weightdecay", "wd", "optimizerweightdecay"),
    "batch_size": (
        "batchsize", "trainbatchsize", "perdevicetrainbatchsize", "batch", "trainingbatchsize", "bs", "batchsz",
        "globalbatchsize", "globaltrainbatchsize", "imsperbatch", "minibatchsize",
    ),
    "accumulation": (
        "gradaccum", "gradientaccumulationsteps", "accumulategradbatches", "gradaccumsteps", "accumgrad", "updatefreq",
        "accumsteps", "accumulationsteps",
    ),
    "world_size": ("worldsize", "nprocs", "numprocesses"),
    "experts": ("numexperts", "nexperts", "numlocalexperts", "experts"),
    "dimension": ("embeddim", "embeddingdim", "featuredim", "nembd", "hiddensize", "dmodel", "dim"),
    "activation": (
        "activation", "activationfunction", "activationfn", "hiddenact", "hiddenactivation", "actfn", "nonlinearity",
        "denseactfn", "actlayer", "act",
    ),
    "ema": ("ema", "useema", "modelema", "emadecay", "emarate", "emamomentum"),
    "frozen_on_purpose": ("frozenonpurpose", "freezebackbone", "frozenbackbone"),
    "memory_limit": ("memorylimitgb", "gpumemorygb"),
    "diffusion_target": ("predictiontype", "parameterization", "predtype", "predictiontarget", "objective"),
}  # fmt: skip

_LISTS: Mapping[str, tuple[str, ...]] = {"hierarchy_weights": ("hierarchyweights", "levelweights")}

# Parts of a configuration that are about something other than the training: sweeps, evaluation, sampling.
_OTHER_MATTERS = frozenset(
    "parameters wandb val valid validation test eval evaluation inference taskspecificparams generationconfig "
    "acceleratorconfig earlystopping critic discriminator teacher".split()
)
# Settings that only a reinforcement learner has. Its `clip` is not about gradients, nor are its epochs the training's.
_REINFORCEMENT = frozenset("gamma gaelambda cliprange clipcoef ppoepochs buffersize nsteps rewardsignals lambd".split())

_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0", "none", ""})
_CLASSIFIERS = ("classification", "forimageclass")
_LANGUAGE_MODELS = ("forcausallm", "lmheadmodel", "forconditionalgeneration", "formaskedlm")


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as it is stated."""

    value: Any
    key: str


def recognized(config: Mapping[str, Any], *, is_own: bool = True) -> dict[str, Setting]:
    """What a configuration says, by the names of `_NAMES`.

    A key nearer the top counts before one further down. If `is_own` is false, the configuration was not written for
    this purpose: of keys that contradict each other none counts, and values that are rarely meant are left out.
    """
    flat = list(settings(config)) if is_own else [one for one in settings(config) if not _is_other_matter(one[0])]
    by_name: dict[str, list[tuple[int, str, Any]]] = {}
    for key, value in flat:
        parts = _parts(key)
        for name in {parts[-1], "".join(parts[-2:])}:
            by_name.setdefault(name, []).append((len(parts), key, value))
    found = {}
    for setting, spellings in _NAMES.items():
        one = next((one for name in spellings if (one := _nearest(by_name.get(name, ()), is_own)) is not None), None)
        if one is not None:
            found[setting] = one
    for setting, spellings in _LISTS.items():
        weights = next((v for k, v in _lists(config) if _plain(k) in spellings), None)
        if weights:
            found[setting] = Setting(tuple(map(float, weights)), setting)
    if (precision := _precision(flat)) is not None:
        found["precision"] = precision
    return found if is_own else _only_safe(found, dict(flat))


def settings(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The settings of a configuration as flat names and plain values; lists of texts are joined."""
    for name, value in flatten(config):
        if isinstance(value, bool | int | float | str):
            yield name, value
        elif isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            yield name, ", ".join(value)


def _nearest(candidates: Iterable[tuple[int, str, Any]], is_own: bool) -> Setting | None:
    stated = [one for one in candidates if one[2] is not None]
    if not stated:
        return None
    depth = min(one[0] for one in stated)
    nearest = [one for one in stated if one[0] == depth]
    if not is_own and len({str(value) for _, _, value in nearest}) > 1:
        return None
    return Setting(nearest[0][2], nearest[0][1])


def _only_safe(found: dict[str, Setting], flat: Mapping[str, Any]) -> dict[str, Setting]:
    """Without what a foreign configuration states and a diagnosis must not rely on."""
    names = {_parts(key)[-1] for key in flat}
    if names & _REINFORCEMENT:
        found.pop("epochs", None)
        if "clip_norm" in found and _plain(found["clip_norm"].key) == "clip":
            del found["clip_norm"]
    # A dropout of 0 may be one of several, or there is other noise: augmentation, stochastic depth.
    if "dropout" in found and not number(found["dropout"].value):
        del found["dropout"]
    architecture = " ".join(str(value).lower() for key, value in flat.items() if _parts(key)[-1] == "architectures")
    if any(word in architecture for word in _CLASSIFIERS):
        labels = sum("id2label" in _parts(key)[:-1] for key in flat)
        found.pop("vocabulary", None)
        if "classes" not in found and labels:
            found["classes"] = Setting(labels, "id2label")
    elif any(word in architecture for word in _LANGUAGE_MODELS):
        found.pop("classes", None)
    elif "vocabulary" in found and "classes" in found:
        del found["vocabulary"], found["classes"]
    return found


def _precision(flat: Iterable[tuple[str, Any]]) -> Setting | None:
    """float16, bfloat16, float32, float64, fp8 or "mixed, 16 bit"; from a name, or from switches such as `fp16`."""
    switches: dict[str, Setting] = {}
    named: Setting | None = None
    for key, value in flat:
        name, stated = _plain(key), truth(value)
        if name in ("fp16", "bf16", "amp", "useamp", "ampenabled", "mixedprecision") and stated is not None:
            switches.setdefault(
                {"fp16": "float16", "bf16": "bfloat16"}.get(name, "mixed, 16 bit"), Setting(stated, key)
            )
        elif name in ("precision", "mixedprecision", "ampdtype", "dtype", "computedtype") and named is None:
            kind = _number_format(str(value))
            named = None if kind is None else Setting(kind, key)
        elif name == "torchdtype" and named is None and "16" in str(value):
            named = Setting(_number_format(str(value)), key)
    on = next(((kind, one) for kind, one in switches.items() if one.value), None)
    if on is not None and not (on[0].startswith("mixed") and named is not None and "16" in str(named.value)):
        return Setting(on[0], on[1].key)
    if named is not None:
        return named
    return Setting("float32", next(iter(switches.values())).key) if switches else None


def _number_format(text: str) -> str | None:
    text = text.lower()
    if "bf16" in text or "bfloat16" in text:
        return "bfloat16"
    if "fp8" in text or "float8" in text:
        return "fp8"
    for bits, kind in (("16", "float16"), ("half", "float16"), ("32", "float32"), ("64", "float64")):
        if bits in text:
            return kind
    return "float32" if text in ("single", "full", "no", "false") else None


def _is_other_matter(key: str) -> bool:
    return not _OTHER_MATTERS.isdisjoint(_parts(key)[:-1])


def _lists(config: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for key, value in flatten(config):
        if isinstance(value, list | tuple) and value and all(isinstance(v, int | float) for v in value):
            yield key, list(value)


def _parts(key: str) -> list[str]:
    return [plain for part in key.replace("/", ".").split(".") if (plain := _plain(part))] or [""]


def _plain(key: str) -> str:
    last = key.rsplit(".", 1)[-1].rsplit("/", 1)[-1]
    return "".join(sign for sign in last.lower() if sign.isalnum())


# ---- values


def truth(value: Any) -> bool | None:
    """Whether a switch is on; None if the value does not say."""
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def number(value: Any) -> float | None:
    """A finite number; None for anything else."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def positive(value: Any) -> float | None:
    """A number above 0; truth values do not count."""
    found = None if isinstance(value, bool) else number(value)
    return found if found is not None and found > 0 else None


def whole(value: Any) -> int | None:
    """A whole number above 0."""
    found = positive(value)
    return int(found) if found is not None and found == int(found) else None


def text_of(value: Any) -> str | None:
    """A text in lower case; None if it is empty."""
    return str(value).lower() if value not in (None, "") else None


def plain_text(value: Any) -> str:
    """A text without punctuation and case, for comparison."""
    return _plain(str(value))
