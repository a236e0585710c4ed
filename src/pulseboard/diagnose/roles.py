"""Roles: what a metric is, read from its name, in whatever style it was named.

A tag is broken into words (`Loss/train`, `train_loss_step` and `trainLoss` have the same two), the words say which
roles it could have, and where several tags could have one role, the plainest name with the most points gets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pulseboard.diagnose.track import Change

TRAIN = frozenset({"train", "training", "trn"})
VALIDATION = frozenset(
    {"val", "valid", "validation", "eval", "evaluation", "dev", "test", "testing", "holdout", "heldout"}
)

# How an average was taken is no part of what was averaged.
_FILLERS = frozenset({"avg", "average", "mean", "running", "global", "current", "raw", "smoothed", "value", "metrics"})

_LOSS = frozenset({"loss", "nll", "xent", "bce", "elbo", "criterion", "losses"})
_ERROR = frozenset({"mse", "rmse", "mae", "error", "perplexity", "ppl"})
# A loss with one of these beside it is a part of another, or follows other rules than falling.
_NOT_THE_LOSS = frozenset(
    "aux auxiliary z reg regularization l1 l2 kl kld vq commitment scale smoothness spike slope ratio contribution"
    " trend gap weight weights quantile rate entropy temperature convergence unweighted scaler window stop variance"
    " reconstruction perceptual consistency penalty decay max min std epochs".split()
)
_RL = frozenset("policy actor critic q td ppo sac dqn surrogate explained kl rollout episode reward return".split())
_GAN = frozenset("gan adversarial generator discriminator gen disc g d".split())

_ACCURACY = frozenset(
    "acc accuracy f1 auc auroc iou miou dice map precision recall bleu rouge top1 top5 r2 exactmatch em hellaswag"
    " performance score".split()
)


@dataclass(frozen=True, slots=True)
class Role:
    """What a metric can be, and the line of code that logs it."""

    name: str
    meaning: str
    log: str  # how to have it; empty where there is no one line
    fits: Callable[[Words], bool]
    changes: tuple[Change, ...] = ()  # the change tests its series carries
    many: bool = False  # several tags may have it at once: levels, data sets, devices


@dataclass(frozen=True, slots=True)
class Words:
    """A tag in words."""

    tag: str
    every: tuple[str, ...]  # lower case, in order
    split: str  # "train", "validation" or ""
    rest: frozenset[str]  # without split and fillers

    @property
    def joined(self) -> str:
        """The words with single spaces between."""
        return " ".join(self.every)


@lru_cache(maxsize=65536)
def words_of(tag: str) -> Words:
    """A tag broken at signs, at capitals and at digits that follow a name."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", tag)
    every = tuple(word for word in re.split(r"[^a-z0-9%]+", spaced.lower()) if word)
    some = set(every)
    # `eval/train_loss` is the training split at evaluation: the word next to the quantity counts.
    split = ""
    for word in every:
        if word in TRAIN:
            split = "train"
        elif word in VALIDATION:
            split = "validation"
    rest = frozenset(some - TRAIN - VALIDATION - _FILLERS)
    return Words(tag, every, split, rest)


# ---- rules for names


def _has(words: Words, *wanted: str) -> bool:
    return all(word in words.rest or word in words.every for word in wanted)


def _matches(pattern: str) -> Callable[[Words], bool]:
    """A rule on the words joined by spaces."""
    compiled = re.compile(pattern)
    return lambda words: compiled.search(words.joined) is not None


def _is_loss(words: Words) -> bool:
    if not words.rest & _LOSS:
        return False
    if words.rest & (_NOT_THE_LOSS | _RL | _GAN) or re.search(r"\bh\d+\b|\blevel ?\d", words.joined):
        return False
    # `evaluation_loss_vs_iterations` is Keras's loss of a batch, counted over all evaluations.
    return "vs" not in words.rest


def _is_train_loss(words: Words) -> bool:
    return _is_loss(words) and words.split in ("train", "") and not _named_split(words)


def _is_validation_loss(words: Words) -> bool:
    return _is_loss(words) and words.split == "validation"


def _is_set_loss(words: Words) -> bool:
    """`{name}/loss`: the loss on a data set that goes by a name of its own."""
    return _is_loss(words) and words.split == "" and _named_split(words)


_PLAIN = _LOSS | frozenset(
    "total step epoch iteration iter batch per cross ce cls objective model ema sum log token smooth lm main".split()
)


def _named_split(words: Words) -> bool:
    """Whether the name holds a word that says neither split nor loss, before a slash and `loss`."""
    return re.fullmatch(r"[^/]+/[Ll]oss", words.tag) is not None and not words.rest <= _PLAIN


def _is_accuracy(words: Words) -> bool:
    found = words.rest & _ACCURACY
    # `Performance/tokens_per_sec` is about speed; `train_performance` is a score.
    if found == {"performance"}:
        return words.rest == found
    return bool(found) and not words.rest & (_LOSS | frozenset({"gpu", "cpu", "time"}))


def _is_rate(words: Words) -> bool:
    if words.rest & {"update", "updates", "target", "reduction", "convergence", "warmup"}:
        return False
    return (
        "lr" in words.every
        or any(w.startswith("lr") and w[2:].isdigit() for w in words.every)
        or ("learning" in words.every and "rate" in words.every)
    )


def _is_gradient_norm(words: Words) -> bool:
    norm = "norm" in words.every or "norms" in words.every
    gradient = bool(words.rest & {"grad", "grads", "gradient", "gradients"})
    if words.rest & {"after", "clip", "clipped", "layer", "param", "params", "weight", "parameter", "feat", "ratio"}:
        return "before" in words.every and norm
    if norm and gradient:
        # One number for the whole model: a layer's norm has more words.
        return words.rest <= {"grad", "grads", "gradient", "gradients", "norm", "norms", "total", "flow", "l2", "step"}
    return words.rest <= {"norm", "total"} and norm and words.split == "train"


ROLES: tuple[Role, ...] = (
    Role(
        "train.loss",
        "the loss that is minimised, on training batches",
        'run.log({"train/loss": loss}, step=step)',
        _is_train_loss,
        changes=(Change(), Change(block=16)),
    ),
    Role(
        "val.loss",
        "the loss on data that is not trained on",
        'run.log({"val/loss": validation_loss}, step=step)',
        _is_validation_loss,
        many=True,
    ),
    Role("set.loss", "the loss on a data set with a name of its own", "", _is_set_loss, many=True),
    Role(
        "train.accuracy",
        "a score on training batches that rises as the model learns",
        'run.log({"train/accuracy": accuracy}, step=step)',
        lambda words: _is_accuracy(words) and words.split in ("train", ""),
        many=True,
    ),
    Role(
        "val.accuracy",
        "a score on held-out data that rises as the model learns",
        'run.log({"val/accuracy": accuracy}, step=step)',
        lambda words: _is_accuracy(words) and words.split == "validation",
        many=True,
    ),
    Role("lr", "the learning rate", 'run.log({"train/lr": scheduler.get_last_lr()[0]}, step=step)', _is_rate),
    Role(
        "gradient.norm",
        "the norm of all gradients, before clipping where both are logged",
        "pb.watch(model, optimizer)",
        _is_gradient_norm,
        changes=(Change(log=True), Change(sign=-1, log=True)),
    ),
    Role(
        "gradient.norm_after",
        "the norm of all gradients after clipping",
        "pb.watch(model, optimizer)",
        _matches(r"\bnorm after clip"),
    ),
    Role(
        "gradient.clipped",
        "share of the steps that were clipped, in per cent",
        "pb.watch(model, optimizer)",
        _matches(r"\bclipping percentage\b|\bclip (rate|percentage|pct)\b"),
    ),
    Role(
        "gradient.was_clipped",
        "1 at the steps that were clipped",
        "pb.watch(model, optimizer)",
        _matches(r"\bwas clipped\b"),
    ),
    Role(
        "gradient.zero_share",
        "share of the gradient's numbers that are exactly zero",
        "pb.watch(model, optimizer)",
        _matches(r"\b(zero|zeros) (share|frac|fraction)\b|\bgrad\w* (zero|zeros)\b"),
    ),
    Role(
        "gradient.none_share",
        "share of the parameters that got no gradient at all",
        "pb.watch(model, optimizer)",
        _matches(r"\bnone (share|frac|fraction)\b|\bgrad\w* none\b"),
    ),
    Role(
        "gradient.left_over",
        "what the step before left in a gradient, as backward begins",
        "pb.watch(model, optimizer)",
        _matches(r"\bgradient flow left over\b"),
    ),
    Role(
        "gradient.layers",
        "a layer's gradient, on average",
        "pb.watch(model, optimizer)",
        lambda words: re.search(r"gradient_?flow/(?!global)(?!none)(?!zero).+_mean$", words.tag) is not None,
        many=True,
    ),
    Role(
        "update.ratio",
        "size of an update beside the size of the parameters",
        "pb.watch(model, optimizer)",
        _matches(r"\bupdate( to)?( weight| param\w*)? ratio\b|\bupdate ratio\b"),
    ),
    Role(
        "parameter.norm",
        "the norm of all parameters",
        "pb.watch(model, optimizer)",
        _matches(r"\b(total )?(param|params|parameter|weight|weights) norm\b"),
    ),
    Role(
        "dead.units",
        "share of units that never fire",
        "pb.watch(model, optimizer, dead_units=True)",
        _matches(r"\bdead (units|relu|neurons|fraction)\b"),
        many=True,
    ),
    Role(
        "amp.loss_scale",
        "the loss scale of mixed precision",
        "pb.watch(model, optimizer, scaler=scaler)",
        _matches(r"\b(loss|grad) scale\b|\bscaler( scale)?\b"),
    ),
    Role(
        "amp.skipped",
        "steps that mixed precision skipped",
        "pb.watch(model, optimizer, scaler=scaler)",
        _matches(r"\bskipped (steps|updates|iterations)\b|\bsteps skipped\b"),
    ),
    Role("epoch", "the epoch", 'run.log({"train/epoch": epoch}, step=step)', lambda words: words.rest == {"epoch"}),
    Role(
        "time.step",
        "time of a step",
        "pb.watch(model, optimizer)",
        _matches(
            r"^(?!rank\b).*\bstep (time|duration)\b|\b(iteration|iter|batch) time\b|\btime (step|metrics end to end)"
            r"|\bduration ms\b|\btime per (step|iteration)\b"
        ),
        changes=(Change(log=True),),
    ),
    Role(
        "time.data",
        "time of a step spent waiting for data",
        "pb.watch(model, optimizer)",
        _matches(r"^(?!rank\b).*\bdata (loading |load |wait |)(time|ms|s)\b|\bdata loading\b"),
    ),
    Role(
        "throughput",
        "samples or tokens a second",
        "pb.watch(model, optimizer)",
        _matches(r"\b(tokens|samples|examples|images|steps) per (sec|second|s)\b|\btps\b|\bwps\b|\bthroughput\b"),
        many=True,
    ),
    Role(
        "memory.used",
        "memory in use",
        "pb.init(telemetry_secs=10)",
        _matches(r"\bram main process|\bvram allocated\b|\bmemory allocated\b|\bmax active\b|\bmemory used\b|\brss\b"),
        many=True,
    ),
    Role(
        "memory.peak",
        "the highest memory use so far",
        "pb.init(telemetry_secs=10)",
        _matches(r"\b(vram|memory) peak\b|\bmax (reserved|active)\b.*%|\bmem util\b"),
        many=True,
    ),
    Role(
        "memory.retries",
        "how often the allocator had to try again",
        "pb.init(telemetry_secs=10)",
        _matches(r"\b(num )?(alloc|allocator) retries\b"),
    ),
    Role(
        "gpu.util",
        "share of the time the GPU computes",
        "pb.init(telemetry_secs=10)",
        _matches(r"\bgpu util(ization)?\b"),
        many=True,
    ),
    Role("gpu.clock", "the GPU's clock", "pb.init(telemetry_secs=10)", _matches(r"\bgpu \d+ clock\b"), many=True),
    Role(
        "gpu.max_clock",
        "the GPU's top clock",
        "pb.init(telemetry_secs=10)",
        _matches(r"\bgpu \d+ max clock\b"),
        many=True,
    ),
    Role(
        "gpu.temperature",
        "the GPU's temperature",
        "pb.init(telemetry_secs=10)",
        _matches(r"\bgpu \d+ temperature\b"),
        many=True,
    ),
    Role(
        "gpu.temp_slowdown",
        "the temperature at which the GPU slows down",
        "pb.init(telemetry_secs=10)",
        _matches(r"\btemp slowdown\b"),
        many=True,
    ),
    Role(
        "gpu.throttle",
        "whether the GPU is held back",
        "pb.init(telemetry_secs=10)",
        _matches(r"\bgpu \d+ throttl\w*\b"),
        many=True,
    ),
    Role(
        "gpu.errors",
        "XID and ECC errors of the GPU",
        "pb.init(telemetry_secs=10)",
        _matches(r"\bxid\b|\becc\b"),
        many=True,
    ),
    Role(
        "sol",
        "share of the theoretical speed that is reached, in per cent",
        "logger.log_sol_estimate(...)",
        _matches(r"\bsol percentage\b|\bsol\b$|\bmfu\b"),
    ),
    # ---- self-supervised
    Role(
        "collapse.std",
        "standard deviation of features along a dimension, on average",
        "watch.measure(collapse, features, level=0)",
        _matches(r"\bmean std per dim\b|\bfeature std\b|\bembedding std\b"),
        many=True,
    ),
    Role(
        "collapse.min_std",
        "standard deviation of features along their narrowest dimension",
        "watch.measure(collapse, features, level=0)",
        _matches(r"\bmin std per dim\b"),
        many=True,
    ),
    Role(
        "collapse.rank",
        "in how many directions features vary",
        "watch.measure(collapse, features, level=0)",
        _matches(r"\beffective rank\b|\brankme\b|\brank me\b"),
        many=True,
    ),
    Role(
        "collapse.similarity",
        "cosine of two features, on average",
        "watch.measure(collapse, features, level=0)",
        _matches(r"\b(?<!std )(?<!max )mean similarity\b|\bpairwise (cosine|similarity)\b"),
        many=True,
    ),
    Role(
        "target.variance",
        "variance of the targets that are predicted",
        'run.log({"train/target_variance": target.var()}, step=step)',
        _matches(r"\btarget (var|variance)\b"),
    ),
    Role(
        "loss.relative",
        "the loss divided by the variance of its targets",
        'run.log({"train/relative_loss": loss / target.var()}, step=step)',
        _matches(r"\brelative loss\b|\bloss over (var|variance)\b|\bloss relative\b"),
    ),
    Role(
        "ema.momentum",
        "momentum of the target network's average",
        "watch.measure(ema, model, target)",
        _matches(r"\bema momentum( current)?$|\bmomentum current\b|\bema decay\b"),
    ),
    Role(
        "ema.distance",
        "how far the target network is from the trained one",
        "watch.measure(ema, model, target)",
        _matches(r"\b(avg )?parameter divergence\b|\bema distance\b"),
    ),
    Role(
        "ema.ratio",
        "norm of the target network over that of the trained one",
        "watch.measure(ema, model, target)",
        _matches(r"\bweight magnitude ratio\b"),
    ),
    Role(
        "mask.ratio",
        "share of the patches that are masked",
        "watch.measure(masking, mask)",
        _matches(r"\bmask ratio\b"),
        changes=(Change(), Change(sign=-1)),
    ),
    Role(
        "prediction.cosine",
        "cosine of prediction and target, on average",
        "watch.measure(prediction, predicted, target, level=0)",
        _matches(r"\bcosine sim mean\b"),
        many=True,
    ),
    Role(
        "prediction.cosine_std",
        "spread of the cosines of prediction and target",
        "watch.measure(prediction, predicted, target, level=0)",
        _matches(r"\bcosine sim std\b"),
        many=True,
    ),
    Role(
        "loss.contribution",
        "a level's share of the whole loss, in per cent",
        "watch.measure(hierarchical_loss, losses, weights)",
        _matches(r"\bcontribution h?\d+\b"),
        many=True,
    ),
    Role("loss.levels", "a level's own loss", "", _matches(r"\bloss h\d+\b|\bloss level ?\d+\b"), many=True),
    Role(
        "gradient.target",
        "gradients that reach the target network",
        "pb.watch(model, optimizer)",
        _matches(r"\btarget encoder (mean|max|norm)\b"),
        many=True,
    ),
    # ---- diffusion
    Role(
        "loss.quantiles",
        "the validation loss of one band of noise levels",
        "watch.measure(loss_by_noise, losses, timesteps, name='val')",
        _matches(r"\bloss quantile \d"),
        many=True,
    ),
    # ---- mixture of experts
    Role(
        "moe.aux_loss",
        "the load-balancing loss",
        "logger.log_moe_stats(...)",
        _matches(r"\b(moe|router|load balanc\w*) aux loss\b|^aux loss$|\bmoe aux loss\b"),
    ),
    Role(
        "moe.z_loss",
        "the loss that keeps router logits small",
        "logger.log_moe_stats(...)",
        _matches(r"\bz loss\b"),
        changes=(Change(log=True),),
    ),
    Role(
        "moe.utilization",
        "share of the experts that get tokens",
        "logger.log_moe_stats(...)",
        _matches(r"\bexpert utili[sz]ation\b"),
    ),
    Role(
        "moe.imbalance",
        "tokens of the busiest expert over those of the average one",
        "logger.log_moe_stats(...)",
        _matches(r"\bload imbalance\b|\bmax ?vio\b"),
        many=True,
    ),
    Role(
        "moe.entropy",
        "entropy of the router's choice",
        'run.log({"moe/router_entropy": entropy}, step=step)',
        _matches(r"\brouter entropy\b"),
        many=True,
    ),
    Role(
        "moe.dropped",
        "share of the tokens that found no room",
        'run.log({"moe/drop_rate": dropped / tokens}, step=step)',
        _matches(r"\b(drop|dropped|overflow) (rate|share|fraction|tokens)\b|\btokens dropped\b"),
    ),
    Role(
        "moe.dead",
        "experts that get less than a tenth of their share",
        'run.log({"moe/dead_experts": dead}, step=step)',
        _matches(r"\bdead experts\b"),
        many=True,
    ),
    # ---- reinforcement learning and GANs: known so that they are not taken for losses that must fall
    Role(
        "rl.return",
        "what an episode earned",
        'run.log({"rollout/return": episode_return}, step=step)',
        _matches(r"\b(ep|episode|episodic|cumulative|mean|average|train|eval) (rew|reward|return)\b|\brew mean\b"),
        many=True,
    ),
    Role("rl.kl", "how far one update moved the policy", "", _matches(r"\bapprox kl\b|\bpolicy kl\b"), many=True),
    Role(
        "rl.loss",
        "a loss of reinforcement learning: it need not fall",
        "",
        lambda w: bool(w.rest & _LOSS and w.rest & _RL),
        many=True,
    ),
    Role(
        "gan.loss",
        "a loss of two networks against each other: it need not fall",
        "",
        lambda w: bool(w.rest & _LOSS and w.rest & _GAN),
        many=True,
    ),
    # ---- probes, data, ranks
    Role(
        "probe.eval_twice",
        "difference of two evaluations of one batch",
        'run.log({"probe/eval_twice": abs(first - second)}, step=step)',
        _matches(r"\bprobe eval twice\b"),
    ),
    Role(
        "data.batch_hash",
        "a number made of the batch's content",
        'run.log({"data/batch_hash": hash_of(batch)}, step=step)',
        _matches(r"\bbatch (hash|checksum|fingerprint)\b"),
    ),
    Role(
        "data.padding",
        "share of the tokens that are padding or unknown",
        'run.log({"data/padding_share": share}, step=step)',
        _matches(r"\b(pad|padding|unk) (share|fraction|ratio)\b"),
        many=True,
    ),
    Role(
        "rank.checksum",
        "a number made of a rank's parameters",
        "pb.watch(model, optimizer)  # in every process",
        _matches(r"\bparam checksum\b"),
    ),
    Role(
        "rank.own_time",
        "a rank's own time for data and the forward pass, before it waits for others",
        "pb.watch(model, optimizer)  # in every process",
        _matches(r"^rank (data|forward) time\b"),
        many=True,
    ),
    Role(
        "rank.step_time",
        "a rank's time of a step, waiting for others included",
        "pb.watch(model, optimizer)  # in every process",
        _matches(r"\brank step time\b"),
    ),
    Role(
        "schedule.batch_size",
        "the batch size, where it changes by plan",
        'run.log({"schedule/batch_size": batch_size}, step=step)',
        _matches(r"\bbatch size\b"),
    ),
    Role(
        "schedule.sequence_length",
        "the sequence length, where it changes by plan",
        'run.log({"schedule/sequence_length": length}, step=step)',
        _matches(r"\b(seq|sequence) (len|length)\b"),
    ),
)

BY_NAME: Mapping[str, Role] = {role.name: role for role in ROLES}


@lru_cache(maxsize=65536)
def possible_roles(tag: str) -> tuple[str, ...]:
    """Every role the tag's name allows, whatever other tags there are."""
    words = words_of(tag)
    return tuple(role.name for role in ROLES if role.fits(words))


def changes_for(tag: str) -> tuple[Change, ...]:
    """The change tests that the tag's series must carry for any role it may get."""
    return tuple(dict.fromkeys(change for name in possible_roles(tag) for change in BY_NAME[name].changes))


@dataclass(frozen=True, slots=True)
class Reading:
    """How the tags of a run were read."""

    tags: Mapping[str, tuple[str, ...]]  # role -> tags, the one that counts first
    doubtful: tuple[str, ...] = ()  # in words

    def first(self, role: str) -> str | None:
        """The tag that has the role, or of several the one that counts."""
        found = self.tags.get(role)
        return found[0] if found else None


def read_roles(points: Mapping[str, int], *, given: Mapping[str, str] | None = None) -> Reading:
    """Which tag has which role. `points` says how many points each tag has; `given` overrides by role."""
    candidates: dict[str, list[str]] = {}
    for tag in points:
        for role in possible_roles(tag):
            candidates.setdefault(role, []).append(tag)
    doubtful: list[str] = []
    found: dict[str, tuple[str, ...]] = {}
    for role, tags in candidates.items():
        ranked = sorted(tags, key=lambda tag: (_clipped(tag), _strangeness(tag), -points[tag], tag))
        found[role] = tuple(ranked)
    _settle_losses(found, points, doubtful)
    for role, tag in (given or {}).items():
        if tag in points:
            found[role] = (tag, *(other for other in found.get(role, ()) if other != tag))
        elif tag:
            doubtful.append(f"{tag!r} was to be read as {role}, but this run does not log it.")
        else:
            found.pop(role, None)
    return Reading(found, tuple(doubtful))


def _settle_losses(found: dict[str, tuple[str, ...]], points: Mapping[str, int], doubtful: list[str]) -> None:
    """What one name alone cannot say: losses that need not fall, data sets by name, errors in place of a loss."""
    sets = found.pop("set.loss", ())
    train = found.get("train.loss", ())
    if sets and train:
        found["val.loss"] = (*found.get("val.loss", ()), *sets)
        doubtful.extend(f"{tag!r} is read as a validation loss: its first part names no split." for tag in sets)
    elif sets:
        found["train.loss"] = sets[:1]
        doubtful.append(f"{sets[0]!r} is read as the training loss: no other tag looks like one.")
    for kind, what in (("rl.return", "reinforcement learning"), ("gan.loss", "a GAN")):
        if found.get(kind) and found.get("train.loss"):
            tags = found.pop("train.loss")
            found["rl.loss" if kind == "rl.return" else "gan.loss"] = tags
            doubtful.append(f"{tags[0]!r} belongs to {what} here and is not expected to fall.")
    if "train.loss" not in found and "rl.return" not in found and "gan.loss" not in found:
        errors = [
            tag
            for tag in points
            if words_of(tag).rest & _ERROR and words_of(tag).split in ("train", "") and not words_of(tag).rest & _LOSS
        ]
        if errors:
            found["train.loss"] = (min(errors, key=lambda tag: (_strangeness(tag), tag)),)
            doubtful.append(f"{found['train.loss'][0]!r} stands for the training loss: there is no loss by name.")
    # Of one quantity logged by step and by epoch, the finer counts: windows are in points.
    if len(found.get("train.loss", ())) > 1:
        found["train.loss"] = tuple(sorted(found["train.loss"], key=lambda t: (_loss_rank(t), -points[t], t)))


def _loss_rank(tag: str) -> int:
    rest = words_of(tag).rest
    if "epoch" in rest:
        return 2
    return 0 if rest <= _PLAIN else 1


def _clipped(tag: str) -> int:
    """Norms from before clipping come first: clipping cuts off what there is to see."""
    return 0 if "before" in words_of(tag).every else 1


def _strangeness(tag: str) -> int:
    """How many words a name has: the plainest name is the likeliest."""
    return len(words_of(tag).every)


def split_of_directory(name: str) -> str:
    """'train' or 'validation' where a run's last directory says so, as Keras and others write them; else ''."""
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1].lower()
    words = [word for word in re.split(r"[^a-z0-9]+", last) if word]
    if len(words) != 1:
        return ""
    return "train" if words[0] in TRAIN else "validation" if words[0] in VALIDATION else ""


def all_role_names(names: Iterable[str]) -> list[str]:
    """Those of the names that are no role, for messages about a user's own."""
    return [name for name in names if name not in BY_NAME]
