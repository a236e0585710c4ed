"""TD3 on Pendulum by stable-baselines3, logged to its progress.csv."""

from typing import Any

from zoo.foreign.base import Base, Training, main
from zoo.foreign.toy_models import one_thread
from zoo.foreign.truth import BaseFault, fault, harmless

LOST = ("return-collapsed", "return-flat", "value-diverged", "loss-nan")
FLAT = ("return-flat", "return-collapsed")


def preload() -> None:
    """Import the framework."""
    import gymnasium  # noqa: F401
    import stable_baselines3  # noqa: F401


def train(training: Training) -> None:
    """Train with the settings."""
    import gymnasium
    import numpy as np
    from stable_baselines3 import TD3
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.noise import NormalActionNoise

    one_thread(training.seed)
    s = training.settings
    onset = training.onset(s.steps) if s.shift else s.steps + 1

    class Faulty(gymnasium.Wrapper):
        """Pendulum with an error in the environment."""

        count = 0

        def step(self, action: Any) -> Any:
            self.count += 1
            observation, reward, terminated, truncated, info = self.env.step(-action if self.count > onset else action)
            return observation, s.reward_sign * float(reward) * s.reward_scale, terminated, truncated, info

    env = Monitor(Faulty(gymnasium.make("Pendulum-v1", max_episode_steps=100)))
    noise = NormalActionNoise(mean=np.zeros(1), sigma=s.noise * np.ones(1))
    model = TD3(
        "MlpPolicy",
        env,
        learning_rate=s.lr,
        learning_starts=s.starts,
        batch_size=64,
        tau=s.tau,
        gamma=s.gamma,
        action_noise=noise,
        buffer_size=s.buffer,
        train_freq=1,
        gradient_steps=s.gradient_steps,
        policy_kwargs={"net_arch": [48, 48]},
        seed=training.seed,
        device="cpu",
        verbose=0,
    )
    model.set_logger(configure(".", ["csv"]))
    model.learn(total_timesteps=s.steps, log_interval=1)
    model.logger.close()


BASE = Base(
    name="sb3_td3",
    framework="stable-baselines3",
    log="progress.csv",
    packages=("torch", "stable_baselines3", "gymnasium"),
    settings={
        "lr": 1e-3,
        "steps": 5_000,
        "starts": 300,
        "gamma": 0.97,
        "tau": 0.01,
        "noise": 0.1,
        "buffer": 20_000,
        "gradient_steps": 1,
        "reward_sign": 1,
        "reward_scale": 1.0,
        "shift": False,
    },
    tiny={"steps": 800},
    faults=(
        BaseFault("lr-x300", {"lr": 0.3}, LOST, ("lr-too-high", "no-clipping")),
        BaseFault("lr-div-1000", {"lr": 1e-6}, FLAT, ("lr-too-low", "optimizer-not-stepping", "frozen-weights")),
        fault("not-stepping", "not-stepping", lr=0.0, also=FLAT),
        BaseFault("reward-sign", {"reward_sign": -1}, LOST, ("labels-misaligned", "loss-weights-wrong")),
        BaseFault("environment-shift", {"shift": True}, LOST, ("data-shift",)),
        # Values run away, and the policy earns well in spite of it.
        harmless("gamma-above-1", gamma=1.05),
        BaseFault("no-reward", {"reward_scale": 0.0}, FLAT, ("loss-weights-wrong", "labels-misaligned")),
        harmless("reward-scale", reward_scale=0.1),
        harmless("no-target-network", tau=1.0),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
