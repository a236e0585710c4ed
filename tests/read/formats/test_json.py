"""JSON histories: lines, arrays and columns; the JSON log; and the Trainer's state."""

import json
import math

import numpy as np
import pytest
from corpus import CORPUS, need_corpus
from hypothesis import given
from hypothesis import strategies as st
from other_formats import levels, only_run, points, runs_of_other_formats, written

from pulseboard.rundir import json_log


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


# ---- histories


@pytest.mark.parametrize("name", ["metrics.jsonl", "metrics.json", "log.txt", "train.log", "history.ndjson"])
def test_one_object_per_line_is_one_row_each(tmp_path, name):
    text = lines({"step": 5, "loss": 2.5, "note": "x"}, {"step": 6, "loss": 1.5, "eval": {"acc": 0.5}})
    written(tmp_path / "exp" / name, text)
    runs = runs_of_other_formats(tmp_path)
    assert list(runs) == [f"exp/{name}"]
    run = runs[f"exp/{name}"]
    assert (run.format, run.tags()) == ("json", ["loss", "eval/acc"])
    assert points(run, "loss") == [(5, 2.5), (6, 1.5)]
    assert points(run, "eval/acc") == [(6, 0.5)]


def test_an_array_of_objects_and_an_object_of_columns_are_tables_too(tmp_path):
    rows = [{"iteration": 19, "total_loss": 2.0}, {"iteration": 39, "total_loss": 1.0}]
    run = only_run(written(tmp_path / "history.json", json.dumps(rows, indent=2)))
    assert points(run, "total_loss") == [(19, 2.0), (39, 1.0)]
    columns = {"loss": [2.0, 1.0, math.nan], "val_loss": [3.0, 2.0, 1.0]}
    run = only_run(written(tmp_path / "keras.json", json.dumps(columns)))
    assert points(run, "loss") == [(0, 2.0), (1, 1.0), (2, "nan")]
    assert set(runs_of_other_formats(tmp_path)) == {"history.json", "keras.json"}


def test_nan_and_infinities_are_values_in_either_spelling(tmp_path):
    text = '{"step": 0, "loss": NaN}\n{"step": 1, "loss": "nan"}\n{"step": 2, "loss": -Infinity}\n'
    text += '{"step": 3, "loss": "inf"}\n{"step": 4, "loss": null}\n{"step": 5, "loss": true}\n'
    run = only_run(written(tmp_path / "log.jsonl", text + '{"step": 6, "loss": 1e400}\n'))
    assert points(run, "loss") == [(0, "nan"), (1, "nan"), (2, -math.inf), (3, math.inf), (6, math.inf)]


def test_an_incomplete_last_line_is_left_out_and_broken_ones_are_counted(tmp_path):
    text = lines({"step": 0, "loss": 2.0}) + "not json\n" + lines({"step": 1, "loss": 1.0}) + '{"step": 2, "lo'
    run = only_run(written(tmp_path / "log.jsonl", text))
    assert points(run, "loss") == [(0, 2.0), (1, 1.0)]
    assert levels(run) == ["damage", "info"]
    assert "Left out 1 line " in run.notes()[0].what


def test_a_last_object_without_a_line_break_is_read(tmp_path):
    run = only_run(written(tmp_path / "log.jsonl", lines({"step": 0, "loss": 2.0}) + '{"step": 1, "loss": 1.0}'))
    assert points(run, "loss") == [(0, 2.0), (1, 1.0)]
    assert run.notes() == []


def test_configurations_and_data_are_not_runs(tmp_path):
    written(tmp_path / "config.json", json.dumps({"lr": 0.1, "loss_weights": [1, 2], "betas": [0.9, 0.95]}, indent=1))
    written(tmp_path / "summary.json", json.dumps({"_step": 3, "loss": 1.0}))
    written(tmp_path / "data.jsonl", lines({"text": "a", "id": 1}, {"text": "b", "id": 2}))
    written(tmp_path / "list.json", "[1, 2, 3]")
    written(tmp_path / "deep.json", "[" * 100_000)
    assert runs_of_other_formats(tmp_path) == {}


@given(
    rows=st.lists(
        st.dictionaries(st.text(min_size=1, max_size=6).map("loss {}".format), st.floats() | st.integers(), max_size=4),
        min_size=1,
        max_size=20,
    )
)
def test_every_number_of_every_line_is_read_back(tmp_path_factory, rows):
    text = lines(*({"step": i, "loss": 0.5, **row} for i, row in enumerate(rows)))
    run = only_run(written(tmp_path_factory.mktemp("json") / "log.jsonl", text))
    expected = {}
    for step, row in enumerate(rows):
        for name, value in row.items():
            number = float(value) if abs(value) < 1e308 or isinstance(value, float) else math.copysign(math.inf, value)
            expected.setdefault(name, []).append((step, "nan" if math.isnan(number) else number))
    assert {tag: points(run, tag) for tag in run.tags() if tag != "loss"} == expected
    assert run.notes() == []


@given(data=st.binary(max_size=200) | st.text('[]{}":,\n\r step loss log 0123.eE-naNul', max_size=300).map(str.encode))
def test_no_bytes_raise_an_error(tmp_path_factory, data):
    for name in ("log.jsonl", "training.json", "trainer_state.json", "log.txt"):
        for run in runs_of_other_formats(written(tmp_path_factory.mktemp("any") / name, data)).values():
            for tag in run.tags():
                assert len(run.series(tag)) > 0


# ---- the JSON log


def record_of(step, loss):
    values = {"epoch": step / 10, "step_tokens": 100, "duration_ms": 50, "norm": 1.0, "loss": loss, "lr": 0.1}
    return json_log.make_record("step", values, step=step, wall_time=1_700_000_000.25 + step)


def records():
    yield record_of(0, 2.5)
    yield record_of(1, math.nan)
    gpu = {"id": 1, "power": 300, "dram_free": 1 << 20}
    yield json_log.make_record("gpu", gpu, step=1, wall_time=1_700_000_001.5)
    yield json_log.make_record("eval", {"loss": 3.0, "eval_tokens": 10}, step=1, wall_time=1_700_000_002.5)
    yield json_log.scalars_record({"mine/own": 7.0}, step=2, wall_time=1_700_000_003.5)
    yield json_log.make_record("dataset", {"split": "train"}, step=2, wall_time=1_700_000_003.5)


@pytest.mark.parametrize(
    "text",
    [
        "[\n" + ",\n".join(map(json_log.encode, records())) + "\n]\n",
        "".join(json_log.encode(record) + "\n" for record in records()),
        json.dumps([json.loads(json_log.encode(record)) for record in records()], indent=2),
    ],
    ids=["array", "lines", "indented"],
)
def test_the_json_log_has_the_tags_of_event_files_and_its_own_times(tmp_path, text):
    written(tmp_path / "run7" / "training.json", text)
    run = runs_of_other_formats(tmp_path)["run7"]
    assert run.format == "json-log"
    assert points(run, "train/loss") == [(0, 2.5), (1, "nan")]
    assert points(run, "train/tokens_per_second") == [(0, 2000.0), (1, 2000.0)]
    assert points(run, "eval/loss") == [(1, 3.0)]
    assert points(run, "gpu/1/dram_free") == [(1, 1.0)]
    assert points(run, "mine/own") == [(2, 7.0)]
    assert run.series("train/loss").wall_times.tolist() == [1_700_000_000.25, 1_700_000_001.25]
    assert run.notes() == []


def test_a_json_log_truncated_anywhere_keeps_its_complete_records(tmp_path):
    text = "[\n" + ",\n".join(json_log.encode(record_of(step, 1.0 + step)) for step in range(3)) + "\n]\n"
    ends = [text.index(f'"step": {step}, ') for step in range(3)]
    for cut in range(ends[1], len(text), 7):
        run = only_run(written(tmp_path / "training.json", text[:cut]))
        found = points(run, "train/loss")
        assert found == [(step, 1.0 + step) for step in range(len(found))]
        assert len(found) >= 1 + (cut > ends[2])
        assert levels(run) in ([], ["info"])


def test_a_broken_line_in_a_json_log_is_counted_and_the_others_are_read(tmp_path):
    lines_ = [json_log.encode(record_of(step, 1.0 + step)) + ",\n" for step in range(4)]
    lines_[2] = lines_[2][:30] + "\n"
    run = only_run(written(tmp_path / "training.json", "[\n" + "".join(lines_) + "]\n"))
    assert points(run, "train/loss") == [(0, 1.0), (1, 2.0), (3, 4.0)]
    assert levels(run) == ["damage"]


def test_malformed_records_are_counted_and_the_others_are_read(tmp_path):
    odd = [
        {"log": "allocator", "step": 1, "stats": [{}]},
        {"log": "scalars", "step": 1, "values": [1]},
        {"log": "step", "step": "x", "loss": 1.0},
        {"log": "step", "step": 1.5, "loss": 1.0},
        {"log": "moe", "step": 1 << 70, "aux_loss": 1.0},
    ]
    good = json.loads(json_log.encode(record_of(0, 2.5)))
    run = only_run(written(tmp_path / "training.json", json.dumps([good, *odd])))
    assert points(run, "train/loss") == [(0, 2.5)]
    assert levels(run) == ["damage"]
    assert "Left out 5 records" in run.notes()[0].what


def test_the_configuration_comes_from_the_run_json_next_to_the_log(tmp_path):
    written(tmp_path / "training.json", json.dumps([json.loads(json_log.encode(record_of(0, 2.5)))]))
    written(tmp_path / "run.json", json.dumps({"config": {"lr": 0.1}}))
    assert only_run(tmp_path / "training.json").config() == {"lr": 0.1}
    assert list(runs_of_other_formats(tmp_path)) == ["."]


# ---- the Trainer's state


def state(*history, **others):
    return json.dumps({"best_metric": None, "global_step": 1, "log_history": list(history), **others}, indent=2)


def test_a_trainer_state_has_the_tags_of_the_trainers_event_files(tmp_path):
    history = [
        {"epoch": 0.5, "step": 50, "loss": 0.5, "learning_rate": 1e-4},
        {"epoch": 1.0, "step": 100, "eval_loss": 0.4, "eval_runtime": 2.0},
        {"epoch": 1.0, "step": 100, "train_runtime": 9.0, "total_flos": 10},
    ]
    run = only_run(written(tmp_path / "trainer_state.json", state(*history, max_steps=100, trial_params={"lr": 1})))
    assert points(run, "train/loss") == [(50, 0.5)]
    assert points(run, "eval/loss") == [(100, 0.4)]
    assert points(run, "train/train_runtime") == [(100, 9.0)]
    assert points(run, "train/epoch") == [(50, 0.5), (100, 1.0), (100, 1.0)]
    assert np.isnan(run.series("train/loss").wall_times).all()
    assert run.config() == {"max_steps": 100, "lr": 1}


def test_checkpoints_are_one_run_that_ends_at_the_last_of_them(tmp_path):
    for last in (100, 50, 200):
        history = [{"step": step, "loss": 1.0 / step} for step in range(10, last + 1, 10)]
        written(tmp_path / "results" / f"checkpoint-{last}" / "trainer_state.json", state(*history))
    runs = runs_of_other_formats(tmp_path)
    assert list(runs) == ["results"]
    assert runs["results"].last_step == 200
    assert runs["results"].directory == str(tmp_path / "results" / "checkpoint-200")


def test_a_truncated_or_malformed_trainer_state_is_noted(tmp_path):
    path = written(tmp_path / "trainer_state.json", state({"step": 1, "loss": 1.0})[:-20])
    run = only_run(path)
    assert (run.tags(), levels(run)) == ([], ["unreadable"])
    run = only_run(written(path, state({"loss": 1.0}, 7, {"step": 2, "loss": 0.5})))
    assert points(run, "train/loss") == [(2, 0.5)]
    assert levels(run) == ["damage"]


# ---- real files


def test_real_json_logs_are_read():
    need_corpus()
    run = only_run(CORPUS / "Levi-Magny+Train-Detectron2/output/metrics.json")
    assert points(run, "total_loss")[0][0] == 19
    assert run.last_step == 99
    run = only_run(CORPUS / "epistoteles+dreamer-goal-conditioned/logdir/fetch-reach-v1/dreamer/2/metrics.jsonl")
    assert points(run, "train/return")[:2] == [(50, -48.0), (100, -46.0)]
    assert len(run.series("train/return")) == 86
    appended = runs_of_other_formats(CORPUS / "parthagrawal02+ECG_MAE/output_dir/log.txt")
    assert list(appended) == ["log.txt", "log.txt/part 2", "log.txt/part 3"]
    assert all(run.series("train_loss").steps.tolist() == [0, 1] for run in appended.values())
    run = only_run(CORPUS / "CynthiaJerono+Phase_5_Project/results/checkpoint-500/trainer_state.json")
    assert points(run, "eval/loss")[0][1] == 0.36882245540618896
