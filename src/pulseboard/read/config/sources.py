"""Every configuration that a run has apart from its run.json, the most reliable one first."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from pulseboard.core.note import Note
from pulseboard.read.config.files import config_files, read_config_file
from pulseboard.read.config.parse import parse_config, scalar
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.parsing.yaml_file import NotUsable
from pulseboard.read.run import Run
from pulseboard.rundir import layout
from pulseboard.rundir.run_file import RunFile, find_run_file

_TEXT_TAG = re.compile(r"(?:^|[/_])(?:config|configuration|cfg|args|arguments|hparams|hyper_?param(?:eter)?s|params|opt"
                       r"|options|settings|flags)(?:$|[/_])", re.IGNORECASE)  # fmt: skip
_MAX_TEXT_CHARS = 1 << 20
# Where the steps of the log and the plan were written by the same program.
_SAME_PROGRAM = frozenset({"event-file", "trainer-state"})


class ConfigSource(NamedTuple):
    """A configuration, and where it is from."""

    where: str  # a tag, or the name of a file
    values: dict[str, Any]
    is_own: bool
    """Written with the log itself, so that its steps are those of the log."""


def run_file_of(run: Run) -> RunFile:
    """The run.json of a recorded run; an empty one if there is none that can be read."""
    directory = run.directory
    return find_run_file(directory) or find_run_file(layout.recorded_directory(directory)) or RunFile()


def shared_directories(runs: Iterable[Run]) -> frozenset[str]:
    """The directories with the logs of several runs. A configuration there may belong to any of them."""
    count = Counter(directory for run in runs for directory in {log.directory for log in run.logs()})
    return frozenset(directory for directory, runs_in_it in count.items() if runs_in_it > 1)


def config_sources(
    run: Run, *, shared: Collection[str] = (), files: bool = True
) -> tuple[list[ConfigSource], list[Note]]:
    """The configurations of a run, and what is wrong with the files that hold them.

    Files in a `shared` directory, which holds the logs of several runs, are left out: they may describe any of them.
    Without `files`, only what was logged as hyperparameters or configuration counts.
    """
    notes: list[Note] = []
    found: list[ConfigSource] = []
    for log in run.logs():
        logged = log.config() if isinstance(log, ParsedRun) or "hparams" in log.kinds() else {}
        where = os.path.basename(log.path) if isinstance(log, ParsedRun) else "the logged hparams"
        found.append(ConfigSource(where, logged, is_own=log.format in _SAME_PROGRAM))
    for log in run.logs() if files else ():
        found += _texts(log)
    for path in config_paths(run, shared) if files else ():
        values, problems = read_config_file(path)
        notes += problems
        found.append(ConfigSource(os.path.basename(path), values, is_own=False))
    return [source for source in found if source.values], notes


def _texts(run: Run) -> Iterator[ConfigSource]:
    for tag in run.tags("text"):
        if not _TEXT_TAG.search(tag):
            continue
        texts = run.texts(tag)
        values = _in_text(texts[-1].items, texts[-1].shape) if texts else {}
        yield ConfigSource(f"tag {tag!r}", values, is_own=False)


def _in_text(items: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    if len(shape) == 2 and shape[1] == 2:
        return {name.strip(): scalar(value) for name, value in zip(items[::2], items[1::2], strict=True)}
    text = "\n".join(items)
    try:
        return parse_config(text) if len(text) <= _MAX_TEXT_CHARS else {}
    except NotUsable:
        return {}  # an ordinary text under such a name


def config_paths(run: Run, shared: Collection[str]) -> list[str]:
    """The configuration files of a run, the most reliable one first; none in a `shared` directory."""
    directories = dict.fromkeys(layout.recorded_directory(log.directory) for log in run.logs())
    directories |= dict.fromkeys(log.training_directory for log in run.logs() if isinstance(log, ParsedRun))
    return list(dict.fromkeys(path for one in directories if one not in shared for path in config_files(one)))
