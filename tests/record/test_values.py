"""Values that a training loop logs by mistake, or that float32 cannot hold: the rest of the call is never lost."""

import math

import numpy as np
import pytest
import torch
from record.recorded_runs import begin, points, read
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.util import tensor_util

import pulseboard as pb


class Raises:
    def __float__(self):
        raise RuntimeError("not today")


LOOSE = {"strict": False}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (torch.tensor(1 + 2j), "a Tensor that is not a real number"),
        (np.complex128(1 + 2j), "a complex128 that is not a real number"),
        (1 + 2j, "a complex is not a single number"),
        (10**400, "this whole number is too large for a float"),
        (Raises(), "a Raises that is not a real number, or whose conversion to a float fails"),
        (torch.zeros(3), "a Tensor of (3,) is not a single number"),
        (None, "a NoneType is not a single number"),
    ],
)
def test_one_bad_value_does_not_lose_the_others_of_its_call(tmp_path, capsys, bad, reason):
    with begin(tmp_path, settings={**LOOSE, "report_to": ["tensorboard", "json"]}) as run:
        for step in (7, 8):
            run.log({"before": 1.0, "bad": bad, "after": 2.0}, step=step)
    got = read(tmp_path)
    assert points(got.series("before")) == [(7, 1.0), (8, 1.0)]
    assert points(got.series("after")) == [(7, 2.0), (8, 2.0)]
    stderr = capsys.readouterr().err
    assert stderr.count(f"'bad' was not logged at step 7: {reason}") == 1


@pytest.mark.parametrize(("key", "tag"), [(3, "3"), (None, "None"), (("a", 1), "('a', 1)")])
def test_a_key_that_is_not_text_is_logged_as_text_with_a_message(tmp_path, capsys, key, tag):
    with begin(tmp_path, settings=LOOSE) as run:
        run.log({"before": 1.0, key: 5.0, "after": 2.0}, step=7)
    got = read(tmp_path)
    assert {each: points(got.series(each)) for each in got.tags()} == {
        "before": [(7, 1.0)],
        tag: [(7, 5.0)],
        "after": [(7, 2.0)],
    }
    assert f"It was logged as {tag!r} at step 7" in capsys.readouterr().err


@pytest.mark.parametrize("tag", ["\ud800", "x" * (2 << 20)])
def test_a_tag_that_cannot_be_stored_does_not_lose_the_others(tmp_path, tag):
    with begin(tmp_path, settings=LOOSE) as run:
        run.log({"before": 1.0, tag: 5.0, "after": 2.0}, step=7)
    assert sorted(read(tmp_path).tags()) == ["after", "before"]


@pytest.mark.parametrize("step", [math.nan, math.inf, 0.5, "later", None])
def test_a_step_that_is_not_a_whole_number_does_not_poison_later_calls(tmp_path, capsys, step):
    with begin(tmp_path, settings=LOOSE) as run:
        run.log({"x": 0.0}, step=3)
        run.log({"x": 1.0}, step=step)
        run.log({"x": 2.0})
    got = points(read(tmp_path).series("x"))
    if step is None:
        assert got == [(3, 0.0), (4, 1.0), (5, 2.0)]
    else:
        assert got == [(3, 0.0), (4, 2.0)]
        assert f"a step must be a whole number, not {step!r}" in capsys.readouterr().err


@pytest.mark.parametrize("step", [5.0, np.int32(5), np.float64(5.0), torch.tensor(5)])
def test_a_whole_step_may_have_any_type(tmp_path, step):
    with begin(tmp_path) as run:
        run.log({"x": 1.0}, step=step)
        run.image("i", np.zeros((4, 4)), step=step)
        run.log({"x": 2.0})
    assert read(tmp_path).series("x").steps.tolist() == [5, 6]


WIDE = {
    "odd": 16_777_217,
    "tokens": 123_456_789_012_345,
    "time": 1_700_000_000.25,
    "huge": 1e300,
    "negative": -1e300,
    "tiny": 1e-300,
    "numpy": np.int64(2**53 - 1),
    "torch": torch.tensor(16_777_217, dtype=torch.int64),
}
NARROW = {"loss": 0.1, "even": 16_777_216, "power": 2.0**100, "nan": math.nan, "infinite": math.inf, "zero": 0.0}


def logged_by_tensorboard(run):
    """Every scalar, as TensorBoard's own backend reads it."""
    accumulator = plugin_event_accumulator.EventAccumulator(str(run.directory / "logs" / "tensorboard")).Reload()
    tags = accumulator.PluginTagToContent("scalars")
    return {tag: tensor_util.make_ndarray(accumulator.Tensors(tag)[0].tensor_proto).item() for tag in tags}


def test_numbers_that_float32_cannot_hold_are_kept_exactly_and_tensorboard_reads_them(tmp_path):
    with begin(tmp_path) as run:
        run.log({**WIDE, **NARROW}, step=0)
    got = read(tmp_path)
    want = {tag: float(value) for tag, value in WIDE.items()} | {t: float(np.float32(v)) for t, v in NARROW.items()}
    for found in (logged_by_tensorboard(run), {tag: got.series(tag).values[0] for tag in got.tags("scalar")}):
        assert found.keys() == want.keys()
        for tag, value in want.items():
            assert found[tag] == value or (math.isnan(value) and math.isnan(found[tag])), tag


def test_a_counter_that_outgrows_float32_stays_one_series(tmp_path):
    steps = range(2**24 - 2, 2**24 + 3)
    with begin(tmp_path) as run:
        for step, tokens in enumerate(steps):
            run.log({"tokens": tokens}, step=step)
    assert points(read(tmp_path).series("tokens")) == [(step, float(tokens)) for step, tokens in enumerate(steps)]
    accumulator = plugin_event_accumulator.EventAccumulator(str(run.directory / "logs" / "tensorboard")).Reload()
    values = [tensor_util.make_ndarray(event.tensor_proto).item() for event in accumulator.Tensors("tokens")]
    assert values == list(steps)


def test_a_value_that_float32_holds_takes_no_more_room_than_before(tmp_path):
    sizes = []
    for value in (0.1, 16_777_217):
        with begin(tmp_path / str(value)) as run:
            run.log({"x": value}, step=1)
        sizes.append(sum(path.stat().st_size for path in run.directory.rglob("*tfevents*")))
    assert sizes[1] - sizes[0] == 22  # a tensor of one double, and the name of the plugin


def test_values_of_a_device_keep_their_digits():
    from pulseboard.record.numbers import read_from_devices

    values = {"count": torch.tensor(16_777_217), "loss": torch.tensor(0.1)}
    pending, _ = read_from_devices(values)
    assert {tag: arrive() for tag, arrive in pending.items()} == {"count": 16_777_217.0, "loss": float(np.float32(0.1))}


def test_logging_after_the_end_is_reported_once(tmp_path, capsys):
    run = begin(tmp_path, settings=LOOSE)
    run.log({"x": 1.0}, step=0)
    run.finish()
    for step in (1, 2):
        run.log({"x": 2.0}, step=step)
        run.image("i", np.zeros((4, 4)), step=step)
    assert points(read(tmp_path).series("x")) == [(0, 1.0)]
    assert capsys.readouterr().err.count("is finished: what is logged from step 1 on is not recorded") == 1
    strict = begin(tmp_path / "strict")
    strict.finish()
    with pytest.raises(RuntimeError, match="is finished"):
        strict.log({"x": 1.0})


def test_the_summary_writer_still_refuses_a_tag_that_is_not_text(tmp_path):
    with pb.SummaryWriter(tmp_path) as writer, pytest.raises(TypeError, match="A tag must be text"):
        writer.add_scalar(3, 1.0, 0)
