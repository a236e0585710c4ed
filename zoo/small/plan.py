"""The plan: cells of a kind, a style and a seed, each with two healthy trainings and some faults."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from zoo.small.faults import FAULTS, fault_named
from zoo.small.kind import Kind, all_kinds
from zoo.small.settings import Settings, drawn
from zoo.small.style import OPTIONAL, Style, all_styles

FAULTS_PER_CELL = 5
HEALTHY = "healthy"
AGAIN = "healthy-again"  # the same settings with another seed


@dataclass(frozen=True)
class Cell:
    """Trainings that share task, settings and log style."""

    kind: Kind
    style: Style
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name, as the start of its trainings' names."""
        return f"{self.kind.name}-{self.style.name}-{self.seed}"

    @property
    def held_out(self) -> bool:
        """Half of the pairs of kind and style, by a hash."""
        return _hash(f"{self.kind.name} {self.style.name}") % 2 == 1

    def rng(self, purpose: str) -> np.random.Generator:
        """Random numbers for one purpose, the same on every machine."""
        return np.random.default_rng(_hash(f"{self.name} {purpose}"))

    def settings(self, attempt: int) -> Settings:
        """Healthy settings."""
        rng = self.rng(f"settings {attempt}")
        s = replace(drawn(rng), steps=int(rng.choice(self.kind.steps)), optimizer=str(rng.choice(self.kind.optimizers)))
        if self.style.by_epoch:
            s = replace(s, evaluations=int(rng.choice([10, 15, 30, 60])))
        return replace(s, **self.kind.fixed)

    def unlogged(self) -> frozenset[str]:
        """Optional metrics that this script does not log."""
        rng = self.rng("logged")
        return self.style.hides | {name for name in OPTIONAL if rng.random() < (0.25 if name == "lr" else 0.5)}

    def faults(self) -> list[str]:
        """The faults of this cell, by chance."""
        names = [fault.name for fault in FAULTS if fault.name in self.kind.faults and self._can_show(fault.name)]
        order = self.rng("faults").permutation(len(names))
        return [names[i] for i in sorted(order[:FAULTS_PER_CELL])]

    def _can_show(self, name: str) -> bool:
        """Times and memory are not worth a training where nothing logs them."""
        shows_in = fault_named(name).shows_in
        return shows_in not in (("step_secs",), ("memory_mb",)) or shows_in[0] not in self.unlogged()


def cells(*, seeds: int = 1, only: str = "") -> Iterator[Cell]:
    """Every cell."""
    for kind in all_kinds().values():
        for style in all_styles().values():
            if style.only and kind.name not in style.only:
                continue
            for seed in range(seeds):
                cell = Cell(kind, style, seed)
                if only in cell.name:
                    yield cell


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
