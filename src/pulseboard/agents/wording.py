"""Numbers in answers: four significant digits, so that an answer stays short."""

from __future__ import annotations


def short(value: float | None) -> str:
    """A value with four significant digits; `-` if there is none."""
    return "-" if value is None else f"{value:.4g}"


def signed(value: float | None) -> str:
    """A difference with its sign; `-` if there is none."""
    return "-" if value is None else f"{value:+.4g}"
