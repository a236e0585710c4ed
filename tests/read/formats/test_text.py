"""What trainings print: the line forms of several programs, and what must not be taken for one."""

import math
import re

import pytest
from corpus import CORPUS, need_corpus
from hypothesis import given
from hypothesis import strategies as st
from other_formats import levels, only_run, points, runs_of_other_formats, written


@pytest.mark.parametrize(
    ("line", "step", "tags"),
    [
        (
            "step:12/1750 train_loss:3.2 train_time:1024ms step_avg:93.10ms",
            12,
            {"train_loss": 3.2, "train_time": 1024.0, "step_avg": 93.1},
        ),
        (
            "step:0/1750 val_loss:10.8 train_time:0ms step_avg:nanms",
            0,
            {"val_loss": 10.8, "train_time": 0.0, "step_avg": "nan"},
        ),
        ("s:9535 trl:3.340180", 9535, {"train_loss": 3.34018}),
        ("s:9536 tel:3.275959", 9536, {"val_loss": 3.275959}),
        ("iter 120: loss 3.2011, time 130.21ms, mfu 38.10%", 120, {"loss": 3.2011, "time": 130.21, "mfu": 38.1}),
        ("step 250: train loss 1.9710, val loss 2.0704", 250, {"train_loss": 1.971, "val_loss": 2.0704}),
        (
            "[rank0]:[titan] 2026-05-20 00:04:05,878 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  6.17460  "
            "\x1b[38;2;180;60;0mgrad_norm: 24.7500  \x1b[38;2;54;234;195mmemory: 169.10GiB(94.81%)  "
            "\x1b[34mtps: 10,270  \x1b[36mtflops: 865.32  \x1b[35mmfu: N/A\x1b[39m",
            10,
            {"loss": 6.1746, "grad_norm": 24.75, "memory": 169.1, "tps": 10270.0, "tflops": 865.32},
        ),
        (
            "[2019-01-22 16:48:59.604]  Step 55000   [0.828 sec/step, loss=0.10395, avg_loss=0.10217]",
            55000,
            {"loss": 0.10395, "avg_loss": 0.10217},
        ),
        (
            ":: step     100 [ 12.5%] \\ loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | sol 78.2 | eta 02h15m",
            100,
            {"loss": 2.3456, "norm": 0.1234, "sol": 78.2},
        ),
        ("Epoch 3/10 - loss: 0.5 - val_loss: nan - lr: 1e-3", 3, {"loss": 0.5, "val_loss": "nan", "lr": 1e-3}),
        ("epoch=7 train/loss=-inf eval.acc = .5", 7, {"train/loss": -math.inf, "eval.acc": 0.5}),
        ("Step: 1,200 loss=2e+3 tokens=1.5M", 1200, {"loss": 2000.0, "tokens": 1.5e6}),
        ("global_step=40 reward: -3", 40, {"reward": -3.0}),
        ("step 7 loss: 1.5, elapsed: 5m, rate: 2k", 7, {"loss": 1.5, "elapsed": 5.0, "rate": 2000.0}),
    ],
)
def test_the_numbers_on_a_line_with_a_step_are_read(tmp_path, line, step, tags):
    run = only_run(written(tmp_path / "out", f"start\n{line}\nend\n"))
    assert {tag: points(run, tag) for tag in run.tags()} == {tag: [(step, value)] for tag, value in tags.items()}
    assert run.format == "text"


@pytest.mark.parametrize(
    "line",
    [
        "loss: 3.0",
        "[2019-01-22 16:48:17.109]  Writing summary at step: 54950",
        "Generated 32 batches of size 32 in 6.507 sec",
        "step 100 saved to checkpoint 100",
        "2026-05-20 00:04:05 steps_per_epoch=100 max_step_loss=3",
        "laststep:3 loss:4",
        "step 1.5 loss 2",
    ],
)
def test_a_line_without_a_step_is_skipped(tmp_path, line):
    text = f"step 0: loss 1.0\n{line}\nstep 1: loss 2.0\n"
    run = only_run(written(tmp_path / "out.log", text))
    assert {tag: points(run, tag) for tag in run.tags()} == {"loss": [(0, 1.0), (1, 2.0)]}


def test_keras_prints_the_epoch_on_a_line_of_its_own(tmp_path):
    bar = "\r".join(f"{i}/3 [=>....] - ETA: 0s - loss: {9 - i}.0" for i in (1, 2))
    lines = [f"Epoch {e}/2\n{bar}\r3/3 [====] - 1s 5ms/step - loss: {3 - e}.5 - val_loss: {4 - e}.5\n" for e in (1, 2)]
    run = only_run(written(tmp_path / "train.log", "".join(lines)))
    assert points(run, "loss") == [(1, 2.5), (2, 1.5)]
    assert points(run, "val_loss") == [(1, 3.5), (2, 2.5)]


def test_wall_times_come_from_the_line_and_are_nan_if_it_has_none(tmp_path):
    text = "2026-05-20T00:00:01 step 1: loss 2.0\nstep 2: loss 1.0\n[2026-05-20 00:00:03.500] step 3: loss 0.5\n"
    walls = only_run(written(tmp_path / "train.log", text)).series("loss").wall_times
    assert walls[2] - walls[0] == 2.5
    assert math.isnan(walls[1])


def test_an_incomplete_last_line_loses_only_a_number_that_may_lack_digits(tmp_path):
    whole = "step:1/9 loss:3.25 acc:0.5\nstep:2/9 loss:3.125 acc:0.75\n"
    for end in range(whole.index("step:2"), len(whole)):
        run = only_run(written(tmp_path / "train.log", whole[:end]))
        assert points(run, "loss") == [(1, 3.25), (2, 3.125)][: len(run.series("loss"))]
        assert points(run, "acc") == [(1, 0.5)]
        assert levels(run) == ([] if whole[:end].endswith("\n") else ["info"])


def test_other_text_files_below_a_directory_are_not_runs(tmp_path):
    written(tmp_path / "requirements.txt", "numpy>=1.23\ntorch==2.13.0\n")
    written(tmp_path / "app.log", "iter=5 sessions=3\niter=6 sessions=4\n")
    written(tmp_path / "notes.txt", "In step 3 the loss: 5 was large.\n")
    assert runs_of_other_formats(tmp_path) == {}


def test_patterns_are_fast_on_long_lines(tmp_path):
    hostile = [
        "step 1 " + "loss " * 700,
        "step" * 1000,
        "step 1 " + "a" * 4000,
        "step 1 loss:" + ",1" * 1900,
        "x" * 5_000_000,
    ]
    text = "step 0: loss 1.0\n" + "\n".join(hostile) + "\nstep 1: loss 2.0\n"
    assert points(only_run(written(tmp_path / "train.log", text)), "loss") == [(0, 1.0), (1, 2.0)]


@given(text=st.text("step:/= losacctr[](),.%0123456789e-+\n\r\t\x1bkM naif", max_size=400))
def test_no_text_raises_an_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "train.log"
    for run in runs_of_other_formats(written(path, "step 0: loss 1.0\n" + text)).values():
        for tag in run.tags():
            assert len(run.series(tag)) > 0


def test_real_logs_have_what_a_regular_expression_finds_in_them():
    need_corpus()
    for path in sorted((CORPUS / "KellerJordan+modded-nanogpt").rglob("*.txt")):
        found = re.findall(r"^step:(\d+)/\d+ val_loss:(\S+)", path.read_text(), re.MULTILINE)
        assert points(only_run(path), "val_loss") == [(int(step), float(loss)) for step, loss in found]
    for path in sorted((CORPUS / "pytorch+torchtitan").rglob("run.log")):
        found = re.findall(r"step:\s*(\d+)\s+\S*loss:\s*(\S+)", path.read_text())
        assert len(found) in (0, 2, 10)
        if found:
            run = only_run(path)
            assert points(run, "loss") == [(int(step), float(loss)) for step, loss in found]
            assert not math.isnan(run.started)
