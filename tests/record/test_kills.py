"""What a killed process loses: the kinds of record that promise to be written when the call returns lose nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from pulseboard.record.media.media_calls import MAX_WAITING_RECORDS

ROOT = Path(__file__).parents[2]
BY_WORKER = {"histograms of 10^6 numbers", "images of 512 x 512 pixels", "videos"}
pytestmark = pytest.mark.early


@pytest.mark.parametrize("count", [2, pytest.param(10, marks=pytest.mark.long)])
def test_a_call_that_returned_is_lost_only_where_that_is_documented(count):
    # In a process of its own, since it forks: the threads of other tests would not exist in its children.
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.kills", str(count)], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in done.stdout.splitlines()[2:]]
    found = {kind: [int(cell.replace(",", "")) for cell in cells] for kind, *cells in rows}
    assert len(found) == 12
    for kind, (kills, calls, lost, most) in found.items():
        assert (kills, calls >= count) == (count, True), kind
        if kind in BY_WORKER:
            assert most <= MAX_WAITING_RECORDS + 1, kind  # and the one that is being written
        else:
            assert lost == 0, kind
