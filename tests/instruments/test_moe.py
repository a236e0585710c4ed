"""Router statistics match their plain definitions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from instruments import plain

from pulseboard.instruments.metrics.moe import moe, tokens_by_expert


def plain_moe(layers, top_k):
    aux = z = used = imbalance = 0.0
    for logits in layers:
        tokens, experts = logits.shape
        counts = [0] * experts
        probabilities = np.zeros(experts)
        for row in logits:
            for expert in sorted(range(experts), key=lambda e: -row[e])[:top_k]:
                counts[expert] += 1
            probabilities += np.array(plain.softmax(row)) / tokens
            z += math.log(sum(math.exp(v) for v in row)) ** 2 / tokens
        aux += experts * sum(c / (tokens * top_k) * p for c, p in zip(counts, probabilities, strict=True))
        used += sum(c > 0 for c in counts) / experts / len(layers)
        imbalance += max(counts) / (sum(counts) / experts) / len(layers)
    return {
        "moe/aux_loss": 0.01 * aux,
        "moe/z_loss": 0.002 * z,
        "moe/expert_utilization": used,
        "moe/load_imbalance": imbalance,
    }


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 3), st.integers(1, 12), st.integers(1, 6), st.integers(1, 3), st.integers(0, 999))
def test_router_statistics_match_their_definitions(layers, tokens, experts, top_k, seed):
    top_k = min(top_k, experts)
    logits = np.random.default_rng(seed).normal(size=(layers, tokens, experts)) * 2
    want = plain_moe(logits, top_k)
    coefficients = {"top_k": top_k, "aux_coefficient": 0.01, "z_coefficient": 0.002}
    plain.assert_close(moe(logits, **coefficients), want)
    plain.assert_close(moe(list(torch.tensor(logits).float()), **coefficients), want, rtol=1e-4)
    half = torch.tensor(logits).bfloat16().double().numpy()
    if all(len(set(row)) == len(row) for row in half.reshape(-1, experts)):  # rounding caused no ties
        plain.assert_close(moe(torch.tensor(logits).bfloat16(), **coefficients), plain_moe(half, top_k), rtol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_counts_are_enough_for_utilization_and_imbalance(kind):
    found = plain.as_floats(moe(expert_counts=[kind([4, 0, 0, 0]), kind([1, 1, 1, 1])]))
    assert found == {"moe/expert_utilization": 0.625, "moe/load_imbalance": 2.5}


def test_counts_take_precedence_over_logits():
    logits = np.zeros((1, 4, 2))
    found = moe(logits, expert_counts=[[1, 3]], aux_coefficient=1.0)
    assert found["moe/load_imbalance"] == 1.5
    assert found["moe/aux_loss"] == pytest.approx(1)


def test_even_routing_has_an_auxiliary_loss_of_one_per_layer():
    logits = 5 * np.eye(4)
    assert moe([logits, logits], aux_coefficient=1.0)["moe/aux_loss"] == pytest.approx(2)


@pytest.mark.parametrize("kind", plain.KINDS)
@pytest.mark.parametrize("hard", sorted(plain.HARD.keys() - {"no columns"}))  # a router needs experts
@pytest.mark.parametrize("top_k", [1, 2])
def test_hard_logits_give_numbers_and_never_raise(kind, hard, top_k):
    for value in moe([plain.KINDS[kind](plain.HARD[hard])], top_k=top_k).values():
        float(value)


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_no_tokens_give_nan(kind):
    found = plain.as_floats(moe([kind(np.zeros((0, 4)))]))
    assert all(math.isnan(value) for value in found.values())
    assert all(math.isnan(value) for value in plain.as_floats(moe(expert_counts=[kind([0, 0])])).values())


def test_a_call_without_logits_and_counts_raises():
    with pytest.raises(ValueError, match="neither router_logits nor expert_counts"):
        moe()


def test_large_logits_do_not_overflow():
    found = moe([torch.tensor([[1000.0, 0.0]])], z_coefficient=1.0)
    assert float(found["moe/z_loss"]) == pytest.approx(1e6)


def test_tokens_are_counted_per_expert():
    logits = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
    for kind in (np.asarray, torch.tensor):
        assert tokens_by_expert(kind(logits), top_k=2).tolist() == [1, 2, 1]
