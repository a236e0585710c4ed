"""A Q-network with replay and a target network learns to walk along a corridor."""

import copy

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo.small.kind import Kind
from zoo.small.loop import Clock, optimizer_of, prepare
from zoo.small.record import Record, Row
from zoo.small.settings import Settings
from zoo.small.walk import ACTIONS, STATES, Corridors

RATE, HORIZON, DISCOUNT, KEPT, COPY_EVERY = 2e-3, 25, 0.95, 6000, 10


def run(s: Settings, seed: int) -> Record:
    """Train; a step is an episode of eight corridors."""
    rng = prepare(seed)
    network = nn.Sequential(nn.Linear(STATES, 32), nn.ReLU(), nn.Linear(32, ACTIONS))
    target = copy.deepcopy(network)
    optimizer = optimizer_of(s, network.parameters(), RATE)
    memory: list[tuple] = []
    clock, record = Clock(s, np.random.default_rng(seed + 3)), Record(s.steps, s.evaluations)
    for step in range(s.steps):
        optimizer.param_groups[0]["lr"] = RATE * s.rate(step)
        epsilon = max(0.05, 1.0 - 2.0 * step / s.steps) if s.exploration == 1.0 else s.exploration
        world = Corridors(8, rng, reversed_actions=s.reached(s.shift_at, step))
        total = np.zeros(8)
        for _ in range(HORIZON):
            state, alive = world.states(), world.alive.copy()
            with torch.no_grad():
                best = network(state).argmax(-1).numpy()
            action = np.where(rng.random(8) < epsilon, rng.integers(0, ACTIONS, 8), best)
            reward = world.step(action)
            total += reward
            after = world.states()
            memory += [(state[i], action[i], reward[i], after[i], float(world.alive[i])) for i in np.flatnonzero(alive)]
        memory = memory[-KEPT:]
        losses, values = [], []
        for _ in range(4):
            loss, mean = _loss(s, network, target, memory, rng)
            optimizer.zero_grad()
            (loss * (float("nan") if s.nan_at is not None and step == int(s.nan_at * s.steps) else 1.0)).backward()
            if s.stepping:
                optimizer.step()
            losses.append(loss.item())
            values.append(mean)
        if step % COPY_EVERY == 0 and s.zeroing:
            target.load_state_dict(network.state_dict())
        logged = {"return": float(total.mean()), "q_loss": float(np.mean(losses)), "q_mean": float(np.mean(values))}
        logged |= {"epsilon": epsilon, "lr": RATE * s.rate(step), **clock.tick(step)}
        record.train.append(Row(step + 1, step * s.evaluations // s.steps + 1, clock.now, logged))
    return record


def _loss(s: Settings, network: nn.Module, target: nn.Module, memory: list, rng: np.random.Generator) -> tuple:
    picked = [memory[i] for i in rng.integers(0, len(memory), 32)]
    state, after = torch.stack([one[0] for one in picked]), torch.stack([one[3] for one in picked])
    action = torch.as_tensor([int(one[1]) for one in picked])
    reward = torch.tensor([one[2] for one in picked], dtype=torch.float32)
    alive = torch.tensor([one[4] for one in picked])
    value = network(state)[torch.arange(32), action]
    with torch.no_grad():
        goal = reward * (1.0 if s.divided else -1.0) + DISCOUNT * alive * target(after).max(-1).values
    return F.smooth_l1_loss(value, goal), float(value.detach().mean())


KIND = Kind(
    "q_learning",
    run,
    frozenset("lr-very-high lr-low not-stepping nan shift wrong-sign all-exploration slow-loader".split()),
    steps=(100, 150),
    optimizers=("adam",),
    fixed={"schedule": "constant", "warmup_share": 0.0, "weight_decay": 0.0},
)
