"""Router metrics match their plain definitions, layer by layer."""

import math

import numpy as np
import pytest
import torch
from instruments import plain

from pulseboard.instruments.metrics.router import router


def plain_router(layers, counts, dropped):
    found, entropies, dead = {}, [], []
    for i, (logits, chosen) in enumerate(zip(layers, counts, strict=True)):
        tokens = [[p for p in plain.softmax(row) if p > 0] for row in logits]
        entropies.append(np.mean([-sum(p * math.log(p) for p in row) for row in tokens]))
        load = [count / sum(chosen) for count in chosen]
        dead.append(np.mean([share < 0.1 / len(load) for share in load]))
        found[f"moe/layer{i}/router_entropy"] = entropies[-1]
        found[f"moe/layer{i}/load_imbalance"] = max(load) * len(load)
        found[f"moe/layer{i}/max_load"] = max(load)
        found.update({f"moe/layer{i}/expert{e}_load": share for e, share in enumerate(load)})
    found["moe/router_entropy"] = np.mean(entropies)
    found["moe/dead_experts"] = np.mean(dead)
    found["moe/drop_rate"] = sum(dropped) / sum(map(sum, counts))
    return found


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_metrics_match_their_definitions(kind):
    logits = np.random.default_rng(0).normal(size=(2, 20, 4)) * 3
    counts, dropped = [[10, 20, 9, 1], [40, 0, 0, 0]], [2, 6]
    found = router([kind(layer) for layer in logits], expert_counts=[kind(c) for c in counts], dropped=kind(dropped))
    plain.assert_close(found, plain_router(logits, counts, dropped))


def test_tokens_are_counted_if_no_counts_are_passed():
    logits = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0]])
    found = router([logits], top_k=2)
    assert [found[f"moe/layer0/expert{e}_load"] for e in range(3)] == [0.25, 0.25, 0.5]
    assert "moe/drop_rate" not in found


def test_even_routing_has_maximum_entropy_and_certain_routing_has_none():
    assert router([np.zeros((5, 8))])["moe/router_entropy"] == pytest.approx(math.log(8))
    certain = np.full((5, 8), -np.inf)
    certain[:, 2] = 0.0
    found = router([certain])
    assert found["moe/router_entropy"] == 0
    assert found["moe/dead_experts"] == pytest.approx(7 / 8)


def test_no_tokens_give_nan_and_no_layers_are_an_error():
    assert all(math.isnan(value) for value in router([np.zeros((0, 4))]).values())
    with pytest.raises(ValueError, match="no layers"):
        router([])
