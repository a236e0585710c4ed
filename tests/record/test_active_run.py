"""What a run creates, and the values it takes."""

import datetime
import json
import math
import threading

import numpy as np
import pytest
import torch
from record.recorded_runs import begin, only, points, read
from tensorboard.backend.event_processing import event_accumulator

import pulseboard as pb

# ---------- what it makes


def test_a_run_gets_the_date_and_the_next_number(tmp_path):
    today = datetime.date.today().isoformat()
    names = []
    for tag in (None, "baseline", None):
        with begin(tmp_path, run_tag=tag) as run:
            names.append(run.id)
    assert names == [f"{today}_001", f"{today}_002-baseline", f"{today}_003"]


def test_trainings_that_start_together_get_different_numbers(tmp_path):
    made = []
    threads = [threading.Thread(target=lambda: made.append(begin(tmp_path, run_tag="t"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [run.id.split("-t")[0] for run in made]
    assert len(set(numbers)) == 8
    for run in made:
        run.finish()


def test_the_files_are_where_tensorboard_users_expect_them(tmp_path):
    with begin(tmp_path, run_id="2026-02-10_012") as run:
        run.log({"train/loss": 1.0}, step=0)
    events = list((tmp_path / "runs" / "2026-02-10_012" / "logs" / "tensorboard").iterdir())
    assert len(events) == 1
    assert "tfevents" in events[0].name
    log = pb.read(tmp_path / "runs")
    assert list(log) == ["2026-02-10_012"]
    assert log["2026-02-10_012/logs/tensorboard"] is log["2026-02-10_012"]


def test_run_json_describes_the_run(tmp_path):
    with begin(tmp_path, config={"lr": 0.1, "odd": float("nan")}, tags=["a"], notes="n") as run:
        fields = json.loads((run.directory / "run.json").read_text())
        assert fields["status"] == "running"
        run.update_config(batch=8)
        run.tags = [*run.tags, "b"]
        run.notes = "m"
    fields = json.loads((run.directory / "run.json").read_text())
    assert fields["status"] == "finished"
    assert fields["config"] == {"lr": 0.1, "odd": "nan", "batch": 8}
    assert (fields["tags"], fields["notes"], fields["world_size"]) == (["a", "b"], "m", 1)
    assert {"command", "git", "host", "versions", "heartbeat", "started", "ended"} <= fields.keys()
    assert fields["versions"]["torch"] == torch.__version__


def test_an_exception_in_the_block_marks_the_run_failed(tmp_path):
    with pytest.raises(ZeroDivisionError), begin(tmp_path) as run:
        raise ZeroDivisionError
    assert json.loads((run.directory / "run.json").read_text())["status"] == "failed"


# ---------- values


def test_every_kind_of_number_is_logged(tmp_path):
    values = {
        "python/int": 3,
        "python/float": 0.1,
        "python/bool": True,
        "numpy/float32": np.float32(1.5),
        "numpy/int": np.int64(7),
        "numpy/zero_d": np.array(2.5),
        "numpy/one": np.array([3.5]),
        "torch/float": torch.tensor(4.5),
        "torch/one": torch.tensor([5.5]),
        "torch/bfloat16": torch.tensor(6.5, dtype=torch.bfloat16),
        "torch/half": torch.tensor(7.5, dtype=torch.half),
        "torch/int": torch.tensor(8),
        "torch/grad": torch.tensor(9.5, requires_grad=True),
        "nested": {"a": 10.5, "b": {"c": 11.5}},
    }
    with begin(tmp_path) as run:
        run.log(values, step=4)
    got = {tag: points(read(tmp_path).series(tag)) for tag in read(tmp_path).tags("scalar")}
    assert got == {
        "python/int": [(4, 3.0)],
        "python/float": [(4, float(np.float32(0.1)))],
        "python/bool": [(4, 1.0)],
        "numpy/float32": [(4, 1.5)],
        "numpy/int": [(4, 7.0)],
        "numpy/zero_d": [(4, 2.5)],
        "numpy/one": [(4, 3.5)],
        "torch/float": [(4, 4.5)],
        "torch/one": [(4, 5.5)],
        "torch/bfloat16": [(4, 6.5)],
        "torch/half": [(4, 7.5)],
        "torch/int": [(4, 8.0)],
        "torch/grad": [(4, 9.5)],
        "nested/a": [(4, 10.5)],
        "nested/b/c": [(4, 11.5)],
    }


def test_nan_and_infinities_are_kept(tmp_path):
    with begin(tmp_path) as run:
        for step, value in enumerate([math.nan, math.inf, -math.inf, torch.tensor(math.nan)]):
            run.log({"x": value}, step=step)
    values = read(tmp_path).series("x").values
    assert math.isnan(values[0])
    assert values[1:3].tolist() == [math.inf, -math.inf]
    assert math.isnan(values[3])


def test_the_caller_does_not_wait_for_a_value_on_a_device(tmp_path, monkeypatch):
    """A fake CUDA tensor: the caller must not read its value, the worker may."""
    from pulseboard.record import active_run

    caller = threading.get_ident()

    class OnDevice:
        def __init__(self, value):
            self.value = value

        def arrive(self):
            assert threading.get_ident() != caller, "the training loop waited for the device"
            return self.value

    def read_from_devices(values):
        return {tag: value.arrive for tag, value in values.items()}, []

    monkeypatch.setattr(active_run, "read_from_devices", read_from_devices)
    with begin(tmp_path) as run:
        run.log({"host": 1.0, "device": OnDevice(2.0)}, step=3)
    assert points(read(tmp_path).series("device")) == [(3, 2.0)]
    assert points(read(tmp_path).series("host")) == [(3, 1.0)]


def test_values_of_a_torch_device_are_copied_together():
    """The copy itself, on the CPU in place of another device."""
    from pulseboard.record.numbers import read_from_devices

    pending, invalid = read_from_devices(
        {"a": torch.tensor(1.5), "b": torch.tensor([2.5]), "many": torch.zeros(3), "word": "x"}
    )
    assert {tag: read() for tag, read in pending.items()} == {"a": 1.5, "b": 2.5}
    assert invalid == ["many", "word"]


def test_values_that_are_not_numbers_are_reported_once_and_do_not_stop_training(tmp_path, capsys):
    with begin(tmp_path, settings={"strict": False}) as run:
        for step in range(3):
            run.log({"good": 1.0, "word": "x", "many": np.zeros(3)}, step=step)
        run.log({"good": 2.0}, step="later")
        run.log("nonsense")
        run.log({"good": 3.0}, step=3)
    assert len(read(tmp_path).series("good")) == 4
    stderr = capsys.readouterr().err
    assert stderr.count("'word' was not logged at step 0") == 1
    assert stderr.count("'many' was not logged at step 0: a ndarray of (3,)") == 1


def test_strict_raises_instead(tmp_path):
    run = begin(tmp_path)
    with pytest.raises(TypeError, match="'word' was not logged"):
        run.log({"word": "x"})
    run.finish()


def test_a_step_that_is_not_given_follows_the_last(tmp_path):
    with begin(tmp_path) as run:
        run.log({"x": 0.0})
        run.log({"x": 1.0})
        run.log({"x": 2.0}, step=10)
        run.log({"x": 3.0})
    assert read(tmp_path).series("x").steps.tolist() == [0, 1, 10, 11]


def test_all_scalars_of_a_call_are_one_event_that_tensorboard_reads(tmp_path):
    with begin(tmp_path) as run:
        for step in range(50):
            run.log({"a": step * 0.1, "b": -step, "ü/タグ": step**2}, step=step)
    directory = str(run.directory / "logs" / "tensorboard")
    accumulator = event_accumulator.EventAccumulator(directory, size_guidance={"scalars": 0}).Reload()
    ours = only(pb.read(directory))
    assert set(accumulator.Tags()["scalars"]) == {"a", "b", "ü/タグ"} == set(ours.tags("scalar"))
    for tag in ours.tags("scalar"):
        series = ours.series(tag)
        assert [(e.step, e.wall_time, e.value) for e in accumulator.Scalars(tag)] == list(
            zip(series.steps.tolist(), series.wall_times.tolist(), series.values.tolist(), strict=True)
        )
    assert ours.files[0].log.events == 51
