"""What a page costs: processor time, which does not depend on what else the machine does, and memory."""

from __future__ import annotations

from typing import Any


class PageCost:
    """Measures a page's main thread."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def processor_secs(self) -> float:
        """The processor time so far."""
        return self._metric("ThreadTime")

    def heap_mb(self) -> float:
        """The JavaScript objects that are in use."""
        self._session.send("HeapProfiler.collectGarbage")
        return self._metric("JSHeapUsedSize") / 2**20

    def _metric(self, name: str) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return next(float(metric["value"]) for metric in metrics if metric["name"] == name)
