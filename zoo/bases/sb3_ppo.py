"""PPO on CartPole by stable-baselines3, logged to TensorBoard."""

from typing import Any

from zoo.foreign.base import Base, Crash, Training, main
from zoo.foreign.toy_models import one_thread
from zoo.foreign.truth import BaseFault, fault, harmless

# Accepted findings: the policy lost what it had learned, or never learned.
LOST = (
    "return-collapsed",
    "return-flat",
    "value-diverged",
    "policy-update-too-large",
    "loss-diverged",
    "loss-spike",
    "loss-level-shift",
    "loss-nan",
)
FLAT = ("return-flat", "loss-flat", "return-collapsed")


def preload() -> None:
    """Import the framework."""
    import gymnasium  # noqa: F401
    import stable_baselines3  # noqa: F401
    from torch.utils import tensorboard  # noqa: F401


def train(training: Training) -> None:
    """Train with the settings."""
    import gymnasium
    import numpy as np
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    one_thread(training.seed)
    s = training.settings
    onset = training.onset(s.steps) if s.shift or s.nan else s.steps + 1
    per_env = onset // s.envs

    class Faulty(gymnasium.Wrapper):
        """CartPole with an error in the environment."""

        count = 0

        def step(self, action: Any) -> Any:
            self.count += 1
            if s.shift and self.count > per_env:
                action = 1 - action
            observation, reward, terminated, truncated, info = self.env.step(action)
            if s.nan and self.count > per_env:
                observation = observation * np.float32("nan")
            if s.reward_sign < 0:
                reward = -reward
            return observation, reward * s.reward_scale, terminated, truncated, info

        def reset(self, **kwargs: Any) -> Any:
            observation, info = self.env.reset(**kwargs)
            return observation, info

    env = make_vec_env("CartPole-v1", n_envs=s.envs, seed=training.seed, wrapper_class=Faulty)
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=s.lr,
        n_steps=s.rollout,
        batch_size=64,
        n_epochs=s.update_epochs,
        gamma=s.gamma,
        gae_lambda=0.9,
        clip_range=s.clip,
        ent_coef=s.entropy,
        max_grad_norm=s.max_grad_norm,
        policy_kwargs={"net_arch": [32, 32]},
        tensorboard_log="ppo_cartpole_tensorboard",
        seed=training.seed,
        device="cpu",
        verbose=0,
    )
    try:
        model.learn(total_timesteps=s.steps, log_interval=1)
    except ValueError as error:  # stable-baselines3 refuses a distribution of NaNs
        if "invalid values" not in str(error):
            raise
        raise Crash(str(error)) from error
    finally:
        model.logger.close()


BASE = Base(
    name="sb3_ppo",
    framework="stable-baselines3",
    log="TensorBoard event files",
    packages=("torch", "stable_baselines3", "gymnasium", "tensorboard"),
    settings={
        "lr": 2e-3,
        "steps": 7_000,
        "envs": 4,
        "rollout": 64,
        "update_epochs": 6,
        "gamma": 0.98,
        "clip": 0.2,
        "entropy": 0.0,
        "max_grad_norm": 0.5,
        "reward_sign": 1,
        "reward_scale": 1.0,
        "shift": False,
        "nan": False,
    },
    tiny={"steps": 1024},
    faults=(
        BaseFault("lr-x100", {"lr": 0.2, "clip": 0.5}, LOST, ("lr-too-high", "no-clipping")),
        BaseFault("lr-div-1000", {"lr": 2e-6}, FLAT, ("lr-too-low", "optimizer-not-stepping", "frozen-weights")),
        BaseFault("entropy-bonus", {"entropy": 5.0}, FLAT, ("loss-weights-wrong",)),
        harmless("no-discount", gamma=0.0),
        BaseFault("reward-sign", {"reward_sign": -1}, LOST, ("labels-misaligned", "target-leak", "loss-weights-wrong")),
        BaseFault("environment-shift", {"shift": True}, LOST, ("data-shift",)),
        harmless("nan-observations", nan=True),
        fault("not-stepping", "not-stepping", lr=0.0, also=FLAT),
        harmless("reward-scale", reward_scale=0.1),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
