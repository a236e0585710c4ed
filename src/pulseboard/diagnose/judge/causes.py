"""The catalog of causes: what people know about each (causes.toml), and what trainings taught (weights.toml).

weights.toml is learned from trainings with known faults (`python -m zoo causes`). It takes precedence.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from pulseboard.diagnose.facts.signs.sign import PREFIX
from pulseboard.diagnose.judge.conditions import CauseConditions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause, as in causes.toml."""

    slug: str
    title: str
    prior: float
    begins: str
    brings: Mapping[str, float]  # evidence -> how often this cause shows it
    against: tuple[str, ...]
    check: str
    fixes: tuple[str, ...]
    needs: tuple[str, ...] = ()
    alike: str = ""
    looks_healthy: bool = False  # its curves are those of a healthy training; only its own evidence shows it

    @property
    def family(self) -> str:
        """Curves cannot tell causes of one family apart."""
        return self.alike or self.slug

    def possible(self, conditions: CauseConditions) -> bool:
        """Whether nothing that is known excludes it."""
        if any(getattr(conditions, need) is False for need in self.needs):
            return False
        # Without any sign of low precision, nothing can overflow or underflow.
        return "low_precision" not in self.needs or conditions.low_precision is True


@lru_cache(maxsize=1)
def all_causes() -> Mapping[str, Cause]:
    """Every cause by its slug."""
    return causes_with(learned_weights())


def causes_with(weights: Mapping[str, Any]) -> Mapping[str, Cause]:
    """Every cause, with learned weights in place of those from causes.toml."""
    learned, tables = weights.get("causes", {}), _load("causes.toml")
    rates = {slug: {**table["for"], **learned.get(slug, {})} for slug, table in tables.items()}
    return {
        slug: _cause(slug, table, {**_shared(slug, tables, rates), **rates[slug]}) for slug, table in tables.items()
    }


def _shared(slug: str, tables: Mapping[str, Any], rates: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The signs of causes that look the same: what is known about one of them holds for all."""
    family = tables[slug].get("alike")
    mates = [other for other, table in tables.items() if family and other != slug and table.get("alike") == family]
    return {name: rate for mate in mates for name, rate in rates[mate].items() if name.startswith(PREFIX)}


@lru_cache(maxsize=1)
def learned_weights() -> Mapping[str, Any]:
    """The tables of weights.toml: how often each cause, any fault, and health show each piece of evidence."""
    return _load("weights.toml")


def _load(name: str) -> dict[str, Any]:
    text = resources.files("pulseboard.diagnose.judge").joinpath(name).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _cause(slug: str, table: Mapping[str, Any], brings: Mapping[str, float]) -> Cause:
    needs = table.get("needs", ())
    return Cause(
        slug=slug,
        title=table["title"],
        prior=float(table["prior"]),
        begins=table["begins"],
        brings={name: float(weight) for name, weight in brings.items()},
        against=tuple(table["against"]),
        check=table["check"]["do"],
        fixes=tuple(table["fixes"]),
        needs=(needs,) if isinstance(needs, str) else tuple(needs),
        alike=table.get("alike", ""),
        looks_healthy=table.get("curves") == "healthy",
    )
