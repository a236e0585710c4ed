"""Many corridors at once: walk to the far end for a reward; each step costs a little."""

import numpy as np
import torch

STATES, ACTIONS = 8, 3
_MOVES = np.array([-1, 0, 1])


class Corridors:
    """A batch of corridors."""

    def __init__(self, n: int, rng: np.random.Generator, *, reversed_actions: bool = False) -> None:
        self.at = rng.integers(0, 4, n)
        self.alive = np.ones(n, bool)
        self._rng = rng
        self._moves = -_MOVES if reversed_actions else _MOVES

    def states(self) -> torch.Tensor:
        """The places, one-hot."""
        return torch.eye(STATES)[torch.as_tensor(self.at)]

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Move everyone who has not arrived; return the rewards."""
        slips = self._rng.random(len(self.at)) < 0.1
        moves = np.where(slips, self._rng.integers(-1, 2, len(self.at)), self._moves[actions])
        self.at = np.where(self.alive, np.clip(self.at + moves, 0, STATES - 1), self.at)
        arrived = self.alive & (self.at == STATES - 1)
        rewards = np.where(self.alive, -0.1, 0.0) + arrived * 5.0
        self.alive &= ~arrived
        return rewards
