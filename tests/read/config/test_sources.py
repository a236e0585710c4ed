"""Where the configuration of a run is found, and where it is not looked for."""

import json
import os

import pytest

import pulseboard as pb
from pulseboard.read.config.files import CONFIG_FILES
from pulseboard.read.config.sources import config_sources

CSV = "epoch,loss\n" + "".join(f"{i},{1 / (i + 1)}\n" for i in range(5))


def log_in(directory, name="log.csv"):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(CSV)
    return directory


def found_in(directory, **more):
    (run,) = pb.read(directory).values()
    sources, notes = config_sources(run, **more)
    return [(one.where, one.values) for one in sources], [note.what for note in notes]


@pytest.mark.parametrize("name", [name for name in CONFIG_FILES if name != "wandb-metadata.json"])
def test_a_configuration_next_to_the_log_is_found(tmp_path, name):
    text = json.dumps({"lr": 0.1}) if name.endswith("json") else "lr: 0.1\n"
    text = "lr: 0.1\nb: 2\nc: 3\n" if name.endswith("txt") else text
    (log_in(tmp_path) / name).write_text(text)
    ((where, values),), notes = found_in(tmp_path)
    assert (where, values["lr"], notes) == (name, 0.1, [])


def test_a_configuration_above_a_directory_of_logs_is_found(tmp_path):
    log_in(tmp_path / "exp" / "tensorboard" / "version_0")
    (tmp_path / "exp" / "args.yaml").write_text("lr: 0.1")
    assert found_in(tmp_path)[0] == [("args.yaml", {"lr": 0.1})]


def test_a_configuration_above_a_directory_of_runs_is_not_theirs(tmp_path):
    log_in(tmp_path / "exp" / "first")
    (tmp_path / "exp" / "args.yaml").write_text("lr: 0.1")
    assert found_in(tmp_path) == ([], [])


def test_hydra_keeps_the_configuration_of_all_that_is_below(tmp_path):
    log_in(tmp_path / "12-30-00" / "any" / "name")
    (tmp_path / "12-30-00" / ".hydra").mkdir()
    (tmp_path / "12-30-00" / ".hydra" / "config.yaml").write_text("optimizer: {name: adam}")
    assert found_in(tmp_path)[0] == [("config.yaml", {"optimizer": {"name": "adam"}})]


def test_a_directory_of_several_runs_says_nothing_about_one_of_them(tmp_path):
    log_in(tmp_path)
    (tmp_path / "config.json").write_text('{"lr": 0.1}')
    assert len(found_in(tmp_path)[0]) == 1
    assert found_in(tmp_path, shared=[str(tmp_path)])[0] == []


def test_the_values_that_wandb_wraps_are_unwrapped_and_its_command_line_is_read(tmp_path):
    files = log_in(tmp_path) / "files"
    files.mkdir()
    (files / "config.yaml").write_text("wandb_version: 1\n_wandb: {value: {t: 1}}\nlr: {desc: null, value: 0.1}\n")
    (files / "wandb-metadata.json").write_text(json.dumps({"args": ["--epochs", "5"], "os": "linux"}))
    assert found_in(tmp_path)[0] == [("config.yaml", {"lr": 0.1}), ("wandb-metadata.json", {"epochs": 5})]


def test_a_text_of_the_log_is_a_configuration_if_its_tag_says_so(tmp_path):
    with pb.SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_text("args", '{"optim": "adamw_torch", "fp16": true}')
        writer.add_text("hyperparameters", "|param|value|\n|-|-|\n|lr|0.1|")
        writer.add_text("sample", '{"lr": 99}')
    found = dict(found_in(tmp_path)[0])
    assert [values for where, values in found.items() if "args" in where] == [{"optim": "adamw_torch", "fp16": True}]
    assert [values for where, values in found.items() if "hyper" in where] == [{"lr": 0.1}]
    assert not any("sample" in where for where in found)


def test_links_large_files_pipes_and_damage_are_left_out_with_a_note(tmp_path):
    secret = tmp_path / "secret.yaml"
    secret.write_text("lr: 0.1")
    directory = log_in(tmp_path / "run")
    (directory / "args.yaml").symlink_to(secret)
    (directory / "hparams.yaml").write_text("a: [1,\nb: }")
    (directory / "config.yaml").write_text("a: " + "x" * (3 << 20))
    os.mkfifo(directory / "opt.yaml")
    found, notes = found_in(directory)
    assert found == []
    for reason in ("a symbolic link", "not valid YAML", "larger than 2 MiB", "not a regular file"):
        assert sum(reason in note for note in notes) == 1
