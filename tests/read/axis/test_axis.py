"""The step axis: which columns count, what the step of a row is, and where trainings restart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulseboard.read.axis.build import Column, build_axis


def table(**columns):
    """Columns from lists; None is a missing value."""
    out = {}
    for name, values in columns.items():
        rows = [i for i, value in enumerate(values) if value is not None]
        out[name.replace("__of", " of")] = Column(
            np.array(rows, np.int64), np.array([values[i] for i in rows], np.float64)
        )
    return out, max(map(len, columns.values()))


def axis_of(**columns):
    return build_axis(*table(**columns))


LOSS = [5.0, 4.0, 3.0, 2.0, 1.5, 1.0]


# ---- which column


@pytest.mark.parametrize(
    ("columns", "kind", "steps"),
    [
        ({"step": [0, 10, 20]}, "step", [0, 10, 20]),
        ({"step": [0, 10, 20], "epoch": [0, 0, 1]}, "step", [0, 10, 20]),
        ({"epoch": [1, 2, 3]}, "epoch", [1, 2, 3]),
        ({"epoch": [0.5, 1.0, 1.5]}, "epoch", [1, 2, 3]),
        ({"episode": [1, 2, 3]}, "step", [1, 2, 3]),
        ({"total_timesteps": [100, 200, 300], "episode": [1, 2, 3], "iterations": [1, 2, 3]}, "step", [100, 200, 300]),
        ({"loss": [3.0, 2.0, 1.0]}, "row", [0, 1, 2]),
        ({"step": [0.1, 0.2, 0.3]}, "row", [0, 1, 2]),
        ({"step": [7, None, 9]}, "step", [7, 7, 9]),
    ],
)
def test_the_best_column_that_counts_is_the_axis(columns, kind, steps):
    axis = axis_of(loss=[3.0, 2.0, 1.0], **{k: v for k, v in columns.items() if k != "loss"})
    assert (axis.kind, axis.steps.tolist()) == (kind, steps)


def test_a_step_that_is_mentioned_once_is_not_the_axis():
    axis = axis_of(step=[50] + [None] * 19, epoch=[None, *range(19)], loss=[1.0] * 20)
    assert (axis.kind, axis.columns) == ("epoch", ("epoch",))


def test_a_step_that_is_rarely_mentioned_gives_way_to_a_frequent_count():
    axis = axis_of(step=[1000, 2000] + [None] * 18, iter=[None, None, *range(18)], loss=[1.0] * 20)
    assert axis.columns == ("iter",)


def test_a_column_that_stays_the_same_does_not_count():
    assert axis_of(step=[100] * 9, epoch=list(range(9)), loss=[1.0] * 9).columns == ("epoch",)


# ---- epochs and iterations


def test_iterations_that_start_again_with_every_epoch_are_joined():
    axis = axis_of(epoch=[0, 0, 1, 1, 2, 2], iter=[0, 50, 0, 50, 0, 50], loss=LOSS)
    assert axis.kind == "epoch x iteration"
    assert axis.steps.tolist() == [0, 50, 100, 150, 200, 250]
    assert axis.steps_per_epoch == 100
    assert "epoch x 100 + iter" in axis.note


def test_the_total_that_a_log_prints_is_the_length_of_an_epoch():
    axis = axis_of(epoch=[1, 1, 2, 2], iter=[0, 400, 0, 400], iter__of=[1251] * 4, loss=LOSS[:4])
    assert axis.steps.tolist() == [0, 400, 1251, 1651]
    assert axis.columns == ("epoch", "iter", "iter of")


def test_a_row_with_an_epoch_and_no_iteration_comes_after_the_rows_before_it():
    axis = axis_of(epoch=[0, 0, 0, 1, 1, 1], iter=[0, 50, None, 0, 50, None], loss=LOSS)
    assert axis.steps.tolist() == [0, 50, 50, 100, 150, 150]


def test_iterations_that_go_on_over_epochs_are_steps_already():
    axis = axis_of(epoch=[0, 0, 1, 1], iter=[0, 50, 100, 150], loss=LOSS[:4])
    assert (axis.kind, axis.steps.tolist()) == ("step", [0, 50, 100, 150])


def test_epochs_on_a_line_of_their_own_go_with_the_iterations_below_them():
    epochs, batches = [], []
    for epoch in range(4):
        epochs += [epoch] + [None] * 5
        batches += [None, 10, 20, 30, 40, 50]
    axis = axis_of(epoch=epochs, batch=batches, loss=[None if b is None else 1.0 for b in batches])
    assert axis.kind == "epoch x iteration"
    assert (np.diff(axis.steps) >= 0).all()
    assert len(set(axis.steps.tolist())) >= 20


def test_a_counter_per_epoch_without_epochs_is_joined():
    axis = axis_of(iter=[0, 10, 20] * 5, loss=list(np.linspace(5, 1, 15)))
    assert axis.steps.tolist() == list(range(0, 150, 10))
    assert axis.restarts.part_count == 1


# ---- restarts


def test_a_training_that_begins_again_is_a_part_of_its_own():
    axis = axis_of(step=[0, 10, 20, 30, 0, 10, 20], loss=[5, 4, 3, 2, 5, 4, 3])
    assert axis.restarts.parts.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert not axis.restarts.orphaned.any()


def test_epochs_that_begin_again_are_appended_trainings_however_short():
    axis = axis_of(epoch=[0, 1, 0, 1, 0, 1], loss=[2, 1, 2, 1, 2, 1])
    assert axis.restarts.parts.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_resume_orphans_the_points_that_are_logged_again():
    axis = axis_of(step=[0, 10, 20, 30, 40, 30, 40, 50], loss=[5, 4, 3, 2, 9, 2, 1.5, 1])
    assert axis.restarts.part_count == 1
    assert axis.restarts.resumed_at == (5,)
    assert axis.restarts.orphaned.tolist() == [False, False, False, True, True, False, False, False]


def test_rows_out_of_order_are_not_restarts():
    axis = axis_of(step=[0, 10, 20, 19, 30, 29, 40, 50], loss=[1.0] * 8)
    assert (axis.restarts.part_count, axis.restarts.resumed_at) == (1, ())


def test_a_second_table_of_the_same_training_is_not_a_restart():
    axis = axis_of(
        epoch=[0, 1, 2, 0, 1, 2], train_loss=[3, 2, 1, None, None, None], val_loss=[None, None, None, 4, 3, 2]
    )
    assert axis.restarts.part_count == 1


def test_a_lone_row_is_not_a_training():
    axis = axis_of(step=[9, 3, 3], loss=[2.5, 1.5, 1.0])
    assert (axis.restarts.part_count, axis.steps.tolist()) == (1, [9, 3, 3])


# ---- any table


def test_a_count_at_the_end_of_each_block_is_that_of_the_rows_before_it():
    block = [None, None, None]
    steps = axis_of(step=[*block, 10, *block, 20, *block, 30], loss=[1.0] * 12).steps
    assert steps.tolist() == [10] * 4 + [20] * 4 + [30] * 4
    growing = axis_of(step=[*block, 10, *block, 20, *block, 30, None, None], loss=[1.0] * 14).steps
    assert growing.tolist() == [10] * 4 + [20] * 4 + [30] * 6


def test_a_count_at_the_beginning_of_each_block_is_that_of_the_rows_after_it():
    block = [None, None, None]
    steps = axis_of(step=[*block, 10, *block, 20, *block, 30, *block], loss=[1.0] * 15).steps
    assert steps.tolist() == [10] * 7 + [20] * 4 + [30] * 4


_COUNTS = st.lists(st.none() | st.integers(0, 60) | st.floats(-1, 1e20), min_size=1, max_size=60)


@settings(max_examples=400, deadline=None)
@given(step=_COUNTS, epoch=_COUNTS, iter=_COUNTS)
def test_every_row_has_a_step_whatever_the_columns_hold(step, epoch, iter):
    rows = max(len(step), len(epoch), len(iter))
    axis = axis_of(step=step, epoch=epoch, iter=iter, loss=[1.0] * rows)
    assert len(axis.steps) == len(axis.restarts.parts) == len(axis.restarts.orphaned) == rows
    assert axis.kind in ("step", "epoch", "epoch x iteration", "row")


@settings(max_examples=300, deadline=None)
@given(
    lengths=st.lists(st.integers(3, 12), min_size=1, max_size=5),
    stride=st.integers(1, 100),
    back=st.lists(st.integers(1, 30), min_size=5, max_size=5),
)
def test_steps_never_fall_within_a_part_but_for_orphans(lengths, stride, back):
    """Trainings appended to one another, and resumed from somewhere before their end."""
    steps, at = [], 0
    for i, length in enumerate(lengths):
        steps += [at + stride * k for k in range(length)]
        at = max(0, steps[-1] - stride * back[i])
    axis = axis_of(step=steps, loss=[1.0] * len(steps))
    for part in range(axis.restarts.part_count):
        kept = axis.steps[(axis.restarts.parts == part) & ~axis.restarts.orphaned]
        falls = np.flatnonzero(np.diff(kept) < 0)
        # A fall of a single row is a row out of order.
        assert all(len(kept) - i < 4 or kept[i + 2] >= kept[i] for i in falls)


# ---- counters of other names


def test_a_counter_of_its_own_name_is_the_axis_if_it_rises_and_the_finest_counts():
    columns = {"micro_step": [310050, 310100, 310150], "opt_step": [38756, 38762, 38768], "tokens": [4e9, 5e9, 6e9]}
    axis = axis_of(loss=[3.4, 3.3, 3.4], **columns)
    assert (axis.kind, axis.columns, axis.steps.tolist()) == ("step", ("micro_step",), [310050, 310100, 310150])


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"tokens": [1000, 2000, 3000]}, "step"),
        ({"tokens": [1000, 900, 1100]}, "row"),  # those of each batch
        ({"opt_step": [1, 1, 2]}, "row"),
        ({"best_step": [1, 2, 3]}, "row"),
        ({"warmup_steps": [1, 2, 3]}, "row"),
        ({"column 1": [5, 6, 7]}, "step"),  # row numbers of pandas, without a name
        ({"column 1": [5.5, 6.5, 7.5]}, "row"),
        ({"opt_step": [10, 20, 30], "epoch": [1, 2, 3]}, "epoch"),
    ],
)
def test_such_a_counter_must_rise_with_every_row_and_gives_way_to_epochs_that_do(columns, kind):
    assert axis_of(loss=[3.0, 2.0, 1.0], **columns).kind == kind


def test_counters_on_lines_of_their_own_that_fit_between_those_of_another_are_the_same_counter():
    iterations = [None, 0, 5, 10, None, 10, 15, 20]
    steps = [0, None, None, None, 10, None, None, None]
    axis = axis_of(iter=iterations, step=steps, loss=[*LOSS, 0.5, 0.4])
    assert (axis.columns, axis.steps.tolist()) == (("iter", "step"), [0, 0, 5, 10, 10, 10, 15, 20])


def test_counters_that_do_not_fit_between_those_of_another_are_others():
    axis = axis_of(iter=[0, 5, 10, None, 15, 20, None], step=[None, None, None, 1, None, None, 2], loss=[*LOSS, 0.5])
    assert (axis.columns, axis.steps.tolist()) == (("iter",), [0, 5, 10, 10, 15, 20, 20])


def test_the_length_of_an_episode_is_not_the_step():
    lengths = [30, 12, 30, 8, 25, 9]
    axis = axis_of(episode=range(6), steps=lengths, reward=LOSS)
    assert (axis.columns, axis.steps.tolist()) == (("episode",), [0, 1, 2, 3, 4, 5])
    assert axis_of(steps=lengths, reward=LOSS).columns == ("steps",)  # without a better one
    assert axis_of(episode=range(6), steps=[30, 42, 72, 80, 105, 114], reward=LOSS).columns == ("steps",)


# ---- rows within epochs


def test_several_rows_per_epoch_are_places_within_it():
    axis = axis_of(epoch=[1] * 4 + [2] * 4 + [3], loss=[9, 8, 7, None, 6, 5, 4, None, 3])
    assert (axis.kind, axis.steps_per_epoch) == ("epoch", 3.0)
    assert axis.steps.tolist() == [3, 4, 5, 5, 6, 7, 8, 8, 9]
    assert "Steps are epoch x 3 + row within it" in axis.note


@pytest.mark.parametrize(
    "columns",
    [
        {"epoch": [1, 1, 2, 2, 3, 3], "loss": LOSS},  # perhaps training and validation
        {"epoch": [1, 1, 1, 2, 2, 2, 3], "loss": [5, 5, 5, 4, 4, 4, 3]},  # one value, printed by three ranks
        {"epoch": [1, 2, 3, 3, 3, 3], "loss": LOSS},
        {"epoch": [1, 1, 1, 1, 2, 3, 4], "loss": [*LOSS, 0.5]},
    ],
)
def test_epochs_that_repeat_for_other_reasons_are_steps(columns):
    axis = axis_of(**columns)
    assert axis.steps.tolist() == columns["epoch"]
