"""Series on different axes, put on one clock."""

import math

import numpy as np
import pytest
from builders import event_file, scalars, version

import pulseboard as pb
from pulseboard.core.series import Series
from pulseboard.read.axis.clock import put_on
from pulseboard.read.axis.info import AxisInfo

STEPS, EPOCHS, ROWS = AxisInfo("step"), AxisInfo("epoch", steps_per_epoch=1.0), AxisInfo("row")


def series(tag, *points):
    """From (step, value), or (step, value, wall time)."""
    steps, values, walls = zip(*((*point, math.nan)[:3] for point in points), strict=True)
    arrays = np.array(steps), np.array(walls, float), np.array(values, float), np.zeros(len(steps), bool)
    return Series(tag, *arrays)


LOSS = series("loss", *((step, 1.0) for step in range(1, 301)))


def placed(reference, other, *, axis=EPOCHS, reference_axis=STEPS, epochs=None):
    found = put_on(reference, other, axis=axis, reference_axis=reference_axis, epochs=epochs)
    return None if found is None else (found.how, found.series.steps.tolist())


@pytest.mark.parametrize("first", [0, 1], ids=["epochs from 0", "epochs from 1"])
@pytest.mark.parametrize("first_count", [0, 1], ids=["counted from 0", "counted from 1"])
def test_an_epoch_ends_at_the_last_step_that_counts_it(first, first_count):
    validation = series("val", *((first + i, 0.5) for i in range(3)))
    counts = series("epoch", *((step, first_count + (step - 1) // 100) for step in range(1, 301)))
    assert placed(LOSS, validation, epochs=counts) == ("epochs", [100, 200, 300])


def test_epochs_of_different_lengths_end_where_they_end():
    counts = series("epoch", (1, 1), (10, 1), (11, 2), (290, 2), (291, 3), (300, 3))
    assert placed(LOSS, series("val", (1, 0.5), (2, 0.5), (3, 0.5)), epochs=counts) == ("epochs", [10, 290, 300])


def test_fractions_of_epochs_are_interpolated():
    counts = series("epoch", *((step, step / 100) for step in range(10, 301, 30)))
    how, steps = placed(LOSS, series("val", (1, 0.5), (2, 0.5)), epochs=counts)
    assert (how, steps) == ("epochs", [100, 200])


def test_steps_per_epoch_are_used_if_the_log_has_them():
    axis = AxisInfo("epoch x iteration", ("epoch", "iter"), steps_per_epoch=100.0)
    assert placed(LOSS, series("val", (0, 1.0), (2, 1.0)), reference_axis=axis) == ("epochs", [100, 300])


def test_parts_of_epochs_are_epochs():
    axis = AxisInfo("epoch", ("epoch",), steps_per_epoch=4.0)
    reference_axis = AxisInfo("epoch x iteration", steps_per_epoch=100.0)
    found = placed(LOSS, series("val", (4, 1.0), (6, 1.0), (8, 1.0)), axis=axis, reference_axis=reference_axis)
    assert found == ("epochs", [100, 150, 200])


def test_wall_times_are_used_if_epochs_are_not_counted():
    loss = series("loss", *((step, 1.0, 1000.0 + step) for step in range(0, 301, 10)))
    validation = series("val", (1, 0.5, 1105.0), (2, 0.5, 1205.0), (3, 0.5, 1400.0))
    assert placed(loss, validation) == ("wall time", [105, 205, 300])  # the last one came after the training
    assert placed(loss, validation, axis=ROWS) == ("wall time", [105, 205, 300])


def test_wall_times_of_another_training_are_not_used():
    loss = series("loss", *((step, 1.0, 1000.0 + step) for step in range(0, 301, 10)))
    assert placed(loss, series("val", (0, 0.5, 1.0), (1, 0.5, 2.0)), axis=ROWS) is None
    assert placed(loss, series("val", (0, 0.5, 5e9), (1, 0.5, 6e9)), axis=ROWS) is None


def test_without_anything_else_epochs_are_spread_evenly():
    assert placed(LOSS, series("val", (1, 0.5), (2, 0.5), (4, 0.5))) == ("counted", [76, 150, 300])
    assert placed(LOSS, series("val", (1, 0.5), (2, 0.5)), axis=ROWS) is None


def test_series_on_the_same_axis_stay_as_they_are():
    other = series("val", (7, 1.0), (5000, 2.0))
    found = put_on(LOSS, other, axis=STEPS, reference_axis=STEPS)
    assert found is not None
    assert (found.how, found.series) == ("same axis", other)


def test_values_and_wall_times_are_kept():
    validation = series("val", (1, 0.25, 7.0), (2, math.nan, math.nan))
    found = put_on(LOSS, validation, axis=EPOCHS, reference_axis=STEPS)
    assert found is not None
    assert found.series.values.tolist()[0] == 0.25
    assert found.series.wall_times is validation.wall_times


def test_keras_epochs_are_an_axis_of_their_own(tmp_path):
    path = tmp_path / "run" / "events.out.tfevents.1"
    path.parent.mkdir()
    batches = scalars("batch_loss", *((step, 1.0) for step in range(1, 31)))
    epochs = scalars("epoch_loss", (0, 1.0), (1, 0.5), (2, 0.25))
    odd = scalars("epoch_time", (10, 1.0), (20, 1.0))
    path.write_bytes(event_file(version(), *batches, *epochs, *odd))
    run = pb.read(tmp_path)["run"]
    assert [run.axis_of(tag).kind for tag in ("batch_loss", "epoch_loss", "epoch_time")] == ["step", "epoch", "step"]
    found = run.on_clock_of("batch_loss", "epoch_loss")
    assert found is not None
    assert found.series.values.tolist() == [1.0, 0.5, 0.25]


def test_the_logs_of_a_joined_run_keep_their_axes(tmp_path):
    path = tmp_path / "run" / "events.out.tfevents.1"
    path.parent.mkdir()
    losses = [1 / (1 + epoch) for epoch in range(5)]
    steps = [(20 * (epoch + 1), loss) for epoch, loss in enumerate(losses)]
    counts = [(step, (step - 1) // 20) for step in range(1, 101)]
    path.write_bytes(event_file(version(), *scalars("val/loss", *steps), *scalars("epoch", *counts)))
    rows = "".join(f"{epoch + 1},{loss:.6f},{epoch / 10}\n" for epoch, loss in enumerate(losses))
    (path.parent / "results.csv").write_text("epoch,val/loss,metrics/mAP\n" + rows)
    run = pb.read(tmp_path)["run"]
    assert len(run.logs()) == 2
    assert (run.axis.kind, run.axis_of("val/loss").kind, run.axis_of("metrics/mAP").kind) == ("step", "step", "epoch")
    found = run.on_clock_of("val/loss", "metrics/mAP")
    assert found is not None
    assert (found.how, found.series.steps.tolist()) == ("epochs", [20, 40, 60, 80, 100])
