"""Metric: what a tag measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """Unit, meaning and expected behavior of one tag. The tables in the documentation are made from these."""

    unit: str  # "1" for a plain number
    meaning: str
    expected: str = ""  # how it behaves in a healthy run
