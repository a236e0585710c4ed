"""Rates: how fast counters rise between one sample and the next."""

from __future__ import annotations

from collections.abc import Mapping


class Rates:
    """Remembers counters. The first sample has no rates, nor has a counter that was set back."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float]] = {}  # tag -> (seconds, counter)

    def per_sec(self, counters: Mapping[str, float], now_secs: float) -> dict[str, float]:
        """How much each counter rose per second since it was last given."""
        rates = {}
        for tag, counter in counters.items():
            before_secs, before = self._before.get(tag, (now_secs, counter))
            if now_secs > before_secs and counter >= before:
                rates[tag] = (counter - before) / (now_secs - before_secs)
            self._before[tag] = now_secs, counter
        return rates
