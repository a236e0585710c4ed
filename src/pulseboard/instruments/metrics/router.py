"""Router: for each layer of a mixture of experts, how certain the router is, and how it distributes tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, largest, mean, module_of, rows, size, stacked
from pulseboard.instruments.metrics.moe import tokens_by_expert
from pulseboard.instruments.registry import instrument

# A share of an even load; with less, an expert learns almost nothing.
DEAD_BELOW = 0.1


@instrument(
    id="router",
    every=10,
    metrics={
        "moe/router_entropy": Metric(
            "nats",
            "mean entropy of a token's probabilities over the experts",
            "falls slowly; ln(experts) is even routing",
        ),
        "moe/dead_experts": Metric("1", "share of experts with less than a tenth of an even load", "0"),
        "moe/drop_rate": Metric("1", "share of expert choices dropped because of capacity", "below 0.1"),
        "moe/layer{i}/router_entropy": Metric("nats", "the router's entropy in one layer", "similar across layers"),
        "moe/layer{i}/load_imbalance": Metric("1", "tokens of the busiest expert over the mean, in one layer", "1-2"),
        "moe/layer{i}/max_load": Metric("1", "share of choices that the busiest expert got", "near 1 / experts"),
        "moe/layer{i}/expert{e}_load": Metric("1", "share of choices that expert e got", "1 / experts"),
    },
)
def router(
    router_logits: Iterable[Any],
    *,
    expert_counts: Iterable[Any] | None = None,
    dropped: Any = None,
    top_k: int = 1,
) -> dict[str, Any]:
    """Logits (tokens, experts), one array per layer, and the number of tokens that chose each expert.

    Without `expert_counts`, the `top_k` highest logits of each token are counted. `dropped` is the number of choices
    dropped because of capacity, in total or per layer; without it there is no drop rate. No tokens give NaN.
    """
    logits = [rows(layer) for layer in router_logits]
    if expert_counts is None:
        counts = [tokens_by_expert(layer, top_k=top_k) for layer in logits]
    else:
        counts = [floats(layer).reshape(-1) for layer in expert_counts]
    if not logits:
        raise ValueError("router() got no layers. Pass the router logits of each layer.")
    found: dict[str, Any] = {}
    entropies, dead = [], []
    for i, (layer, tokens) in enumerate(zip(logits, counts, strict=True)):
        load = tokens / tokens.sum()
        entropies.append(_entropy(layer))
        dead.append(mean(floats(load < DEAD_BELOW / len(load))) * tokens.sum() / tokens.sum())
        found[f"moe/layer{i}/router_entropy"] = entropies[-1]
        found[f"moe/layer{i}/load_imbalance"] = largest(tokens) / mean(tokens)
        found[f"moe/layer{i}/max_load"] = largest(load)
        found.update({f"moe/layer{i}/expert{e}_load": load[e] for e in range(len(load))})
    found["moe/router_entropy"] = mean(stacked(entropies))
    found["moe/dead_experts"] = mean(stacked(dead))
    if dropped is not None:
        choices = stacked(tokens.sum() for tokens in counts).sum()
        found["moe/drop_rate"] = floats(dropped).sum() / choices
    return found


def _entropy(logits: Any) -> Any:
    """The entropy of softmax, averaged over tokens; a probability of 0 adds nothing."""
    xp = module_of(logits)
    if not size(logits):
        return mean(logits)
    shifted = logits - xp.amax(logits, -1)[:, None]
    powers = xp.exp(shifted)
    sums = powers.sum(-1)
    # A masked expert has a logit of minus infinity; 0 times that must be 0.
    terms = xp.where(powers == 0, powers, powers * shifted)
    return mean(xp.log(sums) - terms.sum(-1) / sums)
