"""The trainings run beside each other, end when they are told to, and leave alone what is not theirs."""

import json
import time

import pytest

import pulseboard as pb
from pulseboard.core.errors import PulseboardError
from pulseboard.demo.processes import Training, make_room, side_by_side
from pulseboard.demo.trainings import all_names


def test_they_end_with_the_block_and_their_runs_say_so(tmp_path):
    with side_by_side(directory=tmp_path, secs=60, seed=0) as trainings:
        assert [one.name for one in trainings] == all_names()
        late = time.monotonic() + 60
        log = pb.read(tmp_path)
        while [run.points > 20 for run in log.values()] != [True] * 4 and time.monotonic() < late:
            time.sleep(0.2)
            log.refresh()
        assert all(one.running for one in trainings)
    assert not any(one.running for one in trainings)
    assert [one.trouble for one in trainings] == [None] * 4
    for name in all_names():
        assert json.loads((tmp_path / name / "run.json").read_text())["status"] == "killed"


def test_a_training_that_fails_says_why(tmp_path):
    (tmp_path / "file").touch()
    one = Training("healthy", directory=tmp_path / "file", secs=0, seed=-1)
    while one.running:
        pass
    assert "expected non-negative integer" in one.trouble or "Not a directory" in one.trouble
    one.wait()


def test_the_runs_of_an_earlier_demo_are_replaced(tmp_path):
    with pb.init(dir=tmp_path, run_id="healthy", tags=["demo"], telemetry_secs=0) as run:
        run.log({"loss": 1.0})
    (tmp_path / "mine").mkdir()
    make_room(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("tags", [[], ["other"]])
def test_a_run_of_somebody_else_is_left_alone_and_named(tmp_path, tags):
    with pb.init(dir=tmp_path, run_id="healthy", tags=tags, telemetry_secs=0) as run:
        run.log({"loss": 1.0})
    with pb.init(dir=tmp_path, run_id="collapsing", tags=["demo"], telemetry_secs=0) as run:
        run.log({"loss": 1.0})
    with pytest.raises(PulseboardError, match=r"--dir: .*healthy"):
        make_room(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collapsing", "healthy"]


def test_a_directory_that_is_no_run_is_left_alone_too(tmp_path):
    (tmp_path / "diverging").mkdir()
    with pytest.raises(PulseboardError, match="not its own"):
        make_room(tmp_path)
