"""The plan: the trainings of the zoo, and which of them are held out from tuning."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from zoo.fault import EVERY_BASE, Fault, all_faults

# Small enough for a few seconds each on one core, large enough to learn.
SIZES = {
    "gpt": ["--quiet", "--n_embd", "64", "--max_steps", "400", "--batch_size", "8", "--checkpoint_freq", "100"],
    "moe": ["--max_steps", "400", "--batch_size", "8", "--verbosity", "-1", "--checkpoint_freq", "100"],
    "classifier": ["--steps", "500", "--train-images", "6000"],
    "hjepa": ["--steps", "400", "--train-images", "4000"],
    "diffusion": ["--steps", "500"],
}
# The flag for the log directory.
DIRECTORY_FLAG = {
    "gpt": "--tensorboard_dir",
    "moe": "--output_dir",
    "classifier": "--dir",
    "hjepa": "--dir",
    "diffusion": "--dir",
}
# Held-out trainings use other tags, cadences or optimizers.
OTHER_STYLES = {
    "gpt": (["--tags", "lower"], ["--log_every", "5"]),
    "moe": ([],),
    "classifier": (["--tags", "keras"], ["--tags", "lightning"], ["--optimizer", "sgd"]),
    "hjepa": ([],),
    "diffusion": ([],),
}
HEALTHY = "healthy"
Item = TypeVar("Item")
HEALTHY_SEEDS = 9
# False alarms are rare: counting them takes many healthy steps. All of these are held out.
MORE_HEALTHY_SEEDS = range(HEALTHY_SEEDS, 33)
MORE_DECOY_SEEDS = range(5, 13)


@dataclass(frozen=True)
class PlannedTraining:
    """One training of the zoo."""

    base: str
    fault: str  # HEALTHY, or the fault's name
    seed: int
    strength: float = 1.0
    onset: float = 0.5
    held_out: bool = False  # never used to choose thresholds and weights

    @property
    def name(self) -> str:
        """The name of the run's directory."""
        return f"{self.base}-{self.fault}-{self.seed}"

    @property
    def steps(self) -> int:
        """The number of steps that are planned."""
        flags = SIZES[self.base]
        return int(flags[next(i for i, flag in enumerate(flags) if flag in ("--max_steps", "--steps")) + 1])

    @property
    def _is_decoy(self) -> bool:
        return self.fault != HEALTHY and all_faults()[self.fault].decoy

    @property
    def style(self) -> list[str]:
        """Extra flags: other tags, cadences or optimizers."""
        if not self.held_out:
            return []
        # A decoy is healthy only with the optimizer it was designed for.
        styles = [style for style in OTHER_STYLES[self.base] if "--optimizer" not in style or not self._is_decoy]
        return styles[_pick(self.name, len(styles))]

    def arguments(self, directory: str) -> list[str]:
        """The trainer's command line."""
        flags = [*SIZES[self.base], DIRECTORY_FLAG[self.base], directory, "--seed", str(self.seed)]
        flags += self.style
        if self.fault != HEALTHY:
            flags += ["--fault", self.fault, "--fault-strength", str(self.strength), "--fault-onset", str(self.onset)]
        return flags


def planned_trainings() -> Iterator[PlannedTraining]:
    """Every training. Each fault has two for tuning on its first base; another seed, strength and base are held out.

    A fault that applies to three or more bases has one more for tuning, on a third base. Many more healthy trainings
    are held out.
    """
    for base in EVERY_BASE:
        for seed in range(HEALTHY_SEEDS):
            yield PlannedTraining(base, HEALTHY, seed, held_out=seed % 3 == 2)
        for seed in MORE_HEALTHY_SEEDS:
            yield PlannedTraining(base, HEALTHY, seed, held_out=True)
    for fault in all_faults().values():
        first, *others = fault.bases
        yield PlannedTraining(first, fault.name, 0)
        yield PlannedTraining(first, fault.name, 1, onset=0.4)
        yield PlannedTraining(first, fault.name, 2, strength=_other_strength(fault), onset=0.6, held_out=True)
        if others:
            unseen = _pick(fault.name, len(others))
            yield PlannedTraining(others[unseen], fault.name, 3, onset=0.5, held_out=True)
            if len(others) > 1:
                yield PlannedTraining(others[unseen - 1], fault.name, 4, onset=0.5)
        if fault.decoy:
            for seed in MORE_DECOY_SEEDS:
                yield PlannedTraining(fault.bases[seed % len(fault.bases)], fault.name, seed, held_out=True)


def leave_one_base_out(
    items: Iterable[Item], *, base_of: Callable[[Item], str]
) -> Iterator[tuple[str, list[Item], list[Item]]]:
    """(base, everything without it, everything of it), for each base: choose on the second, score on the third."""
    items = list(items)
    for base in sorted({base_of(item) for item in items}):
        yield base, [item for item in items if base_of(item) != base], [item for item in items if base_of(item) == base]


def _other_strength(fault: Fault) -> float:
    return 1.0 if fault.decoy else 1.5


def _pick(name: str, among: int) -> int:
    """An index that depends only on the name, so it is the same on every machine."""
    return hashlib.sha256(name.encode()).digest()[0] % among
