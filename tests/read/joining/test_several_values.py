"""Values that disagree: all are kept, and the notes of the run say so."""

import json

import pytest
from other_formats import only_run, points, written

import pulseboard as pb

TRAIN = [round(2.3 * 0.8**i + 0.05, 4) for i in range(12)]
HELD = [round(2.4 * 0.83**i + 0.1, 4) for i in range(12)]
ACC = [round(1 - 0.9 * 0.8**i, 4) for i in range(12)]
PAIRS = list(zip(range(1, 13), TRAIN, HELD, ACC, strict=True))


def said(run, what):
    return [note.what for note in run.notes() if what in note.what]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("train.log", "".join(f"Epoch {i}/12 loss: {t}\nEpoch {i}/12 loss: {v}\n" for i, t, v, _ in PAIRS)),
        ("log.csv", "epoch,loss\n" + "".join(f"{i},{t}\n{i},{v}\n" for i, t, v, _ in PAIRS)),
        (
            "metrics.jsonl",
            "".join(json.dumps({"epoch": i, "loss": x}) + "\n" for i, t, v, _ in PAIRS for x in (t, v)),
        ),
    ],
)
def test_two_values_per_epoch_without_a_split_are_kept_and_said(tmp_path, file, text):
    run = only_run(written(tmp_path / file, text))
    assert points(run, "loss") == [(i, x) for i, t, v, _ in PAIRS for x in (t, v)]
    assert len(said(run, f"{TRAIN[0]} and {HELD[0]} of 'loss' at epoch 1")) == 1


@pytest.mark.parametrize(
    "rows",
    [
        [f"{i},{t},{a}" for i, t, _, a in PAIRS],
        [row for i, t, _, a in PAIRS for row in (f"{i},{t},", f"{i},,{a}")],
        [row for i, t, _, _ in PAIRS for row in (f"{i},{t},", f"{i},{t},")],
    ],
    ids=["one row", "two rows with other columns", "the same row twice"],
)
def test_nothing_is_said_where_no_value_disagrees(tmp_path, rows):
    run = only_run(written(tmp_path / "log.csv", "epoch,loss,acc\n" + "".join(f"{row}\n" for row in rows)))
    assert not said(run, "values")


def test_two_values_in_one_line_are_kept_and_said(tmp_path):
    lines = "".join(f"Epoch {i}/12 loss: {t} acc: {a} loss: {v}\n" for i, t, v, a in PAIRS)
    run = only_run(written(tmp_path / "train.log", lines))
    assert points(run, "loss") == [(i, t) for i, t, _, _ in PAIRS]
    assert points(run, "loss'") == [(i, v) for i, _, v, _ in PAIRS]
    assert len(said(run, "several values of the same name")) == 1


def test_two_files_that_agree_on_all_epochs_of_one_tag_are_one_training(tmp_path):
    written(tmp_path / "train.log", "".join(f"Epoch {i}/12 loss: {t} acc: {a}\n" for i, t, _, a in PAIRS))
    written(tmp_path / "metrics.csv", "epoch,loss,acc\n" + "".join(f"{i},{v},{a}\n" for i, _, v, a in PAIRS))
    (run,) = pb.read(tmp_path).values()
    assert points(run, "loss") == [(i, v) for i, _, v, _ in PAIRS]
    assert points(run, "loss (train.log)") == [(i, t) for i, t, _, _ in PAIRS]
    assert len(said(run, "different values of 'loss': both are kept")) == 1


def test_a_value_that_disagrees_is_said_when_it_is_appended(tmp_path):
    path = written(tmp_path / "log.csv", "step,loss\n" + "".join(f"{i},{i / 8}\n" for i in range(1000)))
    runs = pb.read(path)
    notes = []
    for line in ("1000,0.5\n", "1000,0.25\n", "1001,0.125\n"):
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(line)
        runs.poll([str(path)])
        (run,) = runs.values()
        notes.append(said(run, "0.5 and 0.25 of 'loss' at step 1000"))
    assert list(map(len, notes)) == [0, 1, 1]
