"""Settings: what can be configured, and where.

Sources of settings, later ones win:

1. the defaults below, and those that sinks declare (record/sinks/)
2. `configs/tensorboard.json` in the working directory: runs_dir, port, histogram_interval
3. the YAML or JSON file given as `settings_file`, or by the environment variable PULSEBOARD_SETTINGS
4. environment variables: PULSEBOARD_ and the setting's name in capitals
5. arguments of the call

An unknown name is an error that suggests the closest known one. A settings file may also hold the training's own
configuration: top-level keys that are not similar to any setting are returned as such.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulseboard.record.setting import VARIABLE_PREFIX, BadSetting, Setting
from pulseboard.record.sink import built_in_sinks, registered_sinks, sink_class

PROJECT_FILE = Path("configs") / "tensorboard.json"
# What stays on this machine: event file, JSON log, console.
LOCAL_SINKS = ("tensorboard", "json", "console")
# A key at least this similar to a setting's name is taken for a typo, not for the training's own.
_TYPO_SIMILARITY = 0.8


@dataclass(frozen=True, slots=True)
class Settings:
    """The general settings, and the values of the sinks' own settings that were given."""

    runs_dir: str = "runs"  # the log directory, in which runs are created
    run_id: str | None = None  # the run's name, instead of <date>_<number>
    run_tag: str | None = None  # appended to the id: 2026-02-10_012-<run tag>
    report_to: tuple[str, ...] = ("tensorboard",)  # tensorboard, json, console, wandb, aim, mlflow, …
    local_logs: bool = True  # if report_to names no local sink, turn on event file, JSON log and console
    log_frequency: int = 100  # steps between measurements that are not made at every step
    histogram_interval: int = 100  # steps between histograms; 0: none
    port: int = 6006  # of the dashboard
    telemetry_secs: float = 10.0  # between samples of GPU, memory and host; 0: none
    strict: bool = False  # raise errors instead of printing them
    # Of live diagnosis, which any run may start: where to post warnings and critical findings, in Slack's format.
    webhook: str | None = None
    sinks: Mapping[str, Any] = field(default_factory=dict)  # name -> value
    disabled: tuple[str, ...] = ()  # sinks that a block of the settings file turns off

    def active_sinks(self) -> tuple[str, ...]:
        """The sinks of a run: `report_to`, and the local ones unless it names one of them, or nothing at all.

        With a `log_file`, the JSON log is one of them.
        """
        if not self.local_logs or not self.report_to:
            return self.report_to
        if not set(LOCAL_SINKS).isdisjoint(self.report_to):
            has_file = self.sinks.get("log_file") and "json" not in (*self.report_to, *self.disabled)
            return (*self.report_to, "json") if has_file else self.report_to
        return (*(sink for sink in LOCAL_SINKS if sink not in self.disabled), *self.report_to)

    def by_name(self) -> dict[str, Any]:
        """All values by name, without the defaults of sinks."""
        general = {name: getattr(self, name) for name in _GENERAL}
        return {**general, **self.sinks}


_TYPES = {"str": str, "int": int, "float": float, "bool": bool}
_GENERAL = {
    one.name: Setting(one.name, type=_TYPES.get(str(one.type).removesuffix(" | None"), str), default=one.default)
    for one in dataclasses.fields(Settings)
    if one.name not in ("sinks", "disabled")
}
# Blocks of a settings file: block -> key -> name of the setting.
_GENERAL_BLOCKS = {
    "logging": {"log_dir": "runs_dir", "log_frequency": "log_frequency", "experiment_name": "run_id"},
    "tensorboard": {"runs_dir": "runs_dir", "port": "port", "histogram_interval": "histogram_interval"},
}


def load_settings(
    file: str | os.PathLike[str] | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    directory: str | os.PathLike[str] = ".",
    **arguments: Any,
) -> tuple[Settings, dict[str, Any]]:
    """The settings, and the training's own configuration if the settings file holds one.

    An argument that is None counts as not given.
    """
    project = Path(directory) / PROJECT_FILE
    file = file or environment.get(VARIABLE_PREFIX + "SETTINGS")
    content = _read(Path(file)) if file else {}
    known = _KnownSettings([arguments.get("report_to"), _variable(environment, "report_to"), content.get("report_to")])
    values: dict[str, Any] = {}
    config: dict[str, Any] = {}
    if project.is_file():
        values.update(_from_block(_read(project), "tensorboard", known, source=str(project)))
    if file:
        from_file, config = _from_file(content, known, source=os.fspath(file), earlier=values)
        values.update(from_file)
    values.update(_from_environment(environment, known))
    for name, value in arguments.items():
        if value is not None:
            if name not in known:
                closest = difflib.get_close_matches(name, known.names(), n=1, cutoff=0.0)[0]
                raise BadSetting(f"Unknown setting {name!r} in the call. The closest is {closest!r}.")
            values[name] = value
    return _checked(values, known), config


class _KnownSettings:
    """Every setting that exists. Sinks are imported only when a name is not known without them."""

    def __init__(self, report_to: list[Any]) -> None:
        self._settings = dict(_GENERAL)
        self._blocks = dict(_GENERAL_BLOCKS)
        self._report_to = report_to
        self._unloaded = self._sinks_to_load()
        self._add_registered()

    def _sinks_to_load(self) -> Iterator[list[str]]:
        """Groups of sinks, in the order in which to look for a setting."""
        used = [id for value in self._report_to for id in _sink_ids(value)]
        built_in = built_in_sinks()
        yield [id for id in used if id in built_in]  # these are loaded in any case
        yield built_in
        yield [id for id in used if id not in (*built_in, "tensorboard")]

    def __contains__(self, name: str) -> bool:
        while name not in self._settings and name not in self._blocks and self._load_more():
            pass
        return name in self._settings

    def __getitem__(self, name: str) -> Setting:
        return self._settings[name]

    def names(self) -> list[str]:
        """All names, those of every built-in sink included."""
        while self._load_more():
            pass
        return list(self._settings)

    def blocks(self) -> dict[str, dict[str, str]]:
        """The blocks of a settings file: block -> key -> setting's name."""
        while self._load_more():
            pass
        return self._blocks

    def _load_more(self) -> bool:
        ids = next(self._unloaded, None)
        for id in ids or ():
            # A sink that cannot be loaded has no settings; its runner reports the error.
            with contextlib.suppress(Exception):
                sink_class(id)
        self._add_registered()
        return ids is not None

    def _add_registered(self) -> None:
        for cls in registered_sinks():
            for setting in cls.settings:
                self._settings.setdefault(setting.name, setting)
                if setting.key is not None:
                    self._blocks.setdefault(cls.id, {})[setting.key] = setting.name


def _checked(values: Mapping[str, Any], known: _KnownSettings) -> Settings:
    general: dict[str, Any] = {}
    sinks: dict[str, Any] = {}
    for name, value in values.items():
        if name in ("report_to", "disabled"):
            general[name] = _sink_ids(value)
        else:
            (general if name in _GENERAL else sinks)[name] = known[name].convert(value)
    return Settings(**general, sinks=sinks)


def _from_file(
    content: Mapping[str, Any], known: _KnownSettings, *, source: str, earlier: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    values: dict[str, Any] = {}
    blocks: list[str] = []
    config: dict[str, Any] = {}
    for key, value in content.items():
        if key in known:
            values[key] = value
        elif key in known.blocks():
            blocks.append(key)
        else:
            names = [*known.names(), *known.blocks()]
            if closest := difflib.get_close_matches(key, names, n=1, cutoff=_TYPO_SIMILARITY):
                raise BadSetting(f"Unknown setting {key!r}. Did you mean {closest[0]!r}? In {source}")
            config[key] = value
    # Of two blocks that set the same, `logging` counts, then `tensorboard`.
    for name in sorted(blocks, key=lambda name: [*_GENERAL_BLOCKS, name].index(name)):
        report_to = _sink_ids(values.get("report_to", earlier.get("report_to", _GENERAL["report_to"].default)))
        # A key at the top level is more specific than one in a block.
        values = {**_from_block(content[name], name, known, source=source), **values}
        switches = _sink_switches(name, content[name], known)
        values["report_to"] = (*(s for s in report_to if s not in switches), *(s for s, on in switches.items() if on))
        values["disabled"] = (*values.get("disabled", ()), *(s for s, on in switches.items() if not on))
    return values, config


def _from_block(block: Any, name: str, known: _KnownSettings, *, source: str) -> dict[str, Any]:
    if not isinstance(block, Mapping):
        raise BadSetting(f"{name!r} must hold keys and values, not {block!r}. In {source}")
    keys = _GENERAL_BLOCKS.get(name) or known.blocks()[name]
    values: dict[str, Any] = {}
    for key, value in block.items():
        if key in keys:
            values[keys[key]] = value
        elif name == "logging" and key in known.blocks():
            values.update(_from_block(value, key, known, source=source))
        elif key != "enabled":
            closest = difflib.get_close_matches(key, [*keys, "enabled"], n=1, cutoff=0.0)[0]
            raise BadSetting(f"Unknown setting {key!r} in {name!r}. The closest is {closest!r}. In {source}")
    return values


def _sink_switches(name: str, block: Mapping[str, Any], known: _KnownSettings) -> dict[str, bool]:
    """The sinks that a block, or a block within `logging`, turns on or off."""
    nested = [(key, inner) for key, inner in block.items() if name == "logging" and key in known.blocks()]
    return {
        sink: bool(content["enabled"])
        for sink, content in [(name, block), *nested]
        if isinstance(content, Mapping) and "enabled" in content and sink != "logging"
    }


def _from_environment(environment: Mapping[str, str], known: _KnownSettings) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable in environment:
        name = variable.removeprefix(VARIABLE_PREFIX).lower()
        if not variable.startswith(VARIABLE_PREFIX) or name == "settings":
            continue
        if name in known:
            values[name] = _variable(environment, name)
        elif closest := difflib.get_close_matches(name, known.names(), n=1, cutoff=_TYPO_SIMILARITY):
            suggestion = VARIABLE_PREFIX + closest[0].upper()
            raise BadSetting(f"Unknown setting {variable} in the environment. Did you mean {suggestion}?")
    return values


def _variable(environment: Mapping[str, str], name: str) -> Any:
    text = environment.get(VARIABLE_PREFIX + name.upper())
    return text.split(",") if text is not None and name == "report_to" else text


def _sink_ids(value: Any) -> tuple[str, ...]:
    """The ids in a value of report_to: one, several, or none."""
    if value is not None and not isinstance(value, Iterable):
        raise BadSetting(f"The setting 'report_to' must be a sink's name or a list of names, not {value!r}.")
    ids = [value] if isinstance(value, str) else list(value or ())
    return tuple(dict.fromkeys(str(id).strip() for id in ids if str(id).strip() not in ("", "none")))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadSetting(f"The settings cannot be read: {error.strerror}. Check the path: {path}") from error
    try:
        content = json.loads(text) if path.suffix == ".json" else _parse_yaml(text)
    except ValueError as error:
        raise BadSetting(f"The settings cannot be read: {error}. In {path}") from error
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise BadSetting(f"The settings must be keys and values at the top level. In {path}")
    return content


def _parse_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error).replace("\n", " ")) from error
