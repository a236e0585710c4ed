"""Settings: where they can be set, which source wins, what a typo gets, and how sinks declare theirs."""

import json
import subprocess
import sys

import pytest

from pulseboard.record.setting import BadSetting, Setting
from pulseboard.record.settings import Settings, load_settings
from pulseboard.record.sink import RunInfo, Sink, built_in_sinks, sink, sink_class
from pulseboard.record.sink_runner import SinkRunner


def load(file=None, *, directory, environment=None, **arguments):
    return load_settings(file, environment=environment or {}, directory=directory, **arguments)


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_any_file_the_defaults_apply(tmp_path):
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
def test_report_to_is_one_sink_or_several(tmp_path, text, sinks):
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
    assert (settings.sinks["wandb_project"], settings.sinks["aim_repo"], settings.sinks["verbosity"]) == (
        "my-project",
        "/path/to/aim",
        1,
    )
    assert settings.sinks["log_file"] == "./output/training.json"
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
    assert (settings.report_to, settings.sinks["wandb_project"]) == (("wandb",), "p")


@pytest.mark.parametrize(
    ("text", "sinks"),
    [
        ("", ("tensorboard",)),
        ("report_to: wandb", ("tensorboard", "json", "console", "wandb")),
        ("report_to: [wandb, json]", ("wandb", "json")),
        ("report_to: none", ()),
        ("report_to: wandb\nlocal_logs: false", ("wandb",)),
        ("wandb: {enabled: true}", ("tensorboard", "wandb")),
        ("wandb: {enabled: true}\ntensorboard: {enabled: false}", ("json", "console", "wandb")),
        ("tensorboard: {enabled: false}", ()),
    ],
)
def test_external_sinks_alone_turn_the_local_ones_on(tmp_path, text, sinks):
    assert load(written(tmp_path / "c.yaml", text), directory=tmp_path)[0].active_sinks() == sinks


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
        ("wandb: {projct: x}", "The closest is 'project'"),
        ("logging: {log_dirr: x}", "The closest is 'log_dir'"),
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


def test_a_key_that_is_not_similar_to_a_setting_belongs_to_the_training(tmp_path):
    file = written(tmp_path / "c.yaml", "learning_rate: 1\nseed: 2\noptimizer: adam")
    assert load(file, directory=tmp_path)[1] == {"learning_rate": 1, "seed": 2, "optimizer": "adam"}


def test_a_missing_file_and_a_wrong_argument_are_errors(tmp_path):
    with pytest.raises(BadSetting, match="No such file"):
        load(tmp_path / "absent.yaml", directory=tmp_path)
    with pytest.raises(BadSetting, match="closest is 'verbosity'"):
        load(directory=tmp_path, verbosty=1)
    with pytest.raises(BadSetting, match="PULSEBOARD_REPORT_TO"):
        load(directory=tmp_path, environment={"PULSEBOARD_REPORTTO": "x"})


# ---- settings of sinks


def settings_of(*sinks):
    return {setting.name: setting for sink in sinks for setting in sink_class(sink).settings}


def test_every_setting_of_a_sink_is_declared_in_its_file():
    assert list(settings_of("console", "json", "wandb", "aim", "mlflow")) == [
        "verbosity",
        "log_file",
        "wandb_project",
        "wandb_name",
        "wandb_entity",
        "wandb_mode",
        "aim_experiment",
        "aim_repo",
        "aim_name",
        "mlflow_tracking_uri",
        "mlflow_experiment",
        "mlflow_run_name",
    ]
    assert settings_of("wandb")["wandb_project"].variable == "PULSEBOARD_WANDB_PROJECT"
    assert all(setting.help for setting in settings_of(*built_in_sinks()).values())


def test_a_sink_is_one_file_and_its_settings_are_found_there(tmp_path, monkeypatch):
    """As if the file were in record/sinks/: nothing else has to change."""
    monkeypatch.setattr("pulseboard.record.sink._registry", {})

    @sink(id="carrier", settings=[Setting("carrier_pigeons", "how many", int, default=2, key="pigeons")])
    class Carrier(Sink):
        pass

    assert load(directory=tmp_path, carrier_pigeons="3")[0].sinks == {"carrier_pigeons": 3}
    environment = {"PULSEBOARD_CARRIER_PIGEONS": "4"}
    assert load(directory=tmp_path, environment=environment)[0].sinks == {"carrier_pigeons": 4}
    file = written(tmp_path / "c.yaml", "carrier: {enabled: true, pigeons: 5}")
    settings, config = load(file, directory=tmp_path)
    assert (settings.report_to, settings.sinks, config) == (("tensorboard", "carrier"), {"carrier_pigeons": 5}, {})
    with pytest.raises(BadSetting, match="'carrier_pigeons' must be a whole number, not 'many'"):
        load(directory=tmp_path, carrier_pigeons="many")


def test_a_sink_gets_the_defaults_that_it_declares(monkeypatch, tmp_path):
    monkeypatch.setattr("pulseboard.record.sink._registry", {})
    given = []

    @sink(id="carrier", settings=[Setting("carrier_pigeons", type=int, default=2), Setting("carrier_name")])
    class Carrier(Sink):
        def __init__(self, info):
            given.append(info.settings)

    run_info = RunInfo("a", str(tmp_path), settings={"carrier_name": "x", "port": 1})
    SinkRunner("carrier", run_info, strict=True).close(status="finished")
    assert given == [{"carrier_pigeons": 2, "carrier_name": "x", "port": 1}]


def test_sinks_are_not_imported_to_read_general_settings():
    code = (
        "import sys\nfrom pulseboard.record.settings import load_settings\n"
        "load_settings(environment={}, runs_dir='r', report_to=['json', 'wandb'], strict=True)\n"
        "print([name for name in sys.modules if name.startswith('pulseboard.record.sinks')])\n"
        "load_settings(environment={}, report_to=['json'], log_file='x')\n"
        "print([name for name in sys.modules if name.startswith('pulseboard.record.sinks.')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['pulseboard.record.sinks.json']"]


def test_report_to_that_is_not_a_name_is_an_error(tmp_path):
    with pytest.raises(BadSetting, match="'report_to' must be a sink's name or a list of names, not 5"):
        load(directory=tmp_path, report_to=5)
