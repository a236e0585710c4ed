"""SummaryWriter against torch's: scalars, text, hyperparameters, layouts, and the life of its files."""

import inspect
import math
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from both_writers import call_both, events_in, values_of
from reference import accumulate
from torch.utils import tensorboard as torch_tensorboard
from torch.utils.tensorboard import summary as torch_summary

from pulseboard.record.summary_writer import SummaryWriter


def both_raise(tmp_path, error, call):
    """The call is wrong for torch's writer, and for ours in the same way."""
    for name, writer_class in (("torch", torch_tensorboard.SummaryWriter), ("ours", SummaryWriter)):
        with writer_class(str(tmp_path / name)) as writer, pytest.raises(error):
            call(writer)


def public_methods(writer_class):
    return {name for name in dir(writer_class) if not name.startswith("_") and callable(getattr(writer_class, name))}


def test_every_call_has_the_arguments_of_torchs():
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
        (None, NotImplementedError),
        ({"a": 1.0}, NotImplementedError),
        ("words", ValueError),
    ],
    ids=str,
)
def test_what_is_not_one_number_is_refused(tmp_path, value, error):
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


def test_scalars_of_a_group_go_to_runs_of_their_own(tmp_path):
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


def test_text_with_half_a_character_is_logged_all_the_same(tmp_path):
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


def test_a_session_is_named_by_the_time_where_it_has_no_name(tmp_path):
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
        (({"lr": 1}, {}, {"momentum": [1]}), TypeError),
        (({"lr": 1}, {}, {"lr": (1, 2)}), TypeError),
        (({"lr": 1}, {}, {"lr": ["one"]}), TypeError),
    ],
    ids=str,
)
def test_wrong_hyperparameters_are_refused(tmp_path, arguments, error):
    both_raise(tmp_path, error, lambda w: w.add_hparams(*arguments))


# ---------- directories and files


def test_the_default_directory_is_named_as_torch_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with torch_tensorboard.SummaryWriter(comment="_lr0.1") as theirs, SummaryWriter(comment="_lr0.1") as ours:
        pass
    dated = [Path(writer.get_logdir()).name.partition("_")[0] for writer in (theirs, ours)]
    assert dated[0] == dated[1]
    assert ours.log_dir.startswith("runs" + os.sep)
    assert ours.log_dir.endswith(f"_{socket.gethostname()}_lr0.1")
    assert os.path.isdir(ours.log_dir)


def test_the_directory_is_given_back_as_it_was_given(tmp_path):
    with SummaryWriter(tmp_path / "a") as writer:
        assert writer.get_logdir() == writer.log_dir == tmp_path / "a"


def test_the_suffix_ends_the_name_of_every_file(tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".mine") as writer:
        writer.add_scalars("group", {"a": 1.0})
    assert {path.suffix for path in tmp_path.rglob("*tfevents*")} == {".mine"}


def test_an_address_is_no_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="s3://bucket/run"):
        SummaryWriter("s3://bucket/run")
    assert not list(tmp_path.iterdir())


def test_what_was_logged_from_the_purged_step_on_is_hidden(tmp_path):
    for writer_class in (torch_tensorboard.SummaryWriter, SummaryWriter):
        directory = tmp_path / writer_class.__module__
        with writer_class(str(directory)) as writer:
            for step in range(10):
                writer.add_scalar("x", step, step)
        # TensorBoard takes files in the order of their names, which begin with the second.
        (first,) = directory.iterdir()
        first.rename(directory / "events.out.tfevents.0000000001.host.1.0")
        with writer_class(str(directory), purge_step=5) as writer:
            writer.add_scalar("x", 50.0, 5)
        assert [(p.step, p.value) for p in accumulate(directory).Scalars("x")] == [
            *((step, step) for step in range(5)),
            (5, 50),
        ]


def test_everything_is_on_disk_before_the_call_returns(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("x", 1.0, 1)
    writer.add_text("t", "words", 2)
    assert [e.step for e in events_in(tmp_path)["."]] == [1, 2]
    writer.flush()
    writer.close()


def test_a_closed_writer_opens_a_new_file_when_it_is_used_again(tmp_path):
    writer = SummaryWriter(tmp_path, purge_step=3)
    writer.add_scalar("x", 1.0, 3)
    writer.close()
    writer.close()
    writer.flush()
    assert writer.file_writer is None
    assert writer.all_writers is None
    writer.add_scalar("x", 2.0, 4)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2
    starts = [e for e in events_in(tmp_path)["."] if e.HasField("session_log")]
    assert [e.step for e in starts] == [3]


def test_opening_and_closing_many_writers_leaves_nothing_open(tmp_path):
    def open_now():
        return psutil.Process().num_fds(), threading.active_count()

    with SummaryWriter(tmp_path):
        pass
    before = open_now()
    for i in range(20):
        with SummaryWriter(tmp_path / str(i)) as writer:
            writer.add_scalars("group", {"a": 1.0})
            writer.add_hparams({"a": 1}, {"b": 2.0})
    assert open_now() == before


def test_the_worker_looks_after_every_file(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("group", {"a": 1.0}, 1)
        removed = [*tmp_path.glob("*tfevents*"), *tmp_path.glob("*/*tfevents*")]
        assert len(removed) == 2
        for path in removed:
            path.unlink()
        writer.flush()
        writer.add_scalar("x", 1.0, 2)
    found = events_in(tmp_path)
    assert [e.step for e in found["."]] == [2]
    assert [e.step for e in found["group_a"]] == [1]


def test_a_path_that_cannot_be_a_directory_stops_nothing(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with SummaryWriter(tmp_path / "file" / "run") as writer:
        writer.add_scalar("x", 1.0)
        writer.add_image("i", np.zeros((3, 4, 4)))
        writer.add_scalars("group", {"a": 1.0})
        writer.flush()
    assert "Cannot write the log" in capsys.readouterr().err


def test_messages_of_tensorboard_may_be_written_through_the_file_writer(tmp_path):
    """As Lightning and much code for hyperparameters does."""

    def calls(writer):
        for record in torch_summary.hparams({"lr": 0.1}, {"m": 0.0}):
            writer._get_file_writer().add_summary(record, 3)
        writer.file_writer.add_summary(torch_summary.scalar("x", 1.5), global_step=4, walltime=9.0)
        assert writer.file_writer.get_logdir() in writer.all_writers
        writer.file_writer.flush()

    both = call_both(tmp_path, calls)
    assert both.ours == both.torch


# ---------- processes


def _log_in_child(writer):
    writer.add_scalar("child", 2.0, 2)
    writer.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_writes_to_a_file_of_its_own(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("parent", 1.0, 1)
        for target in (_log_in_child, lambda writer: None):
            child = multiprocessing.get_context("fork").Process(target=target, args=(writer,))
            child.start()
            child.join(30)
            assert child.exitcode == 0
        writer.add_scalar("parent", 3.0, 3)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2  # none of the child that logged nothing
    assert sorted((e.step, e.summary.value[0].tag) for e in events_in(tmp_path)["."]) == [
        (1, "parent"),
        (2, "child"),
        (3, "parent"),
    ]


def test_a_process_that_forgets_to_close_loses_nothing(tmp_path):
    script = (
        "import sys\n"
        "from pulseboard.record.summary_writer import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "writer.add_scalar('x', 1.0, 1)\n"
        "SummaryWriter(sys.argv[1] + '/other').add_text('t', 'words')\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    found = events_in(tmp_path)
    assert (len(found["."]), len(found["other"])) == (1, 1)


def test_neither_torch_nor_tensorboard_is_needed(tmp_path):
    """And NumPy only for arrays: a loop that logs floats never loads it."""
    script = (
        "import sys\n"
        "for name in ('torch', 'tensorboard', 'google.protobuf', 'PIL', 'matplotlib'): sys.modules[name] = None\n"
        "from pulseboard.record.summary_writer import SummaryWriter\n"
        "with SummaryWriter(sys.argv[1]) as writer:\n"
        "    writer.add_scalar('x', 1.0, 1)\n"
        "    writer.add_text('t', 'words')\n"
        "    writer.add_hparams({'lr': 0.1}, {'m': 1.0})\n"
        "    writer.add_custom_scalars_multilinechart(['a'])\n"
        "    assert 'numpy' not in sys.modules\n"
        "    writer.add_histogram('h', [1.0, 2.0])\n"
        "    writer.add_image('i', [[[0.5]]])\n"
        "    writer.add_image_with_boxes('b', [[[0.5]]], [[0, 0, 1, 1]])\n"
        "    writer.add_video('v', [[[[[0.5]]]]])\n"
        "    writer.add_graph(None)\n"
        "    writer.add_onnx_graph('model.onnx')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stderr.splitlines() == [
        "pulseboard: Images are logged without their boxes: drawing needs Pillow. Run: pip install pillow",
        "pulseboard: Videos are not logged: making a GIF needs Pillow. Run: pip install pillow",
        "pulseboard: The graph is not logged: making one needs torch and tensorboard. Training goes on without it.",
        "pulseboard: The graph is not logged: making one needs torch, tensorboard and onnx. "
        "Training goes on without it.",
    ]


def test_threads_may_share_a_writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:

        def log(name):
            for step in range(200):
                writer.add_scalar(name, step, step)
                writer.add_scalars("group", {name: step}, step)

        threads = [threading.Thread(target=log, args=(f"t{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = events_in(tmp_path)
    assert len(found["."]) == 800
    assert [len(found[f"group_t{i}"]) for i in range(4)] == [200] * 4
