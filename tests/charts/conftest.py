"""Runs large enough to be indexed, and a cache directory for each test."""

import numpy as np
import pytest
from log_directories import write_run
from series_files import write_series


@pytest.fixture
def runs(tmp_path):
    """Three runs of 2,000 points, large enough to be indexed, and one that is too small."""
    top = tmp_path / "runs"
    for i in range(3):
        values = np.random.default_rng(i).normal(size=2000).astype(np.float32)
        write_series(top / f"run{i}" / "events.out.tfevents.1", range(2000), values)
    write_run(top / "small", (1, 1.0), (2, 2.0))
    return top


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "pulseboard"
