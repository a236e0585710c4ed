"""Settings: what can be configured, where it is looked for, and which place counts.

From the weakest to the strongest:

1. the defaults below
2. `configs/tensorboard.json` in the working directory: runs_dir, port, histogram_interval
3. the YAML or JSON file given as `settings_file` (or named by PULSEBOARD_SETTINGS)
4. environment variables: PULSEBOARD_ and the setting's name in capitals
5. arguments of the call

A key that is ours but does not exist is an error that names the nearest one. A file may also hold the
training's own keys: those at the top level that resemble none of ours are handed back as its config.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulseboard.core.errors import PulseboardError

PROJECT_FILE = Path("configs") / "tensorboard.json"
_PREFIX = "PULSEBOARD_"
# Closer than this to one of our keys, a key at the top level is taken for a slip of the pen.
_SLIP = 0.8


class BadSetting(PulseboardError, ValueError):
    """A setting that does not exist, or whose value is of the wrong kind."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Names as the systems have them that it was learned from."""

    runs_dir: str = "runs"  # below which runs are made
    run_id: str | None = None  # a run's own name, in place of <date>_<number>
    run_tag: str | None = None  # what follows the id: 2026-02-10_012-<run tag>
    report_to: tuple[str, ...] = ("tensorboard",)  # tensorboard, json, console, wandb, aim, mlflow, …
    log_file: str | None = None  # of the JSON log; training.json in the run's directory where it is None
    verbosity: int = 0  # of the console: -1 evaluations only, 0 normal, 1 telemetry too
    log_frequency: int = 100  # steps between measurements that are not made at every step
    histogram_interval: int = 100  # steps between histograms; 0: none
    port: int = 6006  # of the dashboard
    telemetry_secs: float = 10.0  # between samples of GPU, memory and host; 0: none
    strict: bool = False  # raise where a job would only be told
    webhook: str | None = None  # where live diagnosis posts warnings and critical findings, as Slack takes them
    wandb_project: str | None = None
    wandb_name: str | None = None
    wandb_entity: str | None = None
    wandb_mode: str | None = None  # online, offline, disabled
    aim_experiment: str | None = None
    aim_repo: str | None = None
    aim_name: str | None = None
    mlflow_tracking_uri: str | None = None
    mlflow_experiment: str | None = None
    mlflow_run_name: str | None = None


_FIELDS = {field.name: field for field in dataclasses.fields(Settings)}
# Blocks of a YAML file and what their keys set. `enabled` adds or removes the block's sink.
_BLOCKS: dict[str, dict[str, str]] = {
    "logging": {"log_dir": "runs_dir", "log_frequency": "log_frequency", "experiment_name": "run_id"},
    "tensorboard": {"runs_dir": "runs_dir", "port": "port", "histogram_interval": "histogram_interval"},
    "wandb": {"project": "wandb_project", "name": "wandb_name", "entity": "wandb_entity", "mode": "wandb_mode"},
    "aim": {"experiment": "aim_experiment", "repo": "aim_repo", "name": "aim_name"},
    "mlflow": {
        "tracking_uri": "mlflow_tracking_uri",
        "experiment": "mlflow_experiment",
        "run_name": "mlflow_run_name",
    },
}


def load_settings(
    file: str | os.PathLike[str] | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    directory: str | os.PathLike[str] = ".",
    **arguments: Any,
) -> tuple[Settings, dict[str, Any]]:
    """The settings in force, and what a file holds besides: the training's own configuration.

    An argument that is None counts as not given.
    """
    chosen: dict[str, Any] = {}
    config: dict[str, Any] = {}
    project = Path(directory) / PROJECT_FILE
    if project.is_file():
        chosen.update(_block(_read(project), "tensorboard", where=str(project)))
    file = file or environment.get(_PREFIX + "SETTINGS")
    if file:
        found, config = _from_file(_read(Path(file)), where=os.fspath(file), before=chosen)
        chosen.update(found)
    chosen.update(_from_environment(environment))
    for key, value in arguments.items():
        if value is not None:
            chosen[_known(key, where="the call")] = value
    return Settings(**{key: _typed(key, value) for key, value in chosen.items()}), config


def _from_file(told: Mapping[str, Any], *, where: str, before: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    chosen: dict[str, Any] = {}
    config: dict[str, Any] = {}
    for key, value in told.items():
        if key in _FIELDS:
            chosen[key] = value
        elif key not in _BLOCKS:
            if near := difflib.get_close_matches(key, [*_FIELDS, *_BLOCKS], n=1, cutoff=_SLIP):
                raise BadSetting(f"There is no setting {key!r}. Did you mean {near[0]!r}? In {where}")
            config[key] = value
    for name in _BLOCKS:
        if name in told:
            report_to = _names(chosen.get("report_to", before.get("report_to", Settings().report_to)))
            # A key at the top level is more particular than one in a block.
            chosen = {**_block(told[name], name, where=where), **chosen}
            chosen["report_to"] = _switched(name, told[name], report_to)
    return chosen, config


def _block(told: Any, name: str, *, where: str) -> dict[str, Any]:
    if not isinstance(told, Mapping):
        raise BadSetting(f"{name!r} must hold keys and values, not {told!r}. In {where}")
    keys = _BLOCKS[name]
    chosen: dict[str, Any] = {}
    for key, value in told.items():
        if key in keys:
            chosen[keys[key]] = value
        elif name == "logging" and key in _BLOCKS:
            chosen.update(_block(value, key, where=where))
        elif key != "enabled":
            near = difflib.get_close_matches(key, [*keys, "enabled"], n=1, cutoff=0.0)[0]
            raise BadSetting(f"There is no setting {key!r} in {name!r}. The nearest is {near!r}. In {where}")
    return chosen


def _switched(name: str, told: Mapping[str, Any], report_to: tuple[str, ...]) -> tuple[str, ...]:
    """The sinks, with those added or removed that a block enables or disables."""
    nested = [(inner, block) for inner, block in told.items() if name == "logging" and inner in _BLOCKS]
    for sink, block in [(name, told), *nested]:
        if isinstance(block, Mapping) and "enabled" in block and sink != "logging":
            report_to = tuple(s for s in report_to if s != sink) + ((sink,) if block["enabled"] else ())
    return report_to


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, text in environment.items():
        key = name.removeprefix(_PREFIX).lower()
        if not name.startswith(_PREFIX) or key == "settings":
            continue
        if key in _FIELDS:
            chosen[key] = text.split(",") if key == "report_to" else text
        elif near := difflib.get_close_matches(key, _FIELDS, n=1, cutoff=_SLIP):
            raise BadSetting(
                f"There is no setting {name}. Did you mean {_PREFIX}{near[0].upper()}? In the environment."
            )
    return chosen


def _known(key: str, *, where: str) -> str:
    if key not in _FIELDS:
        near = difflib.get_close_matches(key, _FIELDS, n=1, cutoff=0.0)[0]
        raise BadSetting(f"There is no setting {key!r} in {where}. The nearest is {near!r}.")
    return key


def _names(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else list(value or ())
    return tuple(dict.fromkeys(str(name).strip() for name in names if str(name).strip() not in ("", "none")))


def _typed(key: str, value: Any) -> Any:
    """The value as the setting's type; words from files and the environment included."""
    if key == "report_to":
        return _names(value)
    kind = str(_FIELDS[key].type).removesuffix(" | None")
    if value is None or (value == "" and kind == "str"):
        return None
    try:
        if kind == "bool":
            words = {
                "1": True,
                "true": True,
                "yes": True,
                "on": True,
                "0": False,
                "false": False,
                "no": False,
                "off": False,
            }
            return words[str(value).lower()]
        if kind == "int":
            if isinstance(value, float) and not value.is_integer():
                raise ValueError
            return int(value)
        if kind == "float":
            return float(value)
    except (KeyError, ValueError, TypeError):
        raise BadSetting(f"The setting {key!r} must be {_an(kind)}, not {value!r}.") from None
    return str(value)


def _an(kind: str) -> str:
    return {"int": "a whole number", "float": "a number", "bool": "true or false"}.get(kind, kind)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadSetting(f"The settings cannot be read: {error.strerror}. Check the path: {path}") from error
    try:
        told = json.loads(text) if path.suffix == ".json" else _yaml(text)
    except ValueError as error:
        raise BadSetting(f"The settings cannot be read: {error}. In {path}") from error
    if told is None:
        return {}
    if not isinstance(told, Mapping):
        raise BadSetting(f"The settings must be keys and values at the top level. In {path}")
    return told


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error).replace("\n", " ")) from error
