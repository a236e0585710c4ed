"""A policy learns to walk along a corridor by REINFORCE with a baseline."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.small.kind import Kind
from zoo.small.loop import Clock, optimizer_of, prepare
from zoo.small.record import Record, Row
from zoo.small.settings import Settings
from zoo.small.walk import ACTIONS, STATES, Corridors

RATE, HORIZON, DISCOUNT = 5e-3, 30, 0.95


def run(s: Settings, seed: int) -> Record:
    """Train."""
    rng = prepare(seed)
    policy = nn.Sequential(nn.Linear(STATES, 32), nn.Tanh(), nn.Linear(32, ACTIONS))
    baseline = nn.Sequential(nn.Linear(STATES, 32), nn.Tanh(), nn.Linear(32, 1))
    networks = nn.ModuleList([policy, baseline])
    optimizer = optimizer_of(s, networks.parameters(), RATE)
    clock, record = Clock(s, np.random.default_rng(seed + 3)), Record(s.steps, s.evaluations)
    for step in range(s.steps):
        optimizer.param_groups[0]["lr"] = RATE * s.rate(step)
        world = Corridors(16, rng, reversed_actions=s.reached(s.shift_at, step))
        states, actions, rewards, alive = [], [], [], []
        for _ in range(HORIZON):
            state = world.states()
            with torch.no_grad():
                action = torch.distributions.Categorical(logits=policy(state)).sample()
            alive.append(world.alive.copy())
            states.append(state)
            actions.append(action)
            rewards.append(world.step(action.numpy()))
            if not world.alive.any():
                break
        returns = _discounted(np.array(rewards))
        mask = torch.as_tensor(np.array(alive), dtype=torch.float32)
        seen, target = torch.stack(states), torch.as_tensor(returns, dtype=torch.float32)
        chosen = torch.distributions.Categorical(logits=policy(seen))
        value = baseline(seen).squeeze(-1)
        advantage = (target - value).detach() * (1.0 if s.divided else -1.0)
        policy_loss = -(chosen.log_prob(torch.stack(actions)) * advantage * mask).sum() / mask.sum()
        value_loss = (F.mse_loss(value, target, reduction="none") * mask).sum() / mask.sum()
        entropy = (chosen.entropy() * mask).sum() / mask.sum()
        loss = policy_loss + 0.5 * value_loss - 0.01 * s.exploration * entropy
        if s.nan_at is not None and step == int(s.nan_at * s.steps):
            loss = loss * float("nan")
        optimizer.zero_grad()
        loss.backward()
        if s.stepping and np.isfinite([float(p.grad.abs().sum()) for p in networks.parameters()]).all():
            optimizer.step()
        total = np.array(rewards).sum(0)
        values = {
            "return": float(total.mean()),
            "length": float(np.array(alive).sum(0).mean()),
            "policy_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "entropy": entropy.item(),
            "lr": RATE * s.rate(step),
            **clock.tick(step),
        }
        record.train.append(Row(step + 1, step * s.evaluations // s.steps + 1, clock.now, values))
    return record


def _discounted(rewards: np.ndarray) -> np.ndarray:
    found, after = np.zeros_like(rewards), np.zeros(rewards.shape[1])
    for i in range(len(rewards) - 1, -1, -1):
        after = rewards[i] + DISCOUNT * after
        found[i] = after
    return found


KIND = Kind(
    "policy_gradient",
    run,
    frozenset("lr-very-high lr-low not-stepping shift wrong-sign no-exploration slow-loader".split()),
    steps=(100, 150),
    optimizers=("adam",),
    fixed={"schedule": "constant", "warmup_share": 0.0, "weight_decay": 0.0},
)
