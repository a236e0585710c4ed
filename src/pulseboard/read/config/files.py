"""Configuration files next to a log: which names are known, where they are looked for, and how they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pulseboard.core.note import Note
from pulseboard.read.config.parse import parse_arguments, parse_config
from pulseboard.read.parsing.yaml_file import MAX_BYTES, NotUsable
from pulseboard.rundir.small_file import UnreadableFile, read_small_file

# What a training script was called with comes before what it could have been called with.
CONFIG_FILES = (
    "args.yaml", "args.json", "opt.yaml", "train_opt.txt", "opt.txt", "hparams.yaml", "hparams.json",
    "training_args.json", "training_args.yaml", "commandline_args.txt", "hyp.yaml", "hyperparameters.yaml",
    "params.yaml", "params.json", "variant.json", "configuration.yaml", "cfg.yaml", "config.yaml", "config.yml",
    "config.json", "wandb-metadata.json",
)  # fmt: skip
"""The names of configuration files, in the order of precedence."""

HYDRA_FILE = os.path.join(".hydra", "config.yaml")
WANDB_FILES = (os.path.join("files", "config.yaml"), os.path.join("files", "wandb-metadata.json"))

# Directories in which a training keeps its logs, below the directory with its configuration.
_LOG_DIRECTORY = re.compile(
    r"logs?|tensorboard|tb|tb_?logs?|tensorboard_logs?|events?|tfevents|summary|summaries|train|val(?:id(?:ation)?)?|"
    r"eval|test|vis_data|metrics|csv_?logs?|version_\d+|checkpoint-\d+",
    re.IGNORECASE,
)
_MAX_LEVELS_UP = 2
_MAX_LEVELS_TO_HYDRA = 4


class FileConfig(NamedTuple):
    """The settings in a file."""

    path: str
    values: dict[str, Any]


def config_files(directory: str) -> Iterator[str]:
    """The configuration files that may describe a log in `directory`: those next to it, then those above it."""
    # A remote directory that could not be copied, or a run that has no files.
    if not os.path.isdir(directory):
        return
    at = directory
    for level in range(_MAX_LEVELS_UP + 1):
        names = set(_names_in(at))
        yield from (os.path.join(at, name) for name in CONFIG_FILES if name in names)
        if "files" in names:
            yield from (path for name in WANDB_FILES if os.path.lexists(path := os.path.join(at, name)))
        if level == _MAX_LEVELS_UP or not _LOG_DIRECTORY.fullmatch(os.path.basename(at)):
            break
        at = os.path.dirname(at)
    at = directory
    for _ in range(_MAX_LEVELS_TO_HYDRA):
        # Hydra gives every run a directory of its own, so what is below it belongs to that run.
        if os.path.lexists(path := os.path.join(at, HYDRA_FILE)):
            yield path
            break
        at = os.path.dirname(at)


def read_config_file(path: str) -> tuple[dict[str, Any], list[Note]]:
    """The settings in a file, and what is wrong with it. A symbolic link or a large file is not read."""
    try:
        values = parse_config(read_small_file(path, max_bytes=MAX_BYTES).decode("utf-8", "replace"))
    except UnreadableFile as error:
        return {}, [Note("unreadable", f"Left out the configuration: {error.reason}.", path)]
    except NotUsable as error:
        return {}, [Note(error.level, f"Left out the configuration: {error}.", path)]
    if os.path.basename(path) == "wandb-metadata.json":
        arguments = values.get("args")
        return (parse_arguments(arguments) if isinstance(arguments, list) else {}), []
    return without_wandb(values), []


def without_wandb(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration as it was given to W&B, which wraps each value and adds its own."""
    own = {name: value for name, value in config.items() if name not in ("_wandb", "wandb_version")}
    if len(own) == len(config):
        return config
    return {name: value["value"] if _is_wrapped(value) else value for name, value in own.items()}


def _is_wrapped(value: Any) -> bool:
    return isinstance(value, dict) and "value" in value and set(value) <= {"value", "desc"}


def _names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
