"""The modules of a model as a tree, and the parameters that each has of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of one module."""

    name: str  # within its module: weight
    shape: tuple[int, ...] | None  # None: not known yet, as of a lazy module before its first batch
    dtype: str
    trained: bool
    tied_to: str | None = None  # the whole name of the parameter that this one is too; it is counted there

    @property
    def count(self) -> int:
        """How many numbers it adds to the model."""
        return 0 if self.tied_to is not None or self.shape is None else math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Module:
    """One module."""

    path: str  # names joined by dots; empty: the model itself
    kind: str  # its class
    parameters: tuple[Parameter, ...]  # its own, not those of modules below it


@dataclass(frozen=True, slots=True)
class ModuleTree:
    """A model: its modules, parents before what is in them. The counts are of all, those left out too."""

    modules: tuple[Module, ...]
    parameters: int
    trained_parameters: int
    left_out_modules: int = 0
    left_out_parameters: int = 0  # parameters by name, of modules that are listed
