"""A run for the tests of `pb.watch`."""

import pytest

import pulseboard as pb
from pulseboard.record import messages


@pytest.fixture
def run(tmp_path):
    messages.reset()
    with pb.init(dir=tmp_path / "runs", run_id="r", telemetry_secs=0, strict=True) as run:
        yield run
