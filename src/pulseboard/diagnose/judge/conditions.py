"""Conditions: what a cause requires to be possible. A cause that a fact excludes is never named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pulseboard.core.finding import Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.objective import loss_course
from pulseboard.diagnose.facts.regime import may_rise, regime
from pulseboard.diagnose.facts.schedule import schedule
from pulseboard.diagnose.facts.signs.accuracy import training_scores_rose
from pulseboard.diagnose.facts.signs.loss import nan_at_first
from pulseboard.diagnose.facts.signs.reinforcement import return_drops, return_turns
from pulseboard.diagnose.facts.signs.settings import lr_large, lr_tiny

# Activations whose units cannot die.
_SMOOTH = ("gelu", "silu", "swish", "tanh", "elu", "selu", "leaky", "mish", "sigmoid", "prelu")
# A first rate below this share of the peak is a warm-up.
_WARM = 0.5
# Falls of the training loss: the weights clearly move; memorizing needs it.
_SURE_FALL, _SOME_FALL = 0.3, 0.02
# Of what was learned, that was lost again.
_LOST = 0.5
# What shows memorized examples without an evaluation.
_MEMORIZED = frozenset({"loss-too-good", "loss-zero", "batches-repeated", "epoch-staircase"})
_CLEAR = 4.0  # standard errors


@dataclass(frozen=True, slots=True)
class CauseConditions:
    """What some causes require to be possible. None means unknown, which excludes nothing."""

    begins: str = "start"  # "start" or "middle": when the first alarm, else the first note, began; "" without any
    plain_optimizer: bool | None = None
    unclipped: bool | None = None
    low_precision: bool | None = None
    self_supervised: bool | None = False
    experts: bool | None = False
    resumed: bool | None = False
    ranks: bool | None = False
    relu: bool | None = None
    rate_not_zero: bool | None = None  # False: the learning rate is logged, and 0 throughout
    no_warmup: bool | None = None
    decays: bool | None = None  # whether there is weight decay
    times: bool | None = None  # whether times, throughput or the use of the machine are logged
    memory: bool | None = None
    evaluated: bool | None = None
    parts: bool | None = None  # whether the loss has several parts
    unfinished: bool | None = None
    clips: bool | None = None  # whether anything says that gradients are clipped
    gradients: bool | None = None  # whether anything about gradients is logged
    zeros: bool | None = None  # whether zeros of units or gradients are logged
    rate_not_tiny: bool | None = None  # False: so small that no optimizer could overshoot
    rate_not_large: bool | None = None  # False: so large that no optimizer could be slow
    nothing_learned: bool | None = None  # False: training clearly got better, so the weights move
    nothing_lost: bool | None = None  # False: something was learned and then lost, so steps are not too small
    training_fits: bool | None = None  # False: nothing was memorized, or nothing shows it
    fixed_data: bool | None = None  # False: a policy makes its own data

    @classmethod
    def of(cls, case: Case, findings: Sequence[Finding]) -> CauseConditions:
        """From a case and its findings."""
        context, roles = case.context, case.reading.tags
        shown = any(finding.slug in _MEMORIZED for finding in findings)
        rate, kinds = schedule(case).value, regime(case).value or frozenset()

        def logged(*starts: str) -> bool:
            return any(role.startswith(starts) and tags for role, tags in roles.items())

        return cls(
            begins=_begins(case, findings),
            plain_optimizer=None if context.adaptive is None else not context.adaptive,
            unclipped=None if context.clip_norm is None else False,
            low_precision=_low_precision(case),
            self_supervised=logged("ema.", "collapse.", "mask.", "prediction."),
            experts=logged("moe.") or context.experts is not None,
            resumed=bool(case.restarts),
            ranks=len(case.ranks) > 1 or context.world_size > 1,
            relu=_relu(case),
            rate_not_zero=None if rate is None else not rate.is_zero,
            no_warmup=_no_warmup(case),
            decays=None if context.weight_decay is None else context.weight_decay > 0,
            times=logged("time.", "throughput", "gpu.", "sol.", "rank."),
            memory=logged("memory."),
            evaluated=logged("val.", "probe."),
            parts=logged("loss.", "moe.", "rl.", "gan.", "vae."),
            unfinished=None if context.status is None else context.status != "finished",
            clips=context.clip_norm is not None or logged("gradient.clipped", "gradient.was_clipped"),
            gradients=logged("gradient.", "update."),
            zeros=bool(case.histograms) or logged("dead.", "gradient.zero_share", "gradient.none_share"),
            rate_not_tiny=_negated(lr_tiny(case)),
            rate_not_large=_negated(lr_large(case)),
            nothing_learned=False if _fell(case, by=_SURE_FALL) or training_scores_rose(case) else None,
            nothing_lost=False if _lost(case, findings) else None,
            training_fits=_fell(case, by=_SOME_FALL) if logged("val.", "probe.") or shown else False,
            fixed_data=False if "reinforcement" in kinds and not logged("val.", "train.accuracy") else None,
        )


def _negated(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _fell(case: Case, *, by: float) -> bool | None:
    """Whether the training loss fell by this share of its start, and by more than its noise explains."""
    found = loss_course(case).value
    if found is None or found.start <= 0 or may_rise(case):
        return None
    return found.gain > by * found.start and found.gain > _CLEAR * found.error


def _lost(case: Case, findings: Sequence[Finding]) -> bool:
    """Whether the return, or a training loss that had clearly fallen, has lost half of what had been gained."""
    if return_turns(case) or return_drops(case):
        return True
    found = loss_course(case).value
    if found is None or not _fell(case, by=_SURE_FALL):
        return False
    return any(one.slug == "loss-diverged" for one in findings) and found.rise > _LOST * found.gain


def _low_precision(case: Case) -> bool | None:
    """From the config, or because a loss scale is logged."""
    if case.every("amp.loss_scale"):
        return True
    precision = case.context.precision
    return None if precision is None else any(word in precision for word in ("16", "half", "true", "fp8"))


def _relu(case: Case) -> bool | None:
    """Whether the model has units that can die, by the config's activation function."""
    named = [
        str(value).lower()
        for key, value in case.context.config.items()
        if key.lower().rsplit(".", 1)[-1].rstrip("_") in ("activation", "act", "activation_function", "hidden_act")
    ]
    if not named:
        return None
    return not all(any(word in name for word in _SMOOTH) for name in named)


def _no_warmup(case: Case) -> bool | None:
    """False if the logged learning rate starts with a warm-up."""
    rate = case.one("lr")
    found = schedule(case).value
    if rate is None or found is None or found.peak <= 0 or case.steps is None:
        return None
    first = float(rate.points(most=1024).values[0])
    rises_early = found.peak_step <= case.steps[0] + 0.3 * (case.steps[1] - case.steps[0])
    return not (first < _WARM * found.peak and rises_early)


def _begins(case: Case, findings: Sequence[Finding]) -> str:
    severe = [f for f in findings if f.severity != "info"] or list(findings)
    # What a NaN makes of the other curves is found over the whole run.
    severe = [f for f in severe if f.slug == "loss-nan"] or severe
    span = case.steps
    if nan_at_first(case):
        return ""  # whatever broke it did so before the first value
    if not severe:
        return ""
    if span is None or span[1] <= span[0]:
        return "start"
    first = min(finding.first_step for finding in severe)
    return "middle" if (first - span[0]) / (span[1] - span[0]) > 0.3 else "start"
