"""We read what TensorBoard reads: every run, tag, step, wall time and value, bit for bit."""

import math

import numpy as np
import pytest
from corpus import CORPUS, MISSING
from reference import assert_same_run, bits, points_of, runs_by_tensorboard
from torch.utils.tensorboard import SummaryWriter

import pulseboard as pb
from pulseboard.read.joining.joined_run import JoinedRun

PROJECTS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir()) if CORPUS.is_dir() else []


@pytest.mark.skipif(not PROJECTS, reason=MISSING)
@pytest.mark.parametrize("project", PROJECTS)
def test_a_real_log_reads_as_tensorboard_reads_it(project):
    root = CORPUS / project
    runs = pb.read(root)
    directories = runs_by_tensorboard(root)
    found = [event_files_of(run) for run in runs.values() if run.format == "event-file"]
    wholes = {id(run.whole): run.whole for run in found}.values()
    assert {alias for run in wholes for alias in (run.aliases or (run.name,))} == set(directories)
    for name, directory in directories.items():
        whole = event_files_of(runs[name]).whole
        assert_same_run(whole, directory)
        assert_parts_make_up(whole, [run for run in found if run.whole is whole])


def event_files_of(run):
    """The run without what other logs of the same training add to it."""
    return run.main if isinstance(run, JoinedRun) else run


def assert_parts_make_up(whole, parts):
    """Several trainings in a directory have, one after the other, the points that TensorBoard shows as one run."""
    for tag in whole.tags("scalar"):
        points = [point for part in parts_in_order(parts) if tag in part.tags("scalar") for point in series(part, tag)]
        assert bits(points) == bits(series(whole, tag))


def series(run, tag):
    return points_of(run.series(tag, orphans=True))


def parts_in_order(parts):
    return sorted(parts, key=lambda part: part.files[0].path)


def test_a_log_directory_of_many_kinds_reads_as_tensorboard_reads_it(tmp_path):
    """The same comparison, with what tests can write: nested runs, restarts, two writers, every common kind."""
    for name, purge_step in (("baseline", None), ("baseline", 30), ("sweep/lr=0.1", None), ("sweep/lr=0.01", 0)):
        with SummaryWriter(str(tmp_path / name), purge_step=purge_step) as writer:
            for step in range(purge_step or 0, 50):
                writer.add_scalar("train/loss", 1 / (step + 1), step)
                writer.add_scalar("train/exact", step / 3, step, double_precision=True)
                writer.add_scalar("odd", [math.nan, math.inf, -0.0][step % 3], step)
            writer.add_scalars("split", {"train": 1.0, "validation": 2.0}, 3)
            writer.add_histogram("weights", np.arange(20.0), 5)
            writer.add_image("picture", np.zeros((3, 4, 5)), 6)
            writer.add_text("samples", "hello", 7)
            writer.add_hparams({"lr": 0.1, "name": name}, {"accuracy": 0.5}, run_name="hparams")
    runs = pb.read(tmp_path)
    directories = runs_by_tensorboard(tmp_path)
    assert len(directories) == 12
    assert set(runs) == set(directories)
    assert runs["baseline"].restarts() != []
    for name, directory in directories.items():
        assert_same_run(runs[name], directory)
