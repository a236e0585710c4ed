"""JSON histories: lines, arrays and columns; the JSON log; and the Trainer's state."""

import json
import math

import numpy as np
import pytest
from foreign_logs import CORPUS, levels, need_corpus, only_run, points, written
from hypothesis import given, settings
from hypothesis import strategies as st

from pulseboard.files import json_log
from pulseboard.read.foreign import foreign_runs


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


# ---- histories


@pytest.mark.parametrize("name", ["metrics.jsonl", "metrics.json", "log.txt", "train.log", "history.ndjson"])
def test_an_object_a_line_is_a_row(tmp_path, name):
    text = lines({"step": 5, "loss": 2.5, "note": "x"}, {"step": 6, "loss": 1.5, "eval": {"acc": 0.5}})
    written(tmp_path / "exp" / name, text)
    runs = foreign_runs(tmp_path)
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
    assert set(foreign_runs(tmp_path)) == {"history.json", "keras.json"}


def test_nan_and_infinities_are_values_in_either_spelling(tmp_path):
    text = '{"step": 0, "loss": NaN}\n{"step": 1, "loss": "nan"}\n{"step": 2, "loss": -Infinity}\n'
    text += '{"step": 3, "loss": "inf"}\n{"step": 4, "loss": null}\n{"step": 5, "loss": true}\n'
    run = only_run(written(tmp_path / "log.jsonl", text + '{"step": 6, "loss": 1e400}\n'))
    assert points(run, "loss") == [(0, "nan"), (1, "nan"), (2, -math.inf), (3, math.inf), (6, math.inf)]


def test_a_torn_last_line_is_left_out_and_broken_ones_are_counted(tmp_path):
    text = lines({"step": 0, "loss": 2.0}) + "not json\n" + lines({"step": 1, "loss": 1.0}) + '{"step": 2, "lo'
    run = only_run(written(tmp_path / "log.jsonl", text))
    assert points(run, "loss") == [(0, 2.0), (1, 1.0)]
    assert levels(run) == ["damage", "info"]
    assert "Left out 1 lines" in run.notes()[0].what


def test_a_last_object_without_a_line_break_is_whole(tmp_path):
    run = only_run(written(tmp_path / "log.jsonl", lines({"step": 0, "loss": 2.0}) + '{"step": 1, "loss": 1.0}'))
    assert points(run, "loss") == [(0, 2.0), (1, 1.0)]
    assert run.notes() == []


def test_configurations_and_data_are_no_histories(tmp_path):
    written(tmp_path / "config.json", json.dumps({"lr": 0.1, "loss_weights": [1, 2], "betas": [0.9, 0.95]}, indent=1))
    written(tmp_path / "summary.json", json.dumps({"_step": 3, "loss": 1.0}))
    written(tmp_path / "data.jsonl", lines({"text": "a", "id": 1}, {"text": "b", "id": 2}))
    written(tmp_path / "list.json", "[1, 2, 3]")
    written(tmp_path / "deep.json", "[" * 100_000)
    assert foreign_runs(tmp_path) == {}


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.dictionaries(st.text(min_size=1, max_size=6).map("loss {}".format), st.floats() | st.integers(), max_size=4),
        min_size=1,
        max_size=20,
    )
)
def test_every_number_of_every_line_comes_back(tmp_path_factory, rows):
    text = lines(*({"step": i, "loss": 0.5, **row} for i, row in enumerate(rows)))
    run = only_run(written(tmp_path_factory.mktemp("json") / "log.jsonl", text))
    expected = {}
    for step, row in enumerate(rows):
        for name, value in row.items():
            number = float(value) if abs(value) < 1e308 or isinstance(value, float) else math.copysign(math.inf, value)
            expected.setdefault(name, []).append((step, "nan" if math.isnan(number) else number))
    assert {tag: points(run, tag) for tag in run.tags() if tag != "loss"} == expected
    assert run.notes() == []


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200) | st.text('[]{}":,\n\r step loss log 0123.eE-naNul', max_size=300).map(str.encode))
def test_no_bytes_raise(tmp_path_factory, data):
    for name in ("log.jsonl", "training.json", "trainer_state.json", "log.txt"):
        for run in foreign_runs(written(tmp_path_factory.mktemp("any") / name, data)).values():
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
    run = foreign_runs(tmp_path)["run7"]
    assert run.format == "json-log"
    assert points(run, "train/loss") == [(0, 2.5), (1, "nan")]
    assert points(run, "train/tokens_per_second") == [(0, 2000.0), (1, 2000.0)]
    assert points(run, "eval/loss") == [(1, 3.0)]
    assert points(run, "gpu/1/dram_free") == [(1, 1.0)]
    assert points(run, "mine/own") == [(2, 7.0)]
    assert run.series("train/loss").wall_times.tolist() == [1_700_000_000.25, 1_700_000_001.25]
    assert run.notes() == []


def test_a_json_log_that_was_cut_anywhere_keeps_its_whole_records(tmp_path):
    text = "[\n" + ",\n".join(json_log.encode(record_of(step, 1.0 + step)) for step in range(3)) + "\n]\n"
    ends = [text.index(f'"step": {step}, ') for step in range(3)]
    for cut in range(ends[1], len(text), 7):
        run = only_run(written(tmp_path / "training.json", text[:cut]))
        found = points(run, "train/loss")
        assert found == [(step, 1.0 + step) for step in range(len(found))]
        assert len(found) >= 1 + (cut > ends[2])
        assert levels(run) in ([], ["info"])


def test_a_broken_line_within_a_json_log_is_counted_and_costs_no_others(tmp_path):
    lines_ = [json_log.encode(record_of(step, 1.0 + step)) + ",\n" for step in range(4)]
    lines_[2] = lines_[2][:30] + "\n"
    run = only_run(written(tmp_path / "training.json", "[\n" + "".join(lines_) + "]\n"))
    assert points(run, "train/loss") == [(0, 1.0), (1, 2.0), (3, 4.0)]
    assert levels(run) == ["damage"]


def test_records_of_a_wrong_shape_are_counted_and_cost_no_others(tmp_path):
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


def test_a_run_file_beside_the_log_gives_its_configuration(tmp_path):
    written(tmp_path / "training.json", json.dumps([json.loads(json_log.encode(record_of(0, 2.5)))]))
    written(tmp_path / "run.json", json.dumps({"config": {"lr": 0.1}}))
    assert only_run(tmp_path / "training.json").config() == {"lr": 0.1}
    assert list(foreign_runs(tmp_path)) == ["."]


# ---- the Trainer's state


def state(*history, **others):
    return json.dumps({"best_metric": None, "global_step": 1, "log_history": list(history), **others}, indent=2)


def test_the_trainers_state_has_the_tags_of_its_event_files(tmp_path):
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


def test_checkpoints_are_one_run_as_far_as_the_last_of_them_reaches(tmp_path):
    for last in (100, 50, 200):
        history = [{"step": step, "loss": 1.0 / step} for step in range(10, last + 1, 10)]
        written(tmp_path / "results" / f"checkpoint-{last}" / "trainer_state.json", state(*history))
    runs = foreign_runs(tmp_path)
    assert list(runs) == ["results"]
    assert runs["results"].last_step == 200
    assert runs["results"].directory == str(tmp_path / "results" / "checkpoint-200")


def test_a_state_that_was_cut_or_is_odd_is_told_and_raises_nothing(tmp_path):
    path = written(tmp_path / "trainer_state.json", state({"step": 1, "loss": 1.0})[:-20])
    run = only_run(path)
    assert (run.tags(), levels(run)) == ([], ["unreadable"])
    run = only_run(written(path, state({"loss": 1.0}, 7, {"step": 2, "loss": 0.5})))
    assert points(run, "train/loss") == [(2, 0.5)]
    assert levels(run) == ["damage"]


# ---- real files


def test_the_real_json_logs_of_the_corpus():
    need_corpus()
    run = only_run(CORPUS / "Levi-Magny+Train-Detectron2/output/metrics.json")
    assert points(run, "total_loss")[0][0] == 19
    assert run.last_step == 99
    run = only_run(CORPUS / "epistoteles+dreamer-goal-conditioned/logdir/fetch-reach-v1/dreamer/2/metrics.jsonl")
    assert points(run, "train/return")[:2] == [(50, -48.0), (100, -46.0)]
    assert len(run.series("train/return")) == 86
    run = only_run(CORPUS / "parthagrawal02+ECG_MAE/output_dir/log.txt")
    assert run.series("train_loss").steps.tolist() == [0, 1, 0, 1, 0, 1]
    run = only_run(CORPUS / "CynthiaJerono+Phase_5_Project/results/checkpoint-500/trainer_state.json")
    assert points(run, "eval/loss")[0][1] == 0.36882245540618896
