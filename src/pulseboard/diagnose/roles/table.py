"""The roles of any training: rates, gradients, weights, times, memory. Losses and scores are in quantity.py."""

from __future__ import annotations

import re
from dataclasses import replace

from pulseboard.diagnose.roles.role import Role, matches
from pulseboard.diagnose.roles.shape import a_duration, a_rate, a_share, positive
from pulseboard.diagnose.roles.words import Words, words_of
from pulseboard.diagnose.track import Change


def is_rate(words: Words) -> bool:
    """`lr`, `lr-AdamW`, `lr/pg0`, `learning_rate`."""
    if words.rest & {
        "update",
        "updates",
        "target",
        "reduction",
        "convergence",
        "warmup",
        "scheduler",
        "cycle",
        "decay",
    }:
        return False
    return (
        "lr" in words.every
        or any(word.startswith("lr") and word[2:].isdigit() for word in words.every)
        or ("learning" in words.every and bool({"rate", "rates"} & set(words.every)))
    )


# Where frameworks file a learner's numbers: these words say nothing about a layer.
_FOLDERS = frozenset(
    "info learner learners default policy player agent optimizer debug monitor diagnostics perf".split()
)


def is_gradient_norm(words: Words) -> bool:
    """One number for the whole model: a layer's norm has more words."""
    if "/" in words.tag:
        folder, _, last = words.tag.rpartition("/")
        if all(word in _FOLDERS or word.isdigit() for word in words_of(folder).rest):
            words = replace(words_of(last), split=words.split)
    norm = bool({"norm", "norms", "gnorm"} & set(words.every))
    gradient = bool(words.rest & {"grad", "grads", "gradient", "gradients"})
    if words.rest & {"after", "clip", "clipped", "layer", "param", "params", "weight", "parameter", "feat", "ratio"}:
        return "before" in words.every and norm
    if norm and gradient:
        known = {"grad", "grads", "gradient", "gradients", "norm", "norms", "gnorm", "total", "flow", "l2", "optim"}
        # Lightning writes the order of the norm: grad_2.0_norm_total.
        order = {word for word in words.rest if word.isdigit()} if "total" in words.every else set()
        return words.rest - order <= known
    if words.rest <= {"gnorm"} and "gnorm" in words.rest:
        return True
    return words.rest <= {"norm", "total"} and norm and words.split == "train"


ROLES: tuple[Role, ...] = (
    Role("lr", "the learning rate", 'run.log({"train/lr": scheduler.get_last_lr()[0]}, step=step)', is_rate, a_rate),
    Role(
        "gradient.norm",
        "the norm of all gradients (before clipping, if both are logged)",
        "pb.watch(model, optimizer)",
        is_gradient_norm,
        positive,
        changes=(Change(log=True), Change(sign=-1, log=True)),
    ),
    Role(
        "gradient.norm_after",
        "the norm of all gradients after clipping",
        "pb.watch(model, optimizer)",
        matches(r"\bnorm after clip"),
    ),
    Role(
        "gradient.clipped",
        "percentage of steps that were clipped",
        "pb.watch(model, optimizer)",
        matches(r"\bclipping percentage\b|\bclip (rate|percentage|pct)\b"),
    ),
    Role(
        "gradient.was_clipped",
        "1 at steps that were clipped, else 0",
        "pb.watch(model, optimizer)",
        matches(r"\bwas clipped\b"),
    ),
    Role(
        "gradient.zero_share",
        "share of gradient values that are exactly zero",
        "pb.watch(model, optimizer)",
        matches(r"\bgrad\w*\b.*\b(zero|zeros)( (share|frac|fraction))?\b|\b(zero|zeros) grad"),
        a_share,
    ),
    Role(
        "gradient.none_share",
        "share of parameters without a gradient",
        "pb.watch(model, optimizer)",
        matches(r"\bnone (share|frac|fraction)\b|\bgrad\w* none\b"),
        a_share,
    ),
    Role(
        "gradient.left_over",
        "what the previous step left in the gradients when backward starts",
        "pb.watch(model, optimizer)",
        matches(r"\bgradient flow left over\b"),
    ),
    Role(
        "gradient.layers",
        "mean gradient of a layer",
        "pb.watch(model, optimizer)",
        lambda words: re.search(r"gradient_?flow/(?!global)(?!none)(?!zero).+_mean$", words.tag) is not None,
        many=True,
    ),
    Role(
        "update.ratio",
        "size of an update relative to the size of the parameters",
        "pb.watch(model, optimizer)",
        matches(r"\bupdate( to)?( weight| param\w*)? ratio\b|\bupdate ratio\b"),
    ),
    Role(
        "parameter.norm",
        "the norm of all parameters",
        "pb.watch(model, optimizer)",
        matches(
            r"^(?!.*\bgrad)(?!.*\b(layer|block|module|transformer|encoder|decoder|head)\b)"
            r".*\b(param|params|parameter|parameters|weight|weights) (l2 )?norm\b"
        ),
        positive,
    ),
    Role(
        "dead.units",
        "share of units that never fire",
        "pb.watch(model, optimizer, dead_units=True)",
        matches(r"\bdead (units|relu|neurons|fraction)\b"),
        many=True,
    ),
    Role(
        "amp.loss_scale",
        "the loss scale of mixed precision",
        "pb.watch(model, optimizer, scaler=scaler)",
        matches(r"\b(loss|grad) scale\b|\bscaler( scale)?\b"),
    ),
    Role(
        "amp.skipped",
        "steps that mixed precision skipped",
        "pb.watch(model, optimizer, scaler=scaler)",
        matches(r"\bskipped (steps|updates|iterations)\b|\bsteps skipped\b"),
    ),
    Role(
        "epoch",
        "the epoch",
        'run.log({"train/epoch": epoch}, step=step)',
        lambda words: words.rest <= {"epoch"} and "epoch" in words.every,
    ),
    Role(
        "time.step",
        "time per step",
        "pb.watch(model, optimizer)",
        matches(
            r"^(?!rank\b).*\bstep (time|duration)\b|\b(iteration|iter|batch) time\b|\btime (step|metrics end to end)"
            r"|\bduration ms\b|\b(time|s|secs?|seconds|ms) per (step|iter|iteration|batch)\b|\bbatch cost\b"
            r"|^(train )?dt( ms)?$|\bstep (secs|seconds)\b"
        ),
        a_duration,
        changes=(Change(log=True),),
    ),
    Role(
        "time.interval",
        "time per epoch, or between two lines of the log",
        "",
        matches(
            r"\b(time per|time|seconds per) epoch\b|\bepoch (time|duration|secs?|seconds)\b|\btime this iter\b"
            r"|^(train )?(time|duration)( s| secs?| seconds| ms| mins?| minutes| h| hours)?$|^(secs?|seconds|minutes)$"
            r"|\b(secs?|seconds|min|minutes) per epoch\b"
        ),
        a_duration,
    ),
    Role(
        "time.data",
        "time per step spent waiting for data",
        "pb.watch(model, optimizer)",
        matches(
            r"^(?!rank\b).*\bdata (loading |load |wait |)(time|ms|s)\b|\bdata loading\b|^(train )?data$|\breader cost\b"
        ),
        a_duration,
    ),
    Role(
        "throughput",
        "samples or tokens per second",
        "pb.watch(model, optimizer)",
        matches(
            r"\b(tokens|tok|words|frames|sentences|batches|samples|examples|images|imgs|img|steps|it|its|iter|iters)"
            r" (per )?(sec|second|s)\b"
            r"|\btps\b|\bwps\b|\bips\b|\bthroughput\b"
        ),
        many=True,
    ),
    Role(
        "memory.used",
        "memory in use",
        "pb.init(telemetry_secs=10)",
        matches(
            r"\bram main process|\bvram allocated\b|\bmemory allocated\b|\bmax active\b|\bmemory used\b|\brss\b"
            r"|^(train |gpu |cuda |cpu |system |sys |host |process )*(mem|memory|ram) (mb|gb|mib|gib)$"
        ),
        many=True,
    ),
    Role(
        "memory.peak",
        "the highest memory use so far",
        "pb.init(telemetry_secs=10)",
        matches(r"\b(vram|memory) peak\b|\bmax (reserved|active)\b.*%|\bmem util\b"),
        many=True,
    ),
    Role(
        "memory.retries",
        "how often the allocator had to retry",
        "pb.init(telemetry_secs=10)",
        matches(r"\b(num )?(alloc|allocator) retries\b"),
    ),
    Role(
        "gpu.util",
        "share of the time in which the GPU computes",
        "pb.init(telemetry_secs=10)",
        matches(r"\bgpu util(ization)?\b"),
        many=True,
    ),
    Role("gpu.clock", "the GPU's clock", "pb.init(telemetry_secs=10)", matches(r"\bgpu \d+ clock\b"), many=True),
    Role(
        "gpu.max_clock",
        "the GPU's top clock",
        "pb.init(telemetry_secs=10)",
        matches(r"\bgpu \d+ max clock\b"),
        many=True,
    ),
    Role(
        "gpu.temperature",
        "the GPU's temperature",
        "pb.init(telemetry_secs=10)",
        matches(r"\bgpu \d+ temperature\b"),
        many=True,
    ),
    Role(
        "gpu.temp_slowdown",
        "the temperature at which the GPU slows down",
        "pb.init(telemetry_secs=10)",
        matches(r"\btemp slowdown\b"),
        many=True,
    ),
    Role(
        "gpu.throttle",
        "whether the GPU is throttled",
        "pb.init(telemetry_secs=10)",
        matches(r"\bgpu \d+ throttl\w*\b"),
        many=True,
    ),
    Role(
        "gpu.errors",
        "XID and ECC errors of the GPU",
        "pb.init(telemetry_secs=10)",
        matches(r"\bxid\b|\becc\b"),
        many=True,
    ),
    Role(
        "sol",
        "percentage of the theoretical peak speed",
        "logger.log_sol_estimate(...)",
        matches(r"\bsol percentage\b|\bsol\b$|\bmfu\b"),
    ),
)
