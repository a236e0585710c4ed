"""DQN on a small grid by stable-baselines3, logged by its CSV logger."""

from typing import Any

from zoo.bases.sb3_ppo import FLAT, LOST
from zoo.foreign.base import Base, Training, main
from zoo.foreign.toy_models import one_thread
from zoo.foreign.truth import BaseFault, harmless

SIDE, MAX_STEPS = 5, 40
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def preload() -> None:
    """Import the framework."""
    import gymnasium  # noqa: F401
    import stable_baselines3  # noqa: F401


def grid(training: Training, onset: int) -> Any:
    """A grid with a goal in one corner: walk there from anywhere, each step costs a little."""
    import gymnasium
    import numpy as np

    s = training.settings

    class Grid(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0.0, 1.0, (SIDE * SIDE,), np.float32)
        action_space = gymnasium.spaces.Discrete(len(MOVES))
        count = 0

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.at, self.left = [int(n) for n in self.np_random.integers(0, SIDE - 1, 2)], MAX_STEPS
            return self._observation(), {}

        def step(self, action: Any) -> Any:
            self.count += 1
            self.left -= 1
            down, right = MOVES[(int(action) + (2 if s.shift and self.count > onset else 0)) % len(MOVES)]
            self.at = [min(SIDE - 1, max(0, self.at[0] + down)), min(SIDE - 1, max(0, self.at[1] + right))]
            reached = self.at == [SIDE - 1, SIDE - 1]
            reward = s.reward_sign * (1.0 if reached else -0.05)
            return self._observation(), reward, reached, self.left == 0, {}

        def _observation(self) -> Any:
            observation = np.zeros(SIDE * SIDE, np.float32)
            observation[SIDE * self.at[0] + self.at[1]] = 1.0
            return observation * 0 if s.blind else observation

    return Grid()


def train(training: Training) -> None:
    """Train with the settings."""
    from stable_baselines3 import DQN
    from stable_baselines3.common.logger import configure

    one_thread(training.seed)
    s = training.settings
    onset = training.onset(s.steps) if s.shift else s.steps + 1
    model = DQN(
        "MlpPolicy",
        grid(training, onset),
        learning_rate=s.lr,
        buffer_size=5000,
        learning_starts=200,
        batch_size=32,
        gamma=s.gamma,
        train_freq=s.train_freq,
        target_update_interval=s.target_update,
        exploration_fraction=s.exploration,
        exploration_final_eps=s.final_epsilon,
        policy_kwargs={"net_arch": [32]},
        seed=training.seed,
        device="cpu",
        verbose=0,
    )
    model.set_logger(configure(".", ["csv"]))
    try:
        model.learn(total_timesteps=s.steps, log_interval=8)
    finally:
        model.logger.close()


BASE = Base(
    name="sb3_dqn",
    framework="stable-baselines3",
    log="progress.csv",
    packages=("torch", "stable_baselines3", "gymnasium"),
    settings={
        "lr": 2e-3,
        "steps": 3000,
        "gamma": 0.95,
        "train_freq": 4,
        "target_update": 200,
        "exploration": 0.4,
        "final_epsilon": 0.05,
        "reward_sign": 1,
        "shift": False,
        "blind": False,
    },
    tiny={"steps": 1200},
    faults=(
        harmless("lr-x300", lr=0.6),
        BaseFault("lr-div-1000", {"lr": 2e-6}, (*LOST, *FLAT), ("lr-too-low", "optimizer-not-stepping")),
        BaseFault(
            "no-target-update",
            {"target_update": 1_000_000},
            (*LOST, *FLAT),
            ("frozen-weights", "ema-momentum-too-high"),
        ),
        BaseFault("epsilon-stuck", {"exploration": 1.0, "final_epsilon": 1.0}, FLAT, ("scheduler-bug",)),
        BaseFault("blind", {"blind": True}, (*LOST, *FLAT), ("labels-misaligned", "dead-relu", "data-order-bug")),
        BaseFault("environment-shift", {"shift": True}, LOST, ("data-shift",)),
        harmless("reward-sign", reward_sign=-1),
        BaseFault(
            "discount-above-one",
            {"gamma": 1.6, "target_update": 20},
            (*LOST, "loss-drift-up"),
            ("loss-weights-wrong", "lr-too-high"),
        ),
        harmless("longer-exploration", exploration=0.6),
    ),
    train=train,
    preload=preload,
)

if __name__ == "__main__":
    main(BASE)
