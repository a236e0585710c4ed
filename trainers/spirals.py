"""Train a small network on two spirals, in NumPy alone, and log it as a training job would.

python trainers/spirals.py runs/healthy
python trainers/spirals.py runs/too_fast --learning-rate 40      # dies: every unit goes silent
python trainers/spirals.py runs/resumed --dies-at 700            # dies, resumes from its checkpoint
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

import pulseboard as pb

# ---- arguments

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("run", help="the directory to log to")
parser.add_argument("--steps", type=int, default=1500)
parser.add_argument("--learning-rate", type=float, default=0.05)
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--dies-at", type=int, help="stop here as if killed, then resume from the last checkpoint")
args = parser.parse_args()
rng = np.random.default_rng(args.seed)

# ---- data: two spirals, with noise


def spirals(n):
    turn = np.sqrt(rng.uniform(0.05, 1, n)) * 4 * np.pi
    label = rng.integers(0, 2, n)
    angle = turn + label * np.pi
    points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / (4 * np.pi)
    return points + rng.normal(0, 0.05, (n, 2)), label


train_x, train_y = spirals(2000)
valid_x, valid_y = spirals(500)

# ---- model: two hidden layers on Fourier features, momentum

frequencies = rng.normal(0, 1.0, (2, 8))


def features(x):
    return np.concatenate([np.sin(x @ frequencies), np.cos(x @ frequencies)], axis=1)


sizes = [16, args.width, args.width, 2]
weights = [rng.normal(0, np.sqrt(2 / a), (a, b)) for a, b in itertools.pairwise(sizes)]
momentum = [np.zeros_like(w) for w in weights]


def forward(x):
    layers = [features(x)]
    for w in weights[:-1]:
        layers.append(np.maximum(layers[-1] @ w, 0))
    scores = layers[-1] @ weights[-1]
    scores = scores - scores.max(axis=1, keepdims=True)
    return layers, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def loss_of(chances, y):
    # No clamp inside the logarithm: a diverged run shall log its infinities.
    return -np.mean(np.log(chances[np.arange(len(y)), y]))


# ---- the loop


def train(run, first_step, last_step):
    checkpoint = (first_step, [w.copy() for w in weights])
    for step in range(first_step, last_step):
        rate = args.learning_rate * min(1, (step + 1) / 50) * 0.5 * (1 + np.cos(np.pi * step / args.steps))
        batch = rng.integers(0, len(train_x), 128)
        layers, chances = forward(train_x[batch])
        delta = chances.copy()
        delta[np.arange(128), train_y[batch]] -= 1
        delta /= 128
        gradients = []
        for i in reversed(range(len(weights))):
            gradients.insert(0, layers[i].T @ delta)
            delta = (delta @ weights[i].T) * (layers[i] > 0)
        for w, m, g in zip(weights, momentum, gradients, strict=True):
            m *= 0.9
            m += g
            w -= rate * m
        norm = np.sqrt(sum(np.sum(g * g) for g in gradients))
        logged = {"train/loss": loss_of(chances, train_y[batch]), "train/grad_norm": norm, "train/learning_rate": rate}
        if step % 25 == 0:
            _, chances = forward(valid_x)
            logged["val/loss"] = loss_of(chances, valid_y)
            logged["val/accuracy"] = np.mean(chances.argmax(axis=1) == valid_y)
        run.log(logged, step=step)
        if step % 200 == 0:
            checkpoint = (step, [w.copy() for w in weights])
    return checkpoint


where = {"dir": Path(args.run).parent, "telemetry_secs": 0}
with np.errstate(all="ignore"):
    with pb.init(**where, run_id=Path(args.run).name, config=args) as run:
        resume_step, saved = train(run, 0, args.dies_at or args.steps)
    if args.dies_at:
        weights = saved
        with pb.init(**where, resume=Path(args.run).name) as run:
            train(run, resume_step, args.steps)
