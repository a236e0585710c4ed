"""Counts in messages."""

from __future__ import annotations


def plural(n: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
