"""Reports on trainings: the latest as they are, older ones compressed, so that ten thousand of them fit into memory."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Mapping
from typing import Any

Report = Mapping[str, Any]

# A report takes 36 kB as objects, and 3 kB compressed.
_MAX_READY = 200


class KeptReports:
    """Reports by training. Thread-safe."""

    def __init__(self, *, max_ready: int = _MAX_READY) -> None:
        self._max_ready = max_ready
        self._ready: dict[str, Report] = {}  # the last one used comes last
        self._compressed: dict[str, bytes] = {}
        self._statuses: dict[str, str] = {}
        self._severities: dict[str, dict[str, str]] = {}  # of each finding, by slug
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._statuses)

    def __contains__(self, training: object) -> bool:
        return training in self._statuses

    def status(self, training: str) -> str | None:
        """The status of a training; None if it has no report."""
        return self._statuses.get(training)

    def severities(self, training: str) -> Mapping[str, str]:
        """The severity of each of its findings, by slug."""
        return self._severities.get(training, {})

    def get(self, training: str) -> Report | None:
        """The report on a training; None if it has none."""
        with self._lock:
            report = self._ready.pop(training, None)
            if report is None:
                compressed = self._compressed.get(training)
                if compressed is None:
                    return None
                report = json.loads(zlib.decompress(compressed))
            self._keep(training, report)
            return report

    def put(self, training: str, report: Report) -> None:
        """Keep a report instead of the one before."""
        with self._lock:
            self._statuses[training] = str(report["status"])
            self._severities[training] = {one["slug"]: one["severity"] for one in report["findings"]}
            self._compressed.pop(training, None)
            self._ready.pop(training, None)
            self._keep(training, report)

    def remove(self, training: str) -> None:
        """Forget a training."""
        with self._lock:
            for kept in (self._ready, self._compressed, self._statuses, self._severities):
                kept.pop(training, None)

    def _keep(self, training: str, report: Report) -> None:
        self._ready[training] = report
        while len(self._ready) > self._max_ready:
            oldest = next(iter(self._ready))
            report = self._ready.pop(oldest)
            if oldest not in self._compressed:
                self._compressed[oldest] = zlib.compress(json.dumps(report).encode(), 6)
