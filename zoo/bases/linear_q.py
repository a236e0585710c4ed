"""Q-learning with linear features on CartPole in NumPy, logged to TensorBoard under CleanRL's names."""

from typing import Any

import numpy as np

from zoo.foreign.base import Base, Training, main
from zoo.foreign.truth import BaseFault, fault, harmless

LOST = ("return-collapsed", "return-flat", "value-diverged", "loss-nan")
FLAT = ("return-flat", "return-collapsed")
CENTERS = 160


def train(training: Training) -> None:
    """Train with the settings."""
    import gymnasium
    from torch.utils.tensorboard import SummaryWriter

    s = training.settings
    rng = np.random.default_rng(training.seed)
    env = gymnasium.make("CartPole-v1", max_episode_steps=200)
    scale = np.array([2.4, 2.5, 0.21, 2.5])
    centers = np.random.default_rng(5).uniform(-1, 1, (CENTERS, 4))

    def features(observation: Any) -> np.ndarray:
        """Normalized Gaussian bumps, so a step of 1 corrects an error in full."""
        bumps = np.exp(-4.0 * (((observation / scale) - centers) ** 2).sum(1)) + 1e-9
        return bumps / np.sqrt((bumps**2).sum())

    weights = np.zeros((2, CENTERS))
    target = weights.copy()
    onset = training.onset(s.steps) if s.shift else s.steps + 1
    writer = SummaryWriter("runs/CartPole-v1__q__1")
    episode, step, td_sum, q_sum, since = 0, 0, 0.0, 0.0, 0
    with np.errstate(all="ignore"):
        while step < s.steps:
            observation, _ = env.reset(seed=training.seed * 10_000 + episode)
            phi, earned, length, ended = features(observation), 0.0, 0, False
            while not ended and step < s.steps:
                epsilon = max(s.least_epsilon, s.epsilon - step / (s.explore * s.steps))
                greedy = weights @ phi
                action = int(rng.integers(2)) if rng.random() < epsilon else int(np.argmax(greedy))
                acted = 1 - action if step >= onset else action
                observation, reward, terminated, truncated, _ = env.step(acted)
                after, ended = features(observation), bool(terminated or truncated)
                reward = s.reward_sign * float(reward)
                earned, length = earned + reward, length + 1
                goal = reward + (0.0 if terminated else s.gamma * float(np.max(target @ after)))
                error = goal - float(greedy[action])
                if s.stepping:
                    weights[action] += s.lr * error * phi
                td_sum, q_sum, since = td_sum + error * error, q_sum + float(greedy.max()), since + 1
                step += 1
                if step % s.sync == 0:
                    target = weights.copy()
                if step % 100 == 0:
                    writer.add_scalar("losses/td_loss", td_sum / since, step)
                    writer.add_scalar("losses/q_values", q_sum / since, step)
                    writer.add_scalar("charts/epsilon", epsilon, step)
                    td_sum = q_sum = since = 0
                phi = after
            episode += 1
            writer.add_scalar("charts/episodic_return", earned, step)
            writer.add_scalar("charts/episodic_length", length, step)
    writer.close()


BASE = Base(
    name="linear_q",
    framework="NumPy, as a single-file script",
    log="TensorBoard event files, CleanRL's names",
    packages=("gymnasium", "torch", "tensorboard"),
    settings={
        "lr": 0.2,
        "steps": 16_000,
        "gamma": 0.98,
        "epsilon": 1.0,
        "least_epsilon": 0.05,
        "explore": 0.3,
        "sync": 50,
        "reward_sign": 1,
        "stepping": True,
        "shift": False,
    },
    tiny={"steps": 2_000},
    faults=(
        BaseFault("lr-x20", {"lr": 4.0}, LOST, ("lr-too-high", "no-clipping")),
        BaseFault("lr-div-1000", {"lr": 2e-4}, FLAT, ("lr-too-low", "optimizer-not-stepping", "frozen-weights")),
        fault("not-stepping", "not-stepping", stepping=False, also=FLAT),
        # It learns to fail fast, and what is logged improves.
        harmless("reward-sign", reward_sign=-1),
        # It learns the new environment within a few episodes.
        harmless("environment-shift", shift=True),
        BaseFault("explores-for-ever", {"explore": 1e9}, FLAT, ("scheduler-bug",)),
        BaseFault("gamma-above-1", {"gamma": 1.05}, LOST, ("loss-weights-wrong", "lr-too-high")),
        BaseFault("no-exploration", {"epsilon": 0.0, "least_epsilon": 0.0}, FLAT, ("scheduler-bug", "lr-too-low")),
        harmless("short-sighted", gamma=0.8),
    ),
    train=train,
)

if __name__ == "__main__":
    main(BASE)
