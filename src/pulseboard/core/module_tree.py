"""A model as a tree of modules, each with its own parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a module."""

    name: str  # within its module: weight
    shape: tuple[int, ...] | None  # None: not known yet, as in a lazy module before its first batch
    dtype: str
    trained: bool
    tied_to: str | None = None  # full name of the parameter it shares; counted there

    @property
    def count(self) -> int:
        """How many values it adds to the model."""
        return 0 if self.tied_to is not None or self.shape is None else math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Module:
    """One module."""

    path: str  # dotted path; empty for the model itself
    kind: str  # its class
    parameters: tuple[Parameter, ...]  # its own, without those of its submodules


@dataclass(frozen=True, slots=True)
class ModuleTree:
    """A model's modules, parents first. The counts include modules and parameters that were left out of the list."""

    modules: tuple[Module, ...]
    parameters: int
    trained_parameters: int
    left_out_modules: int = 0
    left_out_parameters: int = 0  # parameters of listed modules that are not listed themselves
