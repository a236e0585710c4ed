"""Router: of each layer of a mixture of experts, how sure its router is, and whom it sends tokens to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulseboard.instruments.arrays import floats, largest, mean, module_of, rows, size, stacked
from pulseboard.instruments.declare import Metric, instrument
from pulseboard.instruments.moe import tokens_by_expert

# Of its fair share of the tokens; with less, an expert learns next to nothing.
DEAD_BELOW = 0.1


@instrument(
    id="router",
    every=10,
    metrics={
        "moe/router_entropy": Metric(
            "nats",
            "entropy of a token's probabilities over the experts, averaged",
            "falls slowly; ln of experts is even",
        ),
        "moe/dead_experts": Metric("1", "share of experts with less than a tenth of an even load", "0"),
        "moe/drop_rate": Metric("1", "share of the tokens' choices that found no room", "below 0.1"),
        "moe/layer{i}/router_entropy": Metric("nats", "the router's entropy in one layer", "alike across layers"),
        "moe/layer{i}/load_imbalance": Metric("1", "busiest expert over the average one, in one layer", "1-2"),
        "moe/layer{i}/max_load": Metric("1", "share of the choices that the busiest expert got", "near 1 / experts"),
        "moe/layer{i}/expert{e}_load": Metric("1", "share of the choices that expert e got", "1 / experts"),
    },
)
def router(
    router_logits: Iterable[Any],
    *,
    expert_counts: Iterable[Any] | None = None,
    dropped: Any = None,
    top_k: int = 1,
) -> dict[str, Any]:
    """Logits (tokens, experts), one array a layer, and the tokens by expert that wanted to go there.

    Without `expert_counts` each token's `top_k` highest logits are counted. `dropped` is how many of all choices
    found no room, one number or one a layer; without it there is no drop rate. No tokens give NaN.
    """
    logits = [rows(layer) for layer in router_logits]
    if expert_counts is None:
        counts = [tokens_by_expert(layer, top_k=top_k) for layer in logits]
    else:
        counts = [floats(layer).reshape(-1) for layer in expert_counts]
    if not logits:
        raise ValueError("router() was given no layer. Pass the router's logits of each layer.")
    found: dict[str, Any] = {}
    entropies, dead = [], []
    for i, (layer, taken) in enumerate(zip(logits, counts, strict=True)):
        load = taken / taken.sum()
        entropies.append(_entropy(layer))
        dead.append(mean(floats(load < DEAD_BELOW / len(load))) * taken.sum() / taken.sum())
        found[f"moe/layer{i}/router_entropy"] = entropies[-1]
        found[f"moe/layer{i}/load_imbalance"] = largest(taken) / mean(taken)
        found[f"moe/layer{i}/max_load"] = largest(load)
        found.update({f"moe/layer{i}/expert{e}_load": load[e] for e in range(len(load))})
    found["moe/router_entropy"] = mean(stacked(entropies))
    found["moe/dead_experts"] = mean(stacked(dead))
    if dropped is not None:
        wanted = stacked(taken.sum() for taken in counts).sum()
        found["moe/drop_rate"] = floats(dropped).sum() / wanted
    return found


def _entropy(logits: Any) -> Any:
    """Of softmax, averaged over tokens; a probability of 0 adds nothing."""
    xp = module_of(logits)
    if not size(logits):
        return mean(logits)
    shifted = logits - xp.amax(logits, -1)[:, None]
    powers = xp.exp(shifted)
    sums = powers.sum(-1)
    # A masked expert has the logit minus infinity: 0 times that is 0 here.
    terms = xp.where(powers == 0, powers, powers * shifted)
    return mean(xp.log(sums) - terms.sum(-1) / sums)
