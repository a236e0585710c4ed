"""The plan: which trainings make up the zoo, and which of them are kept aside from tuning."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from zoo.fault import EVERY_BASE, Fault, all_faults

# Small enough for a few seconds each on one core, large enough to learn.
SIZES = {
    "gpt": ["--quiet", "--n_embd", "64", "--max_steps", "400", "--batch_size", "8", "--checkpoint_freq", "100"],
    "moe": ["--max_steps", "400", "--batch_size", "8", "--verbosity", "-1", "--checkpoint_freq", "100"],
    "classifier": ["--steps", "500", "--train-images", "6000"],
    "hjepa": ["--steps", "400", "--train-images", "4000"],
    "diffusion": ["--steps", "500"],
}
# How a trainer is told where to write.
PLACE = {
    "gpt": "--tensorboard_dir",
    "moe": "--output_dir",
    "classifier": "--dir",
    "hjepa": "--dir",
    "diffusion": "--dir",
}
# How trainings that are kept aside name and log things otherwise.
OTHERWISE = {
    "gpt": (["--tags", "lower"], ["--log_every", "5"]),
    "moe": ([],),
    "classifier": (["--tags", "keras"], ["--tags", "lightning"], ["--optimizer", "sgd"]),
    "hjepa": ([],),
    "diffusion": ([],),
}
HEALTHY = "healthy"
HEALTHY_SEEDS = 9
# False alarms are rare: to count them takes many healthy steps. All of these are kept aside.
MORE_HEALTHY_SEEDS = range(HEALTHY_SEEDS, 33)
MORE_DECOY_SEEDS = range(5, 13)


@dataclass(frozen=True)
class Specimen:
    """One training of the zoo."""

    base: str
    fault: str  # HEALTHY, or the fault's name
    seed: int
    strength: float = 1.0
    onset: float = 0.5
    aside: bool = False  # never looked at while thresholds and weights are chosen

    @property
    def name(self) -> str:
        """The run's directory."""
        return f"{self.base}-{self.fault}-{self.seed}"

    @property
    def _is_decoy(self) -> bool:
        return self.fault != HEALTHY and all_faults()[self.fault].decoy

    @property
    def style(self) -> list[str]:
        """How it names and logs things otherwise."""
        if not self.aside:
            return []
        # A decoy is healthy with the optimizer it was made for.
        styles = [style for style in OTHERWISE[self.base] if "--optimizer" not in style or not self._is_decoy]
        return styles[_pick(self.name, len(styles))]

    def arguments(self, directory: str) -> list[str]:
        """The trainer's command line."""
        line = [*SIZES[self.base], PLACE[self.base], directory, "--seed", str(self.seed)]
        line += self.style
        if self.fault != HEALTHY:
            line += ["--fault", self.fault, "--fault-strength", str(self.strength), "--fault-onset", str(self.onset)]
        return line


def specimens() -> Iterator[Specimen]:
    """Every training. Of each fault: two for tuning on its first base; aside, another seed, strength and base.

    A fault that makes sense in three bases or more has one for tuning on a third of them too. Of what is healthy, many
    more are kept aside.
    """
    for base in EVERY_BASE:
        for seed in range(HEALTHY_SEEDS):
            yield Specimen(base, HEALTHY, seed, aside=seed % 3 == 2)
        for seed in MORE_HEALTHY_SEEDS:
            yield Specimen(base, HEALTHY, seed, aside=True)
    for fault in all_faults().values():
        first, *others = fault.bases
        yield Specimen(first, fault.name, 0)
        yield Specimen(first, fault.name, 1, onset=0.4)
        yield Specimen(first, fault.name, 2, strength=_other_strength(fault), onset=0.6, aside=True)
        if others:
            unseen = _pick(fault.name, len(others))
            yield Specimen(others[unseen], fault.name, 3, onset=0.5, aside=True)
            if len(others) > 1:
                yield Specimen(others[unseen - 1], fault.name, 4, onset=0.5)
        if fault.decoy:
            for seed in MORE_DECOY_SEEDS:
                yield Specimen(fault.bases[seed % len(fault.bases)], fault.name, seed, aside=True)


def _other_strength(fault: Fault) -> float:
    return 1.0 if fault.decoy else 1.5


def _pick(name: str, among: int) -> int:
    """One of several by the name alone: the same on every machine."""
    return hashlib.sha256(name.encode()).digest()[0] % among
