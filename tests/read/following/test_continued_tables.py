"""Rows like those before are added to a log's series without searching the whole log again, with the same result."""

import random
import time

import numpy as np
import pytest
from other_formats import written

import pulseboard as pb
from pulseboard.read.appending import continuation, growing_runs
from pulseboard.read.formats.csv_table import CsvTable
from pulseboard.read.formats.json_records import JsonLines
from pulseboard.read.formats.text.text_log import TextLog
from pulseboard.read.parsing import prefix, table_runs

OPENED = {
    "train.log": TextLog,
    "epochs.log": TextLog,
    "iters.log": TextLog,
    "log.csv": CsvTable,
    "log.jsonl": JsonLines,
}
HEADS = {"train.log": "", "epochs.log": "", "iters.log": "", "log.csv": "step,timestamp,loss,acc\n", "log.jsonl": ""}


def ordinary(name, step, rng):
    loss, acc, at = f"{rng.random():.4f}", f"{rng.random():.3f}", 1_700_000_000 + step
    if name == "log.csv":
        return f"{step},{at},{loss},{acc}\n"
    if name == "log.jsonl":
        return f'{{"step": {step}, "timestamp": {at}, "loss": {loss}, "acc": {acc}}}\n'
    if name == "epochs.log":
        return f"Epoch: [{step // 5}][{step % 5}/5]  Time 0.5 (0.6)  Loss {loss} (0.5)  Acc@1 {acc}\n"
    if name == "iters.log":
        evaluation = f"step {step}: train loss {acc}, val loss {loss}\n" if step % 7 == 0 else ""
        return f"{evaluation}iter {step}: loss {loss}, time 5.5ms\n"
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
    return f"{clock},123 - INFO - step {step}/9000 | loss {loss} | acc {acc} | batch size: 32\n"


ODD = {
    "train.log": [
        "validation loss: 0.5\n", "saved\n", "step {step}: lr 0.1\n", "epoch 3 loss 0.1 acc 0.5\n", "best: 7\n",
        "step 2 | loss 0.5\n", "step {step} | loss nan | acc inf | batch size: 32\n", "note: 17 apples\n",
        "step {step} | loss 0.25 | acc 0.5 | batch size: 64\n",
        "Test: [{step}/100] loss 0.5\n", "step {step} | val loss 0.75\n", "global_step {step} loss 0.5\n",
    ],
    "epochs.log": [
        "Epoch: [1][3/5] Loss 0.5 (0.5) Acc@1 0.5\n", "Epoch: [7][1/9] Loss 0.5 (0.5) Acc@1 0.5\n", " * Acc@1 0.75\n",
        "Epoch: [{step}] Loss 0.5\n", "Test: [1/10] Loss 0.5\n", "=> saved\n", "[3/5] Loss 0.5\n",
        "Epoch: [9][7/5]  Time 0.5 (0.6)  Loss 0.1 (0.5)  Acc@1 0.25\n",
    ],
    "iters.log": [
        "step 3: train loss 0.5, val loss 0.5\n", "step {step}: train loss 0.5, val loss 0.5\n", "iter 2: loss 0.5\n",
        "step {step}: loss 0.5\n", "saved\n", "step {step}: iter {step}: loss 0.5\n", "epoch 2: loss 0.5\n",
    ],
    "log.csv": ["{step},,0.5,\n", ",,0.5,0.5\n", "2,5,0.5,0.5\n", "{step},x,nan,inf\n", "{step},1,2,3,4\n", "\n"],
    "log.jsonl": [
        '{{"step": {step}, "val": 0.5}}\n', "{{\n", '{{"epoch": 1, "loss": 1}}\n', '{{"step": 2, "loss": 1}}\n',
        '{{"loss": 0.5}}\n', '{{"step": {step}, "timestamp": 5, "loss": 0.5, "acc": 1}}\n',
    ],
}  # fmt: skip


def content(runs):
    return [(run.name, run.config, run.notes, run.axis, repr(run.restarts), series_of(run)) for run in runs]


def series_of(run):
    return [(tag, *map(bytes, (s.steps, s.wall_times, s.values, s.orphaned))) for tag, s in run.series.items()]


@pytest.fixture
def small_tables(monkeypatch):
    """Tables of a few rows are continued as large ones are."""
    monkeypatch.setattr(prefix, "_MIN_BYTES", 64)
    for module in (table_runs, continuation, growing_runs):
        monkeypatch.setattr(module, "MANY_ROWS", 12)


@pytest.mark.parametrize("name", OPENED)
@pytest.mark.parametrize("seed", range(12))
def test_a_log_that_grows_in_any_way_reads_like_the_whole_log(tmp_path, small_tables, name, seed):
    rng = random.Random(f"{name} {seed}")
    path = written(tmp_path / name, HEADS[name] + "".join(ordinary(name, step, rng) for step in range(20)))
    log, step, rest = OPENED[name](str(path)), 20, ""
    list(log.runs())
    for _ in range(60):
        text = ""
        for _ in range(rng.randrange(4)):
            odd = rng.random() < 0.02 * (seed % 4)
            text += rng.choice(ODD[name]).format(step=step) if odd else ordinary(name, step, rng)
            step += rng.randrange(3)
        text = rest + text
        cut = rng.randrange(len(text) + 1) if rng.random() < 0.3 else len(text)
        with path.open("a") as stream:
            stream.write(text[:cut])
        rest = text[cut:]
        if not log.read_on():
            log = OPENED[name](str(path))
        assert content(log.runs()) == content(OPENED[name](str(path)).runs())


@pytest.mark.parametrize("name", OPENED)
def test_ordinary_rows_are_added_without_a_search(tmp_path, monkeypatch, name):
    monkeypatch.setattr(prefix, "_MIN_BYTES", 64)  # or the file would be too small to be read on
    rng = random.Random(0)
    path = written(tmp_path / name, HEADS[name] + "".join(ordinary(name, step, rng) for step in range(400)))
    log = OPENED[name](str(path))
    (before,) = log.runs()
    taken = {tag: series.values.tolist() for tag, series in before.series.items()}
    for step in range(400, 460):
        with path.open("a") as stream:
            stream.write(ordinary(name, step, rng))
        assert log.read_on()
        (run,) = log.runs()
        assert len(run.series["Loss" if name == "epochs.log" else "loss"]) == step + 1
    assert log._runs.searches == 1
    # What was taken before the log grew is as it was.
    assert {tag: series.values.tolist() for tag, series in before.series.items()} == taken
    with path.open("a") as stream:
        stream.write("".join(ordinary(name, step, rng) for step in range(3)))
    assert log.read_on()
    assert len(list(log.runs())) == 2
    assert log._runs.searches == 2


@pytest.mark.parametrize("name", OPENED)
def test_the_cost_of_a_row_does_not_depend_on_the_size_of_the_log(tmp_path, name):
    least = []
    for count in (2_000, 200_000):
        rng = random.Random(0)
        path = written(
            tmp_path / str(count) / name, HEADS[name] + "".join(ordinary(name, step, rng) for step in range(count))
        )
        runs = pb.read(path.parent)
        costs = []
        for step in range(count, count + 40):
            with path.open("a") as stream:
                stream.write(ordinary(name, step, rng))
            began = time.thread_time()
            runs.poll([str(path)])
            costs.append(time.thread_time() - began)
        assert runs[name].last_step == count + 39
        assert np.isfinite(runs[name].ended) or name in ("epochs.log", "iters.log")  # which have no times
        least.append(min(costs))
    # With all rows at every update it is 20 times as much for 100 times the rows.
    assert least[1] < 4 * least[0]
