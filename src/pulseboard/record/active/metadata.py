"""What an active run keeps in addition to its records: identity, config, tags, notes, summary, modules and files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pulseboard.record.active import artifacts
from pulseboard.record.active.run_config import RunConfig
from pulseboard.record.active.summary import Goal, RunSummary
from pulseboard.record.messages import inform, warn_once
from pulseboard.record.settings import Settings
from pulseboard.rundir import layout
from pulseboard.rundir.run_file import RunFileWriter

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree

_MAX_MODELS = 16  # whose modules are kept
_GOALS: dict[str, Goal] = {"min": "minimize", "minimize": "minimize", "max": "maximize", "maximize": "maximize"}


class RunMetadata:
    """Methods of ActiveRun. All of this is in run.json, which rank 0 writes; on other ranks it is in memory only."""

    settings: Settings
    _directory: Path | None
    _run_file: RunFileWriter | None

    def __init__(self) -> None:
        self._config = RunConfig({}, self._config_changed)
        self._summary = RunSummary({}, self._summary_changed)
        self._modules: list[ModuleTree] = []

    # Defined by ActiveRun.

    def send(self, call: str, *args: Any, **named: Any) -> None:
        """Call a method of every sink."""
        raise NotImplementedError

    def in_background(self, job: Callable[[], None]) -> None:
        """Run `job` soon, on the run's worker thread."""
        raise NotImplementedError

    def handle_error(self, error: Exception, *, action: str) -> None:
        """Print the error once, or raise it if the run is strict."""
        raise NotImplementedError

    def text(self, tag: str, text: str, *, step: int | None = None) -> None:
        """Log a text."""
        raise NotImplementedError

    # ---- identity

    @property
    def directory(self) -> Path:
        """The run's directory. Ranks other than 0 know it only after rank 0 has created it."""
        if self._directory is None:
            raise RuntimeError("The run's directory is not known on this rank yet: rank 0 has not created it.")
        return self._directory

    @property
    def id(self) -> str:
        """The run's id, which is the name of its directory."""
        return self.directory.name

    @property
    def name(self) -> str:
        """The name given to `init`, or the run's id."""
        return str(self._field("name") or self.id)

    @property
    def project(self) -> str | None:
        """The project given to `init`."""
        return self._text_field("project")

    @property
    def group(self) -> str | None:
        """The group given to `init`."""
        return self._text_field("group")

    @property
    def job_type(self) -> str | None:
        """The job type given to `init`."""
        return self._text_field("job_type")

    def _text_field(self, name: str) -> str | None:
        value = self._field(name)
        return value if isinstance(value, str) else None

    def _field(self, name: str) -> Any:
        return self._run_file.fields.get(name) if self._run_file else None

    # ---- config, tags and notes

    @property
    def config(self) -> RunConfig:
        """The run's configuration: a dictionary, whose values are attributes too. Changes are saved."""
        return self._config

    def update_config(self, **values: Any) -> None:
        """Add values to the run's configuration."""
        self._config.update(values)

    def _config_changed(self, values: Any) -> None:
        self._update_run_file(config=dict(self._config))
        if values:
            self.send("config", dict(values))

    @property
    def tags(self) -> list[str]:
        """Words to find the run by."""
        return list(self._field("tags") or ())

    @tags.setter
    def tags(self, tags: Iterable[str]) -> None:
        self._update_run_file(tags=as_tags(tags))

    @property
    def notes(self) -> str:
        """What the user wants to remember about the run."""
        return str(self._field("notes") or "")

    @notes.setter
    def notes(self, notes: str) -> None:
        self._update_run_file(notes=notes)

    # ---- summary

    @property
    def summary(self) -> RunSummary:
        """The result of the run: statistics of the metrics that `define_metric` declared, and values you set."""
        return self._summary

    def define_metric(self, name: str, *, goal: str | None = None, summary: str | None = None, **_: Any) -> None:
        """Follow a metric, or all that fit a pattern such as `val/*`, for the summary.

        `goal` is 'minimize' or 'maximize' (or 'min', 'max'); it decides which value is the best. W&B's `summary='min'`
        means the same. Its further arguments have no effect here.
        """
        words = [goal, *(summary or "").replace(" ", "").split(",")]
        goals = [_GOALS[word] for word in words if word in _GOALS]
        if goal is not None and goal not in _GOALS:
            raise ValueError(f"goal must be 'minimize' or 'maximize', not {goal!r}.")
        self._summary.define(name, goals[0] if goals else None)

    def _summary_changed(self) -> None:
        self._update_run_file(summary=self._summary.as_json())

    # ---- modules, files and alerts

    def save_modules(self, describe: Callable[[], ModuleTree]) -> None:
        """Add the model that `describe` returns to the run's module_tree.json."""
        if self._run_file is None:
            return
        try:
            tree = describe()
        except Exception as error:
            self.handle_error(error, action="saving the model's modules")
            return
        if tree not in self._modules:  # the same model may be watched again, even in every epoch
            self._modules = [*self._modules, tree][-_MAX_MODELS:]
            self.in_background(lambda: self._write(self._write_modules, name=layout.MODULES_FILE))

    def _write_modules(self) -> None:
        # Imported here: only runs with a model need it.
        from pulseboard.rundir.modules_file import write_modules

        write_modules(self.directory, self._modules)

    def artifact(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        """Keep a copy of a file, or of all files in a directory, with the run: in `artifacts/`, by its hash.

        The copy is complete when this returns. The same content is kept once; the same name again is a new version.
        """
        if self._run_file is None:
            return
        source = Path(path)
        try:
            found = artifacts.keep(self.directory, source, name=name or source.name)
        except OSError as error:
            self.handle_error(error, action=f"keeping the artifact {source}")
            return
        now = round(time.time(), 3)
        known = self._field("artifacts") or []
        self._update_run_file(artifacts=[*known, *({**one, "time": now} for one in found)])

    def alert(self, title: str, text: str = "", *, level: Literal["info", "warning", "error"] = "info") -> None:
        """Print a message, log it as the text `alerts`, and post it to the setting `webhook` if there is one."""
        if self._run_file is None:
            return
        inform(f"{level}: {title}" + (f". {text}" if text else ""))
        self.text("alerts", f"**{level}: {title}**" + (f"\n\n{text}" if text else ""))
        if (webhook := self.settings.webhook) is not None:
            self.in_background(lambda: self._post_alert(webhook, title, text, level))

    def _post_alert(self, webhook: str, title: str, text: str, level: str) -> None:
        from pulseboard.record.active import alerts

        try:
            alerts.post(webhook, title=title, text=text, level=level, run=self.name)
        except (OSError, ValueError) as error:
            warn_once("alert", f"An alert could not be posted: {error}. Check the setting `webhook`.")

    # ---- run.json

    def _update_run_file(self, **fields: Any) -> None:
        if (run_file := self._run_file) is not None:
            self._write(lambda: run_file.update(**fields))

    def _write(self, write: Callable[[], Any], *, name: str = layout.RUN_FILE) -> None:
        try:
            write()
        except OSError as error:
            warn_once(f"{name} {error.errno}", f"Cannot write {name}: {error.strerror}. Training continues.")


def as_tags(tags: str | Iterable[str] | None) -> list[str]:
    """Tags as a list: a single text is one tag."""
    return [tags] if isinstance(tags, str) else [str(tag) for tag in tags or ()]
