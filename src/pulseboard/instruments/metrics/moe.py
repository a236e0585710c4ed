"""Mixture of experts: how evenly routers spread tokens over experts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, largest, mean, module_of, rows, size, stacked
from pulseboard.instruments.registry import instrument
from pulseboard.record.arrays import is_tensor


@instrument(
    id="moe",
    every=1,
    metrics={
        "moe/aux_loss": Metric(
            "1",
            "load-balancing loss times its coefficient, summed over layers",
            "0.001-0.1; above 1 is severe imbalance",
        ),
        "moe/z_loss": Metric(
            "1",
            "router z-loss times its coefficient, summed over layers",
            "0.0001-0.01; above 0.1 routing may collapse",
        ),
        "moe/expert_utilization": Metric(
            "1", "share of experts that got a token, averaged over layers", "0.8-1; below 0.5 many are unused"
        ),
        "moe/load_imbalance": Metric(
            "1",
            "tokens of the busiest expert over the mean per expert, averaged over layers",
            "1-2; above 3 is poor",
        ),
    },
)
def moe(
    router_logits: Iterable[Any] | None = None,
    *,
    expert_counts: Iterable[Any] | None = None,
    top_k: int = 1,
    aux_coefficient: float = 1e-3,
    z_coefficient: float = 1e-3,
) -> dict[str, Any]:
    """Logits (tokens, experts) or tokens per expert, one array per layer; if both are given, the counts are used as is.

    aux_loss is the Switch Transformer's (arXiv 2101.03961, equations 4 to 6): the number of experts times the sum over
    experts of f P. f is the share of routed tokens that an expert gets, out of all `top_k` choices, so even routing
    gives 1 per layer before the coefficient; P is the mean probability that the router gives it.
    z_loss is ST-MoE's (arXiv 2202.08906, equation 5): the mean square of the logits' logsumexp.
    Without logits, the two losses are left out. No tokens give NaN.
    """
    logits = None if router_logits is None else [rows(layer) for layer in router_logits]
    counts = None if expert_counts is None else [floats(layer).reshape(-1) for layer in expert_counts]
    if counts is None:
        if logits is None:
            raise ValueError("moe() got neither router_logits nor expert_counts. Pass at least one of them.")
        counts = [tokens_by_expert(layer, top_k=top_k) for layer in logits]
    found: dict[str, Any] = {}
    if logits is not None:
        losses = [_losses(layer, tokens) for layer, tokens in zip(logits, counts, strict=True)]
        found["moe/aux_loss"] = aux_coefficient * stacked(aux for aux, _ in losses).sum()
        found["moe/z_loss"] = z_coefficient * stacked(z for _, z in losses).sum()
    found["moe/expert_utilization"] = mean(stacked(_share_used(layer) for layer in counts))
    found["moe/load_imbalance"] = mean(stacked(largest(layer) / mean(layer) for layer in counts))
    return found


def tokens_by_expert(logits: Any, *, top_k: int = 1) -> Any:
    """How many tokens choose each expert among their `top_k`. torch and NumPy may break ties differently."""
    experts = logits.shape[-1]
    top_k = min(top_k, experts)
    if is_tensor(logits):
        torch: Any = sys.modules["torch"]
        chosen = torch.topk(logits, top_k, dim=-1).indices.reshape(-1)
        # Not bincount, which waits for the device to learn the number of bins.
        return logits.new_zeros(experts).scatter_add_(0, chosen, logits.new_ones(()).expand(chosen.shape))
    chosen = np.argsort(-logits, axis=-1, kind="stable")[:, :top_k]
    return np.bincount(chosen.reshape(-1), minlength=experts).astype(np.float64)


def _losses(logits: Any, counts: Any) -> tuple[Any, Any]:
    xp = module_of(logits)
    if not size(logits):
        return mean(logits), mean(logits)
    top = xp.amax(logits, -1)[:, None]
    powers = xp.exp(logits - top)
    sums = powers.sum(-1)
    probability = (powers / sums[:, None]).mean(0)
    z = mean((xp.log(sums) + top[:, 0]) ** 2)
    return logits.shape[-1] * (counts / counts.sum() * probability).sum(), z


def _share_used(counts: Any) -> Any:
    """The share of experts that got a token; NaN without tokens."""
    total = counts.sum()
    return mean(floats(counts > 0)) * total / total
