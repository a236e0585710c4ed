"""Several trainings in one directory of event files are runs of their own; a resumed training is one run."""

import pytest
from log_directories import matches_fresh_read, values, write_run
from reference import assert_same_run

import pulseboard as pb

HOUR = 3600.0


def steps(first, last, stride=10):
    """Points of a falling loss."""
    return [(step, 100.0 / (step + 1)) for step in range(first, last + 1, stride)]


def train(directory, number, points, *, hours=None, tag="loss"):
    """Write the event file of one start of a program; the first number starts first."""
    start = HOUR * (number if hours is None else hours)
    return write_run(directory, *points, tag=tag, name=f"events.out.tfevents.{number}.host", wall_time=start)


def test_a_training_that_starts_over_in_the_same_directory_is_a_run_of_its_own(tmp_path):
    train(tmp_path / "logs", 1, steps(0, 500))
    train(tmp_path / "logs", 2, steps(0, 300))
    train(tmp_path / "logs", 3, steps(0, 900))
    runs = pb.read(tmp_path)
    assert {name: run.last_step for name, run in runs.items()} == {"logs": 500, "logs/part 2": 300, "logs/part 3": 900}
    assert "Training 2 of 3" in runs["logs/part 2"].notes()[0].what
    assert runs["logs"].whole.points == sum(run.points for run in runs.values())
    assert_same_run(runs["logs"].whole, tmp_path / "logs")


def test_parts_of_the_log_directory_itself_have_plain_names(tmp_path):
    train(tmp_path, 1, steps(0, 500))
    train(tmp_path, 2, steps(0, 300))
    assert set(pb.read(tmp_path)) == {".", "part 2"}


def test_a_training_that_logs_less_often_starts_over_too(tmp_path):
    train(tmp_path, 1, steps(10, 900, 10))
    train(tmp_path, 2, steps(100, 700, 100))
    assert set(pb.read(tmp_path)) == {".", "part 2"}


@pytest.mark.parametrize("first", [400, 510, 100])
def test_a_resumed_training_is_one_run(tmp_path, first):
    train(tmp_path, 1, steps(0, 500))
    train(tmp_path, 2, steps(first, first + 500))
    assert set(pb.read(tmp_path)) == {"."}


def test_writers_at_the_same_time_are_one_run(tmp_path):
    train(tmp_path, 1, steps(0, 500))
    train(tmp_path, 2, steps(0, 500), hours=1)
    assert set(pb.read(tmp_path)) == {"."}


def test_an_evaluation_after_the_training_is_the_same_run(tmp_path):
    train(tmp_path, 1, steps(0, 500))
    train(tmp_path, 2, [(500, 0.1)])  # a point of the loss
    train(tmp_path, 3, steps(0, 500), tag="test/accuracy")  # other tags
    train(tmp_path, 4, [(0, -1.0)])  # as Lightning logs hp_metric with every start
    assert set(pb.read(tmp_path)) == {"."}


def test_a_recorded_run_is_never_divided(tmp_path):
    for _ in range(2):
        with pb.init(dir=tmp_path, run_id="again", resume="allow", telemetry_secs=0, strict=True) as run:
            for step in range(20):
                run.log({"loss": 1.0 / (step + 1)}, step=step)
    assert set(pb.read(tmp_path)) == {"again"}


def test_a_name_that_a_directory_has_is_not_given_to_a_part(tmp_path):
    train(tmp_path / "logs", 1, steps(0, 500))
    train(tmp_path / "logs", 2, steps(0, 300))
    train(tmp_path / "logs" / "part 2", 1, steps(0, 200))
    runs = pb.read(tmp_path)
    assert {name: run.last_step for name, run in runs.items()} == {"logs": 500, "logs/part 2": 200, "logs/part 2'": 300}


def test_a_training_that_starts_over_appears_while_the_directory_is_followed(tmp_path):
    train(tmp_path / "logs", 1, steps(0, 500))
    runs = pb.read(tmp_path)
    second = train(tmp_path / "logs", 2, steps(0, 0))
    assert runs.poll().grown == ("logs",)  # one point does not tell yet
    assert set(runs) == {"logs"}
    write_run(tmp_path / "logs", *steps(0, 50), name=second.name, wall_time=2 * HOUR)
    changes = runs.poll()
    assert (changes.added, changes.grown) == (("logs/part 2",), ("logs",))
    assert len(values(runs["logs"])) == 51
    write_run(tmp_path / "logs", *steps(0, 90), name=second.name, wall_time=2 * HOUR)
    changes = runs.poll()
    assert (changes.added, changes.grown) == ((), ("logs/part 2",))
    assert matches_fresh_read(runs)
    second.unlink()
    assert runs.poll().removed == ("logs/part 2",)
    assert matches_fresh_read(runs)
