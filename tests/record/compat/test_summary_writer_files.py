"""SummaryWriter's directories, files and processes."""

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
from both_writers import call_both, events_in
from reference import accumulate
from torch.utils import tensorboard as torch_tensorboard
from torch.utils.tensorboard import summary as torch_summary

from pulseboard.record.compat.summary_writer import SummaryWriter

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


def test_the_directory_is_returned_as_it_was_given(tmp_path):
    with SummaryWriter(tmp_path / "a") as writer:
        assert writer.get_logdir() == writer.log_dir == tmp_path / "a"


def test_the_suffix_ends_the_name_of_every_file(tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".mine") as writer:
        writer.add_scalars("group", {"a": 1.0})
    assert {path.suffix for path in tmp_path.rglob("*tfevents*")} == {".mine"}


def test_a_url_is_refused_as_a_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="s3://bucket/run"):
        SummaryWriter("s3://bucket/run")
    assert not list(tmp_path.iterdir())


def test_points_from_the_purged_step_on_are_hidden(tmp_path):
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


def test_the_worker_maintains_every_file(tmp_path):
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


def test_a_path_that_cannot_be_a_directory_does_not_stop_training(tmp_path, capsys):
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
def test_a_forked_child_writes_to_its_own_file(tmp_path):
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
        "from pulseboard.record.compat.summary_writer import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "writer.add_scalar('x', 1.0, 1)\n"
        "SummaryWriter(sys.argv[1] + '/other').add_text('t', 'words')\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=300)
    found = events_in(tmp_path)
    assert (len(found["."]), len(found["other"])) == (1, 1)


def test_neither_torch_nor_tensorboard_is_needed(tmp_path):
    """And NumPy only for arrays: a loop that logs floats never loads it."""
    script = (
        "import sys\n"
        "for name in ('torch', 'tensorboard', 'google.protobuf', 'PIL', 'matplotlib'): sys.modules[name] = None\n"
        "from pulseboard.record.compat.summary_writer import SummaryWriter\n"
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
        [sys.executable, "-c", script, str(tmp_path)], check=True, timeout=300, capture_output=True, text=True
    )
    assert done.stderr.splitlines() == [
        "pulseboard: Images are logged without their boxes: drawing needs Pillow. Run: pip install pillow",
        "pulseboard: Videos are not logged: making a GIF needs Pillow. Run: pip install pillow",
        "pulseboard: The graph is not logged: this needs torch and tensorboard. Training continues without it.",
        "pulseboard: The graph is not logged: this needs torch, tensorboard and onnx. Training continues without it.",
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
