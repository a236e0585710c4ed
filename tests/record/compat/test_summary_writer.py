"""SummaryWriter has torch's methods, and stores scalars, texts, layouts and hyperparameters as torch does."""

import inspect
import math
import os

import numpy as np
import pytest
import torch
from both_writers import call_both, events_in, values_of
from record.compat.torch_writer import both_raise
from reference import accumulate
from torch.utils import tensorboard as torch_tensorboard

from pulseboard.record.compat.summary_writer import SummaryWriter


def public_methods(writer_class):
    return {name for name in dir(writer_class) if not name.startswith("_") and callable(getattr(writer_class, name))}


def test_every_method_has_the_arguments_of_torch():
    theirs, ours = torch_tensorboard.SummaryWriter, SummaryWriter
    assert public_methods(theirs) <= public_methods(ours)
    for name in ["__init__", *public_methods(theirs)]:
        want, got = (
            [(p.name, p.kind, p.default) for p in inspect.signature(getattr(each, name)).parameters.values()]
            for each in (theirs, ours)
        )
        assert got == want, name


# ---------- scalars


NUMBERS = {
    "int": 3,
    "float": 0.1,
    "bool": True,
    "nan": math.nan,
    "infinity": -math.inf,
    "beyond float32": 1e300,
    "numpy float64": np.float64(0.1),
    "numpy float16": np.float16(0.1),
    "numpy int64": np.int64(7),
    "array of no dimension": np.array(2.5),
    "array of one": np.array([[2.5]], np.float32),
    "tensor": torch.tensor(0.25),
    "tensor of one": torch.tensor([[0.25]]),
    "half tensor": torch.tensor(0.1, dtype=torch.float16),
    "int tensor": torch.tensor(4),
    "bool tensor": torch.tensor(True),
    "tensor with gradient": torch.tensor(0.5, requires_grad=True),
    "parameter": torch.nn.Parameter(torch.ones(1)),
    "text of a number": "1.5",
}


@pytest.mark.parametrize("new_style", [False, True])
@pytest.mark.parametrize("double_precision", [False, True])
@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS)
def test_a_scalar_is_stored_as_torch_stores_it(tmp_path, value, new_style, double_precision):
    both = call_both(
        tmp_path,
        lambda w: w.add_scalar("a/b", value, 5, new_style=new_style, double_precision=double_precision),
    )
    assert [str(e) for e in both.ours["."]] == [str(e) for e in both.torch["."]]  # as text: NaN equals NaN


def test_bfloat16_keeps_its_range_where_torch_loses_it(tmp_path):
    both = call_both(tmp_path, lambda w: w.add_scalar("x", torch.tensor(1e30, dtype=torch.bfloat16)))
    assert values_of(both.torch)[0].simple_value == math.inf
    assert values_of(both.ours)[0].simple_value == pytest.approx(1e30, rel=1e-2)


def test_a_tensor_without_data_is_nan(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", torch.empty(3, device="meta"))
    assert math.isnan(values_of(events_in(tmp_path))[0].simple_value)


@pytest.mark.parametrize("step", [None, 0, 7, -3, 2**40, np.int64(5), torch.tensor(5), 2.9, True], ids=str)
def test_a_step_may_be_anything_that_is_a_whole_number(tmp_path, step):
    both = call_both(tmp_path, lambda w: [w.add_scalar("x", 1.0, step), w.add_text("t", "words", step)])
    assert both.ours == both.torch


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (np.zeros(2), AssertionError),
        (torch.zeros(3), AssertionError),
        ([1, 2], NotImplementedError),
        (None, NotImplementedError),
        ({"a": 1.0}, NotImplementedError),
        ("words", ValueError),
    ],
    ids=str,
)
def test_a_value_that_is_not_one_number_is_refused(tmp_path, value, error):
    both_raise(tmp_path, error, lambda w: w.add_scalar("x", value))


def test_a_refused_scalar_leaves_nothing_behind(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(AssertionError):
            writer.add_scalar("x", np.zeros(2), 1)
        writer.add_scalar("x", 2.0, 2)
    assert [e.step for e in events_in(tmp_path)["."]] == [2]


def test_wall_times_are_kept(tmp_path):
    for name, writer_class in (("torch", torch_tensorboard.SummaryWriter), ("ours", SummaryWriter)):
        with writer_class(str(tmp_path / name)) as writer:
            writer.add_scalar("x", 1.0, 1, walltime=12.5)
            writer.add_scalar("x", 1.0, 2, 13)
            writer.add_text("t", "words", 3, 14.5)
            writer.add_scalars("both", {"a": 1.0}, 4, 15.5)
    torch_events, ours = events_in(tmp_path / "torch"), events_in(tmp_path / "ours")
    assert ours == torch_events
    assert [e.wall_time for e in ours["."]] == [12.5, 13, 14.5]


def test_scalars_of_a_group_go_to_separate_runs(tmp_path):
    def calls(writer):
        for step in range(3):
            writer.add_scalars("run/14h", {"xsinx": step * 0.5, "tan x": np.float32(step)}, step)
        writer.add_scalar("other", 1.0, 3)

    both = call_both(tmp_path, calls)
    assert both.ours == both.torch
    assert set(both.ours) == {".", "run_14h_xsinx", "run_14h_tan x"}


def test_tensorboard_reads_what_was_written(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(100):
            writer.add_scalar("train/loss", 1 / (step + 1), step)
    points = accumulate(tmp_path).Scalars("train/loss")
    assert [(p.step, p.value) for p in points] == [(step, np.float32(1 / (step + 1))) for step in range(100)]


# ---------- text and layouts


@pytest.mark.parametrize("text", ["text 123", "a|b\n-|-\nc|d", "", "größer ✓"])
def test_text_is_stored_as_torch_stores_it(tmp_path, text):
    both = call_both(tmp_path, lambda w: w.add_text("note/of", text, 3))
    assert both.ours == both.torch
    assert values_of(both.ours)[0].tag == "note/of/text_summary"


def test_text_with_half_a_surrogate_pair_is_logged(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("t", "file \udcff name")
    assert values_of(events_in(tmp_path))[0].tensor.string_val == [b"file ? name"]


LAYOUT = {
    "Taiwan": {"twse": ["Multiline", ["twse/0050", "twse/2330"]]},
    "USA": {"dow": ["Margin", ["dow/aaa", "dow/bbb", "dow/ccc"]], "nasdaq": ["Margin", ("a", "b", "c")]},
}


def test_layouts_are_stored_as_torch_stores_them(tmp_path):
    def calls(writer):
        writer.add_custom_scalars(LAYOUT)
        writer.add_custom_scalars_multilinechart(["a", "b"])
        writer.add_custom_scalars_marginchart(["a", "b", "c"], category="group", title="band")

    both = call_both(tmp_path, calls)
    assert both.ours == both.torch


def test_a_margin_chart_of_two_tags_is_refused(tmp_path):
    both_raise(tmp_path, AssertionError, lambda w: w.add_custom_scalars_marginchart(["a", "b"]))
    both_raise(tmp_path, AssertionError, lambda w: w.add_custom_scalars({"a": {"b": ["Margin", ["x"]]}}))


# ---------- hyperparameters


def hparams_of(events):
    """The plugin's content by tag, as messages: maps have no order."""
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    return {
        value.tag: HParamsPluginData.FromString(value.metadata.plugin_data.content)
        for run in events
        for value in values_of(events, run)
        if value.metadata.plugin_data.plugin_name == "hparams"
    }


def test_hyperparameters_are_stored_as_torch_stores_them(tmp_path):
    hparams = {"lr": 0.1, "layers": 3, "optimizer": "adam", "amp": True, "none": None, "t": torch.tensor([0.5])}
    domains = {"layers": [1, 2, 3], "optimizer": ["adam", "sgd"], "amp": [True, False]}

    def calls(writer):
        writer.add_hparams(hparams, {"accuracy": 0.5, "loss": torch.tensor(2.0)}, domains, "session", 7)

    both = call_both(tmp_path, calls)
    assert hparams_of(both.ours) == hparams_of(both.torch)
    assert len(hparams_of(both.ours)) == 3
    assert values_of(both.ours, "session")[3:] == values_of(both.torch, "session")[3:]
    assert [e.step for e in both.ours["session"]] == [e.step for e in both.torch["session"]]


def test_a_session_without_a_name_is_named_by_the_time(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1}, {"accuracy": 1})
    (session,) = [run for run in events_in(tmp_path) if run != "."]
    assert float(session) == pytest.approx(os.stat(tmp_path / session).st_mtime, abs=60)


def test_numpy_numbers_are_hyperparameters_too(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": np.float32(0.5), "n": np.int64(3)}, {}, run_name="s")
    start = hparams_of(events_in(tmp_path))["_hparams_/session_start_info"].session_start_info
    assert {name: value.number_value for name, value in start.hparams.items()} == {"lr": 0.5, "n": 3}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([("lr", 1)], {}), TypeError),
        (({"lr": 1}, None), TypeError),
        (({"lr": [1, 2]}, {}), ValueError),
        (({"lr": 1}, {"accuracy": [1, 2]}), NotImplementedError),
        (({"lr": 1}, {}, {"momentum": [1]}), TypeError),
        (({"lr": 1}, {}, {"lr": (1, 2)}), TypeError),
        (({"lr": 1}, {}, {"lr": ["one"]}), TypeError),
    ],
    ids=str,
)
def test_wrong_hyperparameters_are_refused(tmp_path, arguments, error):
    both_raise(tmp_path, error, lambda w: w.add_hparams(*arguments))
