"""Which files of a remote directory are fetched."""

import pytest
from remote_hosts.store import MemoryStore

import pulseboard as pb
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.remote import stores
from pulseboard.read.remote.store import RemoteFile
from pulseboard.read.remote.wanted import wanted_files
from pulseboard.read.runs import Runs


def chosen(*names, top="/cache/files/runs"):
    return {one.file.name for one in wanted_files([RemoteFile(name, 10, 0) for name in names], top=top)}


def test_event_files_and_what_a_recorded_run_says_about_itself_are_fetched():
    events = "a/logs/tensorboard/events.out.tfevents.1"
    assert chosen(events, "a/run.json", "a/module_tree.json", "a/findings.json") == {
        events, "a/run.json", "a/module_tree.json",
    }  # fmt: skip


def test_the_json_log_is_fetched_only_where_it_is_the_only_log():
    assert chosen("a/training.json") == {"a/training.json"}
    assert chosen("a/training.json", "a/logs/tensorboard/events.out.tfevents.1") == {
        "a/logs/tensorboard/events.out.tfevents.1"
    }


@pytest.mark.parametrize("name", "model.pt last.ckpt a.bin a.safetensors a.png a.npy tokenizer.json train.py".split())
def test_weights_media_and_code_are_not_fetched(name):
    assert chosen(f"a/{name}", "a/log.csv") == {"a/log.csv"}


def test_logs_in_directories_of_other_peoples_files_are_not_fetched():
    assert chosen("node_modules/x/log.csv", ".git/log.txt", "a/log.csv") == {"a/log.csv"}


def test_a_configuration_is_fetched_only_next_to_a_log_that_uses_it():
    logs = {"a/metrics.csv", "b/tb/events.out.tfevents.1"}
    used = {"a/hparams.yaml", "b/args.json", "b/.hydra/config.yaml", "b/tb/opt.txt"}
    assert chosen(*logs, *used, "a/x.yaml", "c/hparams.yaml", "c/args.json", "c/.hydra/config.yaml") == logs | used


def test_a_large_configuration_is_not_fetched():
    files = [RemoteFile("a/events.out.tfevents.1", 10, 0), RemoteFile("a/args.json", 3 << 20, 0)]
    assert [one.file.name for one in wanted_files(files, top="/cache")] == ["a/events.out.tfevents.1"]


def uploaded(directory):
    """The files of a directory, as a store."""
    files = {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    return MemoryStore(files, url=f"s3://memory/{directory.name}")


def same_as_local(directory, monkeypatch):
    """The runs of a directory, after checking that a remote copy has the same ones with the same configuration."""
    store = uploaded(directory)
    monkeypatch.setattr(stores, "open_store", lambda url, *, links_out: store)
    remote, local = Runs(log_directories_from([str(store.url)])), pb.read(directory)
    remote.refresh()
    assert set(remote) == set(local)
    for name, run in local.items():
        assert remote[name].config() == run.config()
        assert remote[name].format == run.format
        for tag in run.tags("scalar"):
            assert remote[name].series(tag).values.tolist() == run.series(tag).values.tolist()
    return local


def test_mlflow_is_read_with_its_parameters(tmp_path, monkeypatch):
    run = tmp_path / "mlruns" / "0" / "abc"
    for name, text in {
        "meta.yaml": "run_name: quick-fox-1\nrun_id: abc\n",
        "metrics/loss": "1700000000000 1.5 0\n1700000001000 0.5 1\n",
        "metrics/val/acc": "1700000000000 0.1 0\n",
        "params/lr": "0.1",
        "params/opt/name": "adam",
        "artifacts/model.pt": "weights",
    }.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(text)
    (local,) = same_as_local(tmp_path / "mlruns", monkeypatch).values()
    assert {"lr", "opt/name"} <= set(local.config())


def test_lightning_is_read_with_its_hyperparameters(tmp_path, monkeypatch):
    version = tmp_path / "lightning_logs" / "version_0"
    version.mkdir(parents=True)
    (version / "metrics.csv").write_text(
        "epoch,step,train_loss\n" + "".join(f"0,{i},{1 / (i + 1)}\n" for i in range(9))
    )
    (version / "hparams.yaml").write_text("lr: 0.1\n")
    (local,) = same_as_local(tmp_path / "lightning_logs", monkeypatch).values()
    assert local.config() == {"lr": 0.1}
