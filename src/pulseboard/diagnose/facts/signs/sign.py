"""A sign: a question about a run with the answer yes, no or unknown, and the phrase a report uses for yes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts import signs as folder

Answer = Callable[[Case], bool | None]
PREFIX = "sign:"


@dataclass(frozen=True, slots=True)
class Sign:
    """One declared sign."""

    name: str  # with the prefix
    phrase: str  # what is true of the run if the answer is yes
    answer: Answer
    apart: bool = False  # does not follow from the same curves as other signs, so it counts in full


_known: dict[str, Sign] = {}


def sign(name: str, phrase: str, *, apart: bool = False) -> Callable[[Answer], Answer]:
    """Declare a function of a case as the sign `name`. None means that the log does not say."""

    def declare(answer: Answer) -> Answer:
        _known[f"{PREFIX}{name}"] = Sign(f"{PREFIX}{name}", phrase, answer, apart)
        return answer

    return declare


@lru_cache(maxsize=1)
def all_signs() -> Mapping[str, Sign]:
    """Every sign by its name."""
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    return dict(sorted(_known.items()))


def signs_of(case: Case) -> dict[str, bool]:
    """Every sign that the log can answer."""
    with np.errstate(all="ignore"):
        found = {name: one.answer(case) for name, one in all_signs().items()}
    return {name: bool(value) for name, value in found.items() if value is not None}
