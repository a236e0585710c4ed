"""The sinks to W&B, Aim and MLflow: against stand-ins always, and for real where the package is installed."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from record.fake_trackers import FakeAim, FakeMlflow, FakeWandb, absent

from pulseboard.core.errors import MissingPackage
from pulseboard.core.values import Histogram
from pulseboard.record import report, tracker
from pulseboard.record.pie import pie_svg
from pulseboard.record.sink import RunInfo, SinkRunner
from pulseboard.record.sinks.aim import Aim, evenly_binned
from pulseboard.record.sinks.mlflow import MLflow
from pulseboard.record.sinks.wandb import WandB

MIB = 1 << 20
WALL = 1_770_000_000.25
TIME = "2026-01-15T10:30:00.123456"

STEP = {
    "log": "step", "time": TIME, "step": 100, "epoch": 1.25, "step_tokens": 16384, "duration_ms": 156,
    "norm": 0.1234, "loss": 2.3456, "lr": 0.0002,
}  # fmt: skip
EVAL = {"log": "eval", "time": TIME, "step": 500, "epoch": 1.5, "eval_tokens": 32768, "duration_ms": 234, "loss": 2.125}
MOE = {
    "log": "moe", "time": TIME, "step": 100, "aux_loss": 0.0234, "z_loss": 0.0012, "expert_utilization": 0.9375,
    "load_imbalance": 1.45,
}  # fmt: skip
GPU = {
    "log": "gpu", "time": TIME, "step": 100, "id": 0, "clock": 1800, "max_clock": 2100, "fan": 65, "power": 350000,
    "power_limit": 400000, "temperature": 72, "temp_slowdown": 83, "gpu_util": 98, "mem_util": 85, "throttle": "",
    "dram_free": 8589934592, "pcie_rx": 1073741824, "pcie_tx": 536870912,
}  # fmt: skip
ALLOCATOR = {
    "log": "allocator", "time": TIME, "step": 0,
    "stats": [
        {"name": "weights", "device": 4096 * MIB, "managed": 0, "pinned": 0, "pageable": 0},
        {"name": "gradients", "device": 1024 * MIB, "managed": 0, "pinned": 0, "pageable": 0},
        {"name": "optimizer", "device": 2048 * MIB, "managed": 0, "pinned": 8192 * MIB, "pageable": 0},
    ],
}  # fmt: skip
GPU_MODEL = {"log": "gpu-model", "time": TIME, "step": 0, "id": 0, "name": "NVIDIA H100 80GB HBM3", "sm_count": 132}


def info(directory: Path, **settings: object) -> RunInfo:
    config = {"lr": 2e-4, "model": {"layers": 12}, "path": Path("/data"), "sizes": np.arange(2), "none": None}
    return RunInfo("2026-02-10_012", str(directory), config, ("first", "long"), "a try", settings)


def histogram(step: int = 3, *, buckets: int = 4) -> Histogram:
    edges = np.linspace(0.0, 4.0, buckets + 1)
    return Histogram(step=step, wall_time=WALL, lefts=edges[:-1], rights=edges[1:], counts=np.ones(buckets))


def png() -> bytes:
    """A picture of 2 x 1 pixels, one red and one blue."""
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00\x00\x00\xff")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def play(id: str, run: RunInfo, *, status: str = "finished") -> None:
    """Send a sink one of everything, the way a run does."""
    runner = SinkRunner(id, run, strict=True)
    for step, loss in ((1, 2.0), (2, 1.5), (2, 1.25), (1, 9.0), (3, math.nan)):
        runner.send("scalars", {"train/loss": loss, "odd name @ 1": step}, step=step, wall_time=WALL + step)
    for record in (STEP, EVAL, MOE, GPU, {**GPU, "id": 1, "power": 250000}, ALLOCATOR, ALLOCATOR, GPU_MODEL):
        runner.send("record", record)
    runner.send("histogram", "weights/a", histogram())
    runner.send("text", "samples/text", "a <b> & c", step=3, wall_time=WALL)
    if id != "aim" or importlib.util.find_spec("PIL"):  # the real Aim brings it, its stand-in does not
        runner.send("image", "samples/image", png(), step=3, wall_time=WALL)
    runner.send("config", {"lr": 1e-4, "seed": 1})
    runner.send("flush")
    runner.close(status=status)


@pytest.fixture
def wandb(monkeypatch):
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


@pytest.fixture
def aim(monkeypatch):
    fake = FakeAim()
    monkeypatch.setitem(sys.modules, "aim", fake)
    return fake


@pytest.fixture
def mlflow(monkeypatch):
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    fake = FakeMlflow()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake


# ---------- all of them


@pytest.mark.parametrize(("sink", "package"), [(WandB, "wandb"), (Aim, "aim"), (MLflow, "mlflow")])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(sink, package, tmp_path, monkeypatch):
    with absent(monkeypatch, package), pytest.raises(MissingPackage, match=rf"pulseboard\[{package}\]") as raised:
        sink(info(tmp_path))
    assert raised.value.extra == package


def test_a_missing_package_drops_the_sink_with_one_message(tmp_path, monkeypatch, capsys):
    with absent(monkeypatch, "wandb"):
        runner = SinkRunner("wandb", info(tmp_path))
        runner.send("scalars", {"a": 1.0}, step=0, wall_time=WALL)
        runner.close(status="finished")
    assert capsys.readouterr().err.count("\n") == 1


def test_the_sinks_import_nothing_heavy_before_they_are_asked_for():
    names = "['wandb', 'aim', 'mlflow', 'psutil', 'pynvml', 'numpy', 'torch', 'PIL']"
    program = (
        "import sys, pulseboard.record.sinks.wandb, pulseboard.record.sinks.aim, pulseboard.record.sinks.mlflow\n"
        f"import pulseboard.record.telemetry\nprint([n for n in {names} if n in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_config_is_told_in_plain_types(tmp_path):
    told = tracker.plain(info(tmp_path).config)
    assert told == {"lr": 2e-4, "model": {"layers": 12}, "path": "/data", "sizes": [0, 1], "none": None}


def test_a_record_without_step_and_time_belongs_to_step_0_and_now():
    assert tracker.step_of({"log": "gpu"}) == 0
    assert abs(tracker.wall_time_of({"log": "gpu"}) - time.time()) < 60


def test_a_directory_that_cannot_be_written_is_said_once(tmp_path, capsys):
    (tmp_path / "run").write_text("a file where the directory should be")
    run = info(tmp_path / "run")
    tracker.keep_id(run, "x", sink="aim")
    tracker.keep_id(run, "x", sink="aim")
    assert tracker.earlier_id(run, sink="aim") is None
    assert capsys.readouterr().err.count("\n") == 1


# ---------- W&B


def test_wandb_charts_are_drawn_over_our_step(wandb, tmp_path):
    play("wandb", info(tmp_path))
    assert wandb.runs[0].defined == [("trainer/step", None), ("*", "trainer/step")]


def test_wandb_keeps_every_value_though_steps_repeat_and_go_back(wandb, tmp_path):
    play("wandb", info(tmp_path))
    losses = [(row["trainer/step"], row["train/loss"]) for row in wandb.runs[0].rows if "odd name @ 1" in row]
    assert losses[:4] == [(1, 2.0), (2, 1.5), (2, 1.25), (1, 9.0)]
    assert losses[4][0] == 3
    assert math.isnan(losses[4][1])


def test_wandb_rows_carry_the_time_of_logging_not_of_arriving(wandb, tmp_path):
    play("wandb", info(tmp_path))
    assert wandb.runs[0].rows[0]["_timestamp"] == WALL + 1


def test_wandb_has_the_names_and_units_of_the_reference(wandb, tmp_path):
    play("wandb", info(tmp_path))
    rows = wandb.runs[0].rows
    everything = {name: value for row in rows for name, value in row.items()}
    assert everything["gpu/power"] == 350000
    assert everything["gpu/1/power"] == 250000
    assert everything["gpu/dram_free"] == 8192.0
    assert everything["gpu/pcie_rx"] == 1024.0
    assert everything["gpu/pcie_tx"] == 512.0
    assert everything["moe/aux_loss"] == 0.0234
    assert everything["train/lr"] == 0.0002
    assert everything["eval/loss"] == 2.125
    assert [row["trainer/step"] for row in rows if "eval/loss" in row] == [500]


def test_wandb_shows_memory_by_segment_as_a_pie_once_until_it_changes(wandb, tmp_path):
    play("wandb", info(tmp_path))
    pies = [row for row in wandb.runs[0].rows if "allocator/pie" in row]
    assert len(pies) == 1
    assert pies[0]["allocator/segments"].data == [["weights", 4096.0], ["gradients", 1024.0], ["optimizer", 2048.0]]
    assert "weights: 4,096.0 MiB (57.1%)" in pies[0]["allocator/pie"].html


def test_wandb_gets_what_is_true_of_the_whole_run_as_config(wandb, tmp_path):
    play("wandb", info(tmp_path))
    config = wandb.runs[0].config.values
    assert config["gpu_model/0"] == {"id": 0, "name": "NVIDIA H100 80GB HBM3", "sm_count": 132}
    assert (config["lr"], config["seed"], config["path"]) == (1e-4, 1, "/data")


def test_wandb_histograms_keep_their_buckets_or_join_neighbours(wandb, tmp_path):
    sink = WandB(info(tmp_path))
    sink.histogram("few", histogram(buckets=4))
    sink.histogram("many", histogram(buckets=1500))
    sink.histogram("none", histogram(buckets=0))
    few, many = (row.get("few") or row.get("many") for row in wandb.runs[0].rows)
    assert few.edges.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert (len(many.counts), many.counts.sum(), many.edges[0], many.edges[-1]) == (512, 1500, 0.0, 4.0)
    assert (np.diff(many.edges) > 0).all()


def test_wandb_text_is_shown_as_it_was_written(wandb, tmp_path):
    play("wandb", info(tmp_path))
    page = next(row["samples/text"].html for row in wandb.runs[0].rows if "samples/text" in row)
    assert "a &lt;b&gt; &amp; c" in page


def test_wandb_images_need_no_pillow(wandb, tmp_path, monkeypatch):
    sink = WandB(info(tmp_path))
    with absent(monkeypatch, "PIL"):
        sink.image("picture", png(), step=1, wall_time=WALL)
    assert wandb.runs[0].rows[0]["picture"].html.startswith('<img src="data:image/png;base64,')


@pytest.mark.parametrize(("status", "code"), [("finished", 0), ("failed", 1), ("killed", 255)])
def test_wandb_is_told_how_the_run_ended(wandb, tmp_path, status, code):
    play("wandb", info(tmp_path), status=status)
    assert wandb.runs[0].exit_code == code


def test_wandb_settings_are_arguments_of_init_and_others_are_left_to_it(wandb, tmp_path):
    play("wandb", info(tmp_path, wandb_project="p", wandb_entity=None, wandb_group="g", aim_repo="x"))
    arguments = wandb.inits[0]
    assert (arguments["project"], arguments["group"], arguments["name"]) == ("p", "g", "2026-02-10_012")
    assert not {"entity", "mode", "repo"} & arguments.keys()
    assert (arguments["tags"], arguments["notes"]) == (("first", "long"), "a try")


def test_wandb_variables_of_the_user_win_over_our_defaults(wandb, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_NAME", "mine")
    monkeypatch.setenv("WANDB_CONSOLE", "wrap")
    play("wandb", info(tmp_path))
    assert wandb.inits[0]["name"] is None
    assert "console" not in wandb.inits[0]["settings"]


def test_without_a_login_the_run_is_kept_offline_and_that_is_said(wandb, tmp_path, capsys):
    wandb.fails = ["No API key configured. Use `wandb login` to log in."]
    play("wandb", info(tmp_path))
    assert [arguments.get("mode") for arguments in wandb.inits] == [None, "offline"]
    said = capsys.readouterr().err
    assert "No API key configured" in said
    assert "wandb sync wandb/offline-run-abc123" in said


def test_a_mode_that_was_asked_for_is_not_changed(wandb, tmp_path):
    wandb.fails = ["No API key configured."]
    with pytest.raises(FakeWandb.Error, match="No API key"):
        WandB(info(tmp_path, wandb_mode="online"))
    assert len(wandb.inits) == 1


def test_a_resumed_run_goes_on_in_the_same_wandb_run(wandb, tmp_path):
    play("wandb", info(tmp_path))
    play("wandb", info(tmp_path))
    assert "id" not in wandb.inits[0]
    assert (wandb.inits[1]["id"], wandb.inits[1]["resume"]) == ("abc123", "allow")


def test_a_run_that_is_resumed_offline_is_a_new_wandb_run(wandb, tmp_path, monkeypatch):
    play("wandb", info(tmp_path))
    play("wandb", info(tmp_path, wandb_mode="offline"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    play("wandb", info(tmp_path))
    assert ["id" in arguments for arguments in wandb.inits] == [False, False, False]


# ---------- Aim


def test_aim_keeps_every_value_though_steps_repeat_and_go_back(aim, tmp_path):
    play("aim", info(tmp_path))
    tracked = aim.runs[0].tracked
    assert list(tracked["train/loss", 0])[:3] == [1, 2, 3]
    assert tracked["train/loss", 0][2] == 1.5
    assert tracked["train/loss", 1] == {2: 1.25}
    assert tracked["train/loss", 2] == {1: 9.0}


def test_aim_lines_that_only_rise_have_no_context(aim, tmp_path):
    sink = Aim(info(tmp_path))
    for step in range(5):
        sink.scalars({"a": 1.0}, step=step, wall_time=WALL)
    assert list(aim.runs[0].tracked) == [("a", 0)]


def test_aim_says_once_when_a_step_comes_too_often(aim, tmp_path, capsys):
    sink = Aim(info(tmp_path))
    for value in range(100):
        sink.scalars({"a": value}, step=0, wall_time=WALL)
    assert len(aim.runs[0].tracked) == 16
    assert capsys.readouterr().err.count("\n") == 1


def test_aim_has_the_names_and_units_of_the_reference(aim, tmp_path):
    play("aim", info(tmp_path))
    tracked = aim.runs[0].tracked
    assert tracked["gpu/0/power", 0] == {100: 350000}
    assert tracked["gpu/1/power", 0] == {100: 250000}
    assert tracked["gpu/0/dram_free", 0] == {100: 8192.0}
    assert tracked["gpu/0/pcie_tx", 0] == {100: 512.0}
    assert tracked["allocator/weights_mib", 0] == {0: 4096.0}
    assert tracked["moe/load_imbalance", 0] == {100: 1.45}


def test_aim_settings_config_and_status_arrive(aim, tmp_path):
    play("aim", info(tmp_path, aim_experiment="e", aim_repo="/r", aim_name="n"), status="failed")
    run = aim.runs[0]
    assert (run.arguments["experiment"], run.arguments["repo"], run.name) == ("e", "/r", "n")
    assert run.attributes["hparams"]["lr"] == 1e-4
    assert run.attributes["hparams"]["model"] == {"layers": 12}
    assert (run.attributes["status"], run.closed, run.tags) == ("failed", True, ["first", "long"])


def test_a_resumed_run_goes_on_in_the_same_aim_run(aim, tmp_path):
    play("aim", info(tmp_path))
    aim.locked = {"f00d"}  # by a job that was killed
    play("aim", info(tmp_path))
    assert [run.hash for run in aim.runs] == ["f00d", "f00d"]


def test_a_resumed_run_that_aim_has_lost_is_a_new_one(aim, tmp_path):
    tracker.keep_id(info(tmp_path), "gone", sink="aim")
    play("aim", info(tmp_path))
    assert [run.hash for run in aim.runs] == ["f00d"]


def test_even_bins_hold_the_same_values():
    counts, low, high = evenly_binned(histogram(buckets=4), bins=8)
    assert counts.tolist() == [0.5] * 8
    assert (low, high) == (0.0, 4.0)


def test_even_bins_of_uneven_buckets_hold_the_same_values():
    uneven = Histogram(
        step=0,
        wall_time=WALL,
        lefts=np.array([-np.inf, 0.0, 0.1, 3.0]),
        rights=np.array([0.0, 0.1, 2.0, 3.0]),
        counts=np.array([5.0, 10.0, 20.0, 7.0]),
    )
    counts, low, high = evenly_binned(uneven, bins=3)
    assert (low, high) == (0.0, 3.0)
    assert counts == pytest.approx([10 + 20 * 0.9 / 1.9, 20 * 1.0 / 1.9, 7.0])


def test_a_histogram_of_one_value_has_bins_around_it():
    one = Histogram(step=0, wall_time=WALL, lefts=np.array([2.0]), rights=np.array([2.0]), counts=np.array([9.0]))
    counts, low, high = evenly_binned(one, bins=4)
    assert (counts.sum(), low, high) == (9.0, 1.5, 2.5)


def test_a_histogram_of_nothing_has_no_bins():
    assert len(evenly_binned(histogram(buckets=0), bins=4)[0]) == 0


# ---------- MLflow


def test_mlflow_keeps_every_value_though_steps_repeat_and_go_back(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    losses = [(step, value) for key, value, _, step in mlflow.server.metrics if key == "train/loss"]
    assert losses[:4] == [(1, 2.0), (2, 1.5), (2, 1.25), (1, 9.0)]
    assert len(losses) == 6


def test_mlflow_images_need_no_pillow(mlflow, tmp_path, monkeypatch):
    sink = MLflow(info(tmp_path))
    with absent(monkeypatch, "PIL"):
        sink.image("a/picture", png(), step=7, wall_time=WALL)
    assert mlflow.server.artifacts == {"images/a/picture/000000007.png": png()}


def test_mlflow_names_are_of_the_characters_it_takes_and_never_shared(mlflow, tmp_path):
    sink = MLflow(info(tmp_path))
    for tag in ("loss@1", "loss#1", "/a//../b/", "..", "ä", "x" * 300, "x" * 299):
        sink.scalars({tag: 1.0}, step=0, wall_time=WALL)
    sink.flush()
    names = [key for key, *_ in mlflow.server.metrics]
    assert names[:5] == ["loss_1", "loss_1_2", "a/b", "_", "ä"]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 250 for name in names)


def test_mlflow_metrics_that_come_fast_go_together(mlflow, tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    sink = MLflow(info(tmp_path))
    for step in range(5):
        sink.scalars({"a": 1.0}, step=step, wall_time=WALL)
    assert mlflow.server.batches == [1]  # the first at once, the others are held
    now[0] += 1.0
    sink.scalars({"a": 1.0}, step=5, wall_time=WALL)
    assert mlflow.server.batches == [1, 5]
    sink.scalars({f"many/{n}": 1.0 for n in range(2500)}, step=6, wall_time=WALL)
    assert mlflow.server.batches == [1, 5, 1000, 1000, 500]


def test_mlflow_close_sends_what_is_held(mlflow, tmp_path):
    sink = MLflow(info(tmp_path))
    for step in range(5):
        sink.scalars({"a": 1.0}, step=step, wall_time=WALL)
    sink.close(status="killed")
    assert len(mlflow.server.metrics) == 5
    assert mlflow.server.runs["run0"].status == "KILLED"


def test_an_mlflow_param_that_changes_is_kept_as_a_tag(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    data = mlflow.server.runs["run0"].data
    assert (data.params["lr"], data.params["model.layers"], data.params["seed"]) == ("0.0002", "12", "1")
    assert data.tags["changed.lr"] == "0.0001"


def test_mlflow_settings_arrive_and_the_experiment_is_made_where_it_is_new(mlflow, tmp_path):
    play("mlflow", info(tmp_path, mlflow_tracking_uri="sqlite:///x", mlflow_experiment="e", mlflow_run_name="n"))
    run = mlflow.server.runs["run0"]
    assert mlflow.uris == ["sqlite:///x"]
    assert (run.info.run_name, run.info.experiment_id, run.status) == ("n", "1", "FINISHED")
    assert (run.data.tags["mlflow.note.content"], run.data.tags["pulseboard.tags"]) == ("a try", "first, long")


def test_mlflow_has_the_names_and_units_of_the_reference(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    found = {key: value for key, value, *_ in mlflow.server.metrics}
    assert found["gpu/0/dram_free"] == 8192.0
    assert found["allocator/optimizer_mib"] == 2048.0


def test_a_resumed_run_goes_on_in_the_same_mlflow_run(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    play("mlflow", info(tmp_path))
    assert list(mlflow.server.runs) == ["run0"]


def test_a_resumed_run_that_mlflow_has_lost_is_a_new_one(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    mlflow.server.runs = {"other": mlflow.server.runs["run0"]}
    play("mlflow", info(tmp_path))
    assert list(mlflow.server.runs) == ["other", "run1"]


# ---------- the pie


def test_a_pie_has_a_slice_for_each_segment_that_has_memory():
    svg = pie_svg({"a": 3.0, "b & c": 1.0, "none": 0.0, "nan": math.nan}, unit="MiB", title="t")
    assert svg.count("<path") == 2
    assert "b &amp; c: 1.0 MiB (25.0%)" in svg
    # Three quarters, clockwise from the top, end at the left.
    assert 'd="M0 0L0.00 -100.00A100 100 0 1 1 -100.00 ' in svg


def test_a_pie_of_one_slice_is_a_circle_and_of_none_is_empty():
    assert "<circle" in pie_svg({"a": 3.0}, unit="MiB", title="t")
    assert "<path" not in pie_svg({}, unit="MiB", title="t")


# ---------- for real


def needs(package: str) -> pytest.MarkDecorator:
    found = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not found, reason=f"{package} is not installed: its sink is tested on a stand-in only")


def play_for_real(id: str, directory: Path, *, environment: dict[str, str], **settings: str) -> str:
    """`play` in a process of its own, as a training job would; gives back what it printed."""
    run = {"directory": str(directory / "run"), "settings": settings}
    program = (
        "import json, sys\nfrom pathlib import Path\nfrom record.test_sinks import info, play\n"
        "run = json.loads(sys.argv[2])\nplay(sys.argv[1], info(Path(run['directory']), **run['settings']))\n"
    )
    paths = [str(Path(__file__).parents[1]), str(Path(report.__file__).parents[2])]
    theirs = {name: text for name, text in os.environ.items() if not name.startswith(("WANDB_", "MLFLOW_"))}
    done = subprocess.run(
        [sys.executable, "-c", program, id, json.dumps(run)],
        cwd=directory,
        env={**theirs, "HOME": str(directory), "PYTHONPATH": os.pathsep.join(paths), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr


def wandb_records(directory: Path) -> list:
    """The records of a W&B run's file: LevelDB's log format behind a header of 7 bytes."""
    from wandb.proto import wandb_internal_pb2

    (path,) = {found.resolve() for found in directory.rglob("*.wandb")}
    data, at, part, found = path.read_bytes(), 7, b"", []
    while at + 7 <= len(data):
        room = 32768 - at % 32768
        if room < 7:
            at += room
            continue
        size, kind = struct.unpack_from("<HB", data, at + 4)
        part = data[at + 7 : at + 7 + size] if kind in (1, 2) else part + data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(part)
            found.append(record)
    return found


@needs("wandb")
@pytest.mark.filterwarnings("ignore")
def test_the_real_wandb_keeps_what_it_was_sent(tmp_path):
    said = play_for_real("wandb", tmp_path, environment={"WANDB_MODE": "offline"}, wandb_project="p", wandb_name="n")
    assert said.count("\n") == 1, said
    assert "wandb sync" in said
    records = wandb_records(tmp_path)
    (run,) = [record.run for record in records if record.WhichOneof("record_type") == "run"]
    assert (run.project, run.display_name, list(run.tags), run.notes) == ("p", "n", ["first", "long"], "a try")
    rows = [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
    losses = [(row["trainer/step"], row["train/loss"]) for row in rows if "odd name @ 1" in row]
    assert losses[:4] == [(1, 2.0), (2, 1.5), (2, 1.25), (1, 9.0)]
    assert math.isnan(losses[4][1])
    assert rows[0]["_timestamp"] == WALL + 1
    everything = {name: value for row in rows for name, value in row.items()}
    assert (everything["gpu/power"], everything["gpu/1/power"]) == (350000, 250000)
    assert (everything["gpu/dram_free"], everything["gpu/pcie_rx"], everything["gpu/pcie_tx"]) == (8192, 1024, 512)
    assert (everything["weights/a/_type"], everything["weights/a/bins"]) == ("histogram", [0, 1, 2, 3, 4])
    (pie,) = [row["allocator/pie/path"] for row in rows if "allocator/pie/path" in row]
    (shown,) = list(tmp_path.rglob(f"files/{pie}"))
    assert "weights: 4,096.0 MiB (57.1%)" in shown.read_text(encoding="utf-8")
    (table,) = [row["allocator/segments/path"] for row in rows if "allocator/segments/path" in row]
    (shown,) = list(tmp_path.rglob(f"files/{table}"))
    assert json.loads(shown.read_text(encoding="utf-8"))["data"][0] == ["weights", 4096.0]
    config = {
        update.key: json.loads(update.value_json)
        for record in records
        for update in (*record.config.update, *record.run.config.update)
        if update.key
    }
    assert config["lr"] == 1e-4
    assert config["model"] == {"layers": 12}
    assert config["gpu_model/0"]["sm_count"] == 132
    metrics = {record.metric.glob_name or record.metric.name: record.metric.step_metric for record in records}
    assert metrics["*"] == "trainer/step"


@needs("wandb")
@pytest.mark.filterwarnings("ignore")
def test_the_real_wandb_without_a_login_is_kept_offline(tmp_path):
    # No server is asked: W&B finds no credentials in the empty home, and that ends its first try.
    said = play_for_real("wandb", tmp_path, environment={"NETRC": str(tmp_path / "none")})
    assert "W&B cannot be reached" in said
    assert "wandb sync" in said
    assert [record for record in wandb_records(tmp_path) if record.WhichOneof("record_type") == "history"]


@needs("aim")
@pytest.mark.filterwarnings("ignore")
def test_the_real_aim_keeps_what_it_was_sent(tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    said = play_for_real("aim", tmp_path, environment={}, aim_repo=str(repo), aim_experiment="e", aim_name="n")
    assert said == ""
    import aim
    from aim.sdk.index_manager import RepoIndexManager
    from aim.storage.context import Context

    opened = aim.Repo(str(repo))
    (hash,) = opened.list_all_runs()
    RepoIndexManager.get_index_manager(opened).index(hash)  # Aim's server does it before it reads
    run = aim.Run(hash, repo=opened, read_only=True)
    assert (run.name, run.experiment, run.description) == ("n", "e", "a try")
    assert run["hparams"]["lr"] == 1e-4
    assert run["hparams"]["model"] == {"layers": 12}
    assert run["hparams"]["gpu_model/0"]["sm_count"] == 132
    assert run["status"] == "finished"
    lines = {}
    for metric in run.metrics():
        steps, (values, *_) = metric.data.items_list()
        lines[metric.name, metric.context.to_dict().get("again", 0)] = dict(zip(steps, values, strict=True))
    assert list(lines["train/loss", 0]) == [1, 2, 3, 100]
    assert math.isnan(lines["train/loss", 0].pop(3))
    assert lines["train/loss", 0] == {1: 2.0, 2: 1.5, 100: 2.3456}
    assert (lines["train/loss", 1], lines["train/loss", 2]) == ({2: 1.25}, {1: 9.0})
    assert lines["gpu/0/power", 0] == {100: 350000}
    assert lines["gpu/1/power", 0] == {100: 250000}
    assert lines["gpu/0/dram_free", 0] == {100: 8192}
    assert lines["gpu/0/pcie_rx", 0] == {100: 1024}
    assert lines["allocator/optimizer_mib", 0] == {0: 2048}
    _, ((distribution,), *_) = run.get_distribution_sequence("weights/a", Context({})).data.items_list()
    assert (distribution.range, distribution.weights.sum()) == ([0.0, 4.0], 4.0)
    _, ((text,), *_) = run.get_text_sequence("samples/text", Context({})).data.items_list()
    assert text.data == "a <b> & c"
    _, ((image,), *_) = run.get_image_sequence("samples/image", Context({})).data.items_list()
    assert image.size == (2, 1)


@needs("mlflow")
@pytest.mark.filterwarnings("ignore")
def test_the_real_mlflow_keeps_what_it_was_sent(tmp_path, monkeypatch):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    settings = {"mlflow_tracking_uri": uri, "mlflow_experiment": "e", "mlflow_run_name": "n"}
    # Nothing is sent to MLflow's makers from here.
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet"}
    said = play_for_real("mlflow", tmp_path, environment={**quiet, "PYTHONWARNINGS": "ignore"}, **settings)
    assert said == ""
    for name, value in quiet.items():
        monkeypatch.setenv(name, value)
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("e")
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.run_name, run.info.status) == ("n", "FINISHED")
    assert (run.data.params["lr"], run.data.params["model.layers"]) == ("0.0002", "12")
    assert run.data.tags["changed.lr"] == "0.0001"
    assert run.data.tags["mlflow.note.content"] == "a try"

    def history(name: str) -> list[tuple[int, float]]:
        return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, name)]

    losses = history("train/loss")
    assert math.isnan(dict(losses)[3])
    kept = sorted((step, loss) for step, loss in losses if step != 3)
    assert kept == [(1, 2.0), (1, 9.0), (2, 1.25), (2, 1.5), (100, 2.3456)]
    times = {point.timestamp for point in client.get_metric_history(run.info.run_id, "train/loss") if point.step == 1}
    assert times == {int((WALL + 1) * 1000)}
    assert sorted(history("odd name _ 1")) == [(1, 1), (2, 2), (3, 3)]  # of equal points MLflow keeps one
    assert (history("gpu/0/power"), history("gpu/1/power")) == ([(100, 350000)], [(100, 250000)])
    assert (history("gpu/0/dram_free"), history("gpu/0/pcie_tx")) == ([(100, 8192)], [(100, 512)])
    assert history("allocator/weights_mib") == [(0, 4096)]
    files = [path.path for path in client.list_artifacts(run.info.run_id, "text/samples/text")]
    assert files == ["text/samples/text/000000003.md"]
    assert client.list_artifacts(run.info.run_id, "images")
