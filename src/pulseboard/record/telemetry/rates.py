"""Rates: how fast counters rise from one sample to the next."""

from __future__ import annotations

from collections.abc import Mapping


class Rates:
    """Keeps the last value of each counter. The first sample has no rates, nor does a counter that was reset."""

    def __init__(self) -> None:
        self._previous: dict[str, tuple[float, float]] = {}  # tag -> (seconds, counter)

    def per_sec(self, counters: Mapping[str, float], now_secs: float) -> dict[str, float]:
        """The increase of each counter per second since the previous call."""
        rates = {}
        for tag, counter in counters.items():
            previous_secs, previous = self._previous.get(tag, (now_secs, counter))
            if now_secs > previous_secs and counter >= previous:
                rates[tag] = (counter - previous) / (now_secs - previous_secs)
            self._previous[tag] = now_secs, counter
        return rates
