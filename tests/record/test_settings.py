"""Settings: each place they may stand in, which of them counts, and what a slip of the pen gets."""

import json

import pytest

from pulseboard.record.settings import BadSetting, Settings, load_settings


def load(file=None, *, directory, environment=None, **arguments):
    return load_settings(file, environment=environment or {}, directory=directory, **arguments)


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_any_file_the_defaults_hold(tmp_path):
    assert load(directory=tmp_path) == (Settings(), {})


def test_the_project_file_is_found_by_itself(tmp_path):
    written(tmp_path / "configs" / "tensorboard.json", '{"runs_dir": "r", "port": 7007, "histogram_interval": 0}')
    settings, config = load(directory=tmp_path)
    assert (settings.runs_dir, settings.port, settings.histogram_interval) == ("r", 7007, 0)
    assert config == {}


@pytest.mark.parametrize(
    ("text", "sinks"),
    [("report_to: wandb", ("wandb",)), ("report_to: [wandb, aim]", ("wandb", "aim")), ("report_to: none", ())],
)
def test_report_to_names_one_sink_or_several(tmp_path, text, sinks):
    assert load(written(tmp_path / "c.yaml", text), directory=tmp_path)[0].report_to == sinks


def test_the_flat_yaml_of_a_trainer_sets_its_sinks_and_keeps_the_rest_as_config(tmp_path):
    file = written(
        tmp_path / "config.yaml",
        """
report_to: [wandb, aim]
wandb_project: my-project
aim_repo: /path/to/aim
log_file: ./output/training.json
verbosity: 1
learning_rate: 0.0002
model: {layers: 12}
""",
    )
    settings, config = load(file, directory=tmp_path)
    assert settings.report_to == ("wandb", "aim")
    assert (settings.wandb_project, settings.aim_repo, settings.verbosity) == ("my-project", "/path/to/aim", 1)
    assert settings.log_file == "./output/training.json"
    assert config == {"learning_rate": 0.0002, "model": {"layers": 12}}


def test_the_blocks_of_a_yaml_file_switch_sinks_on_and_off(tmp_path):
    file = written(
        tmp_path / "config.yaml",
        """
logging:
  log_dir: results/logs
  log_frequency: 50
  experiment_name: hjepa_run_1
  tensorboard:
    enabled: true
wandb:
  enabled: false
masking:
  num_masks: 4
""",
    )
    settings, config = load(file, directory=tmp_path)
    assert (settings.runs_dir, settings.log_frequency, settings.run_id) == ("results/logs", 50, "hjepa_run_1")
    assert settings.report_to == ("tensorboard",)
    assert config == {"masking": {"num_masks": 4}}
    on = written(tmp_path / "on.yaml", "wandb: {enabled: true, project: p}\ntensorboard: {enabled: false}")
    settings, _ = load(on, directory=tmp_path)
    assert (settings.report_to, settings.wandb_project) == (("wandb",), "p")


def test_arguments_win_over_the_environment_over_the_file_over_the_project(tmp_path):
    written(tmp_path / "configs" / "tensorboard.json", '{"port": 1, "runs_dir": "project", "histogram_interval": 1}')
    file = written(tmp_path / "s.json", json.dumps({"port": 2, "runs_dir": "file", "verbosity": 1}))
    environment = {"PULSEBOARD_PORT": "3", "PULSEBOARD_REPORT_TO": "json,console"}
    settings, _ = load(file, directory=tmp_path, environment=environment, port=4, runs_dir=None)
    assert settings.port == 4
    assert settings.runs_dir == "file"
    assert settings.histogram_interval == 1
    assert settings.report_to == ("json", "console")
    assert load(file, directory=tmp_path, environment=environment)[0].port == 3


def test_the_environment_may_name_the_file(tmp_path):
    file = written(tmp_path / "s.yaml", "port: 9")
    assert load(directory=tmp_path, environment={"PULSEBOARD_SETTINGS": str(file)})[0].port == 9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("report_too: wandb", "Did you mean 'report_to'"),
        ("wandb: {projct: x}", "The nearest is 'project'"),
        ("logging: {log_dirr: x}", "The nearest is 'log_dir'"),
        ("wandb: yes", "must hold keys and values"),
        ("verbosity: loud", "must be a whole number, not 'loud'"),
        ("port: 6006.5", "must be a whole number"),
        ("strict: perhaps", "must be true or false"),
        ("[1, 2]", "keys and values at the top level"),
        ("a: [", "cannot be read"),
    ],
)
def test_a_wrong_file_is_an_error_that_says_what_and_where(tmp_path, text, says):
    file = written(tmp_path / "c.yaml", text)
    with pytest.raises(BadSetting, match="(?s)" + says):
        load(file, directory=tmp_path)


def test_a_key_of_the_training_that_resembles_none_of_ours_is_left_alone(tmp_path):
    file = written(tmp_path / "c.yaml", "learning_rate: 1\nseed: 2\noptimizer: adam")
    assert load(file, directory=tmp_path)[1] == {"learning_rate": 1, "seed": 2, "optimizer": "adam"}


def test_a_missing_file_and_a_wrong_argument_are_told(tmp_path):
    with pytest.raises(BadSetting, match="No such file"):
        load(tmp_path / "absent.yaml", directory=tmp_path)
    with pytest.raises(BadSetting, match="nearest is 'verbosity'"):
        load(directory=tmp_path, verbosty=1)
    with pytest.raises(BadSetting, match="PULSEBOARD_REPORT_TO"):
        load(directory=tmp_path, environment={"PULSEBOARD_REPORTTO": "x"})
