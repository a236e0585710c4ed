"""The sinks with the real W&B, Aim and MLflow, if they are installed."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from record.sinks.played_run import (
    WALL,
)

from pulseboard.record import messages


def needs(package: str) -> pytest.MarkDecorator:
    found = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not found, reason=f"{package} is not installed: its sink is tested with a fake only")


def play_for_real(id: str, directory: Path, *, environment: dict[str, str], quiet: bool = True, **settings: str) -> str:
    """`play` in its own process, as a training would; returns what it printed."""
    run = {"directory": str(directory / "run"), "settings": settings}
    program = (
        "import json, sys\nfrom pathlib import Path\nfrom record.sinks.played_run import info, play\n"
        "run = json.loads(sys.argv[2])\nplay(sys.argv[1], info(Path(run['directory']), **run['settings']))\n"
    )
    paths = [str(Path(__file__).parents[2]), str(Path(messages.__file__).parents[2])]
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
    assert not (quiet and done.stdout), done.stdout
    return done.stderr


def wandb_records(directory: Path) -> list:
    """The records of a W&B run's file: LevelDB's log format behind a header of 7 bytes."""
    from wandb.proto import wandb_internal_pb2

    paths = [directory] if directory.is_file() else directory.rglob("*.wandb")
    (path,) = {found.resolve() for found in paths}
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
    stderr = play_for_real("wandb", tmp_path, environment={"WANDB_MODE": "offline"}, wandb_project="p", wandb_name="n")
    assert stderr.count("\n") == 1, stderr
    assert "wandb sync" in stderr
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
    stderr = play_for_real("wandb", tmp_path, environment={"NETRC": str(tmp_path / "none")})
    assert "W&B cannot be reached" in stderr
    assert "wandb sync" in stderr
    assert [record for record in wandb_records(tmp_path) if record.WhichOneof("record_type") == "history"]


@needs("wandb")
@pytest.mark.filterwarnings("ignore")
def test_the_real_wandb_with_a_key_and_no_network_is_kept_offline(tmp_path):
    # Nothing listens on port 9 of this machine.
    unreachable = {"WANDB_API_KEY": "0" * 40, "WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_INIT_TIMEOUT": "3"}
    stderr = play_for_real("wandb", tmp_path, environment=unreachable, quiet=False)  # W&B prints where its logs are
    assert "W&B cannot be reached" in stderr
    (path,) = {found.resolve() for found in tmp_path.rglob("offline-run-*/*.wandb")}
    assert [record for record in wandb_records(path) if record.WhichOneof("record_type") == "history"]


@needs("aim")
@pytest.mark.filterwarnings("ignore")
def test_the_real_aim_keeps_what_it_was_sent(tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    stderr = play_for_real("aim", tmp_path, environment={}, aim_repo=str(repo), aim_experiment="e", aim_name="n")
    assert stderr == ""
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


# MLflow takes many times as long as the others to create its database. `make test` has its sink with a fake, and reads
# what the real one writes (tests/read/formats/test_mlflow.py).
@pytest.mark.long
@needs("mlflow")
@pytest.mark.filterwarnings("ignore")
def test_the_real_mlflow_keeps_what_it_was_sent(tmp_path, monkeypatch):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    settings = {"mlflow_tracking_uri": uri, "mlflow_experiment": "e", "mlflow_run_name": "n"}
    # Nothing is sent to MLflow's makers from here.
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet"}
    stderr = play_for_real("mlflow", tmp_path, environment={**quiet, "PYTHONWARNINGS": "ignore"}, **settings)
    assert stderr == ""
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
