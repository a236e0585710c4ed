"""Which remote files are fetched: logs, and the small files that describe them. Weights, media and code are not."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from pulseboard.read.config.files import CONFIG_FILES
from pulseboard.read.discovery import candidates
from pulseboard.read.remote.store import RemoteFile
from pulseboard.rundir import layout

# Files of models and datasets with the extensions of logs, of which every checkpoint has a copy.
_NEVER_LOGS = frozenset(
    "tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json vocab.json vocab.txt merges.txt "
    "generation_config.json preprocessor_config.json adapter_config.json model.safetensors.index.json "
    "pytorch_model.bin.index.json requirements.txt package.json package-lock.json".split()
)
# What is read next to a log, or a directory or two above it.
_NEXT_TO_LOGS = frozenset({*CONFIG_FILES, "meta.yaml"})
_MAX_CONFIG_BYTES = 2 << 20
_APPENDED = frozenset(".csv .tsv .log .txt .out .err .jsonl .ndjson .json .wandb .swanlab".split())


class Wanted(NamedTuple):
    """A file to fetch, and how."""

    file: RemoteFile
    appended: bool  # it usually grows at its end
    certain: bool  # its name alone makes it a log; otherwise its first bytes decide


def wanted_files(files: Iterable[RemoteFile], *, top: str) -> list[Wanted]:
    """The files that a reader may read. `top` is the local path that stands for the remote directory."""
    files = list(files)
    names = {file.name for file in files}
    recorded = {_directory(name) for name in names if layout.is_event_file(os.path.basename(name))}
    found: list[Wanted] = []
    others: list[RemoteFile] = []
    directories: set[str] = set()  # that hold a log, at any depth
    for file in files:
        directory, base = _directory(file.name), os.path.basename(file.name)
        if not file.name:
            found.append(Wanted(file, appended=_is_appended(top), certain=True))
        elif layout.marks_a_run(base):
            found.append(Wanted(file, appended=not layout.is_archived(base), certain=True))
            _add_with_parents(directories, directory)
        elif base in (layout.RUN_FILE, layout.MODULES_FILE):
            found.append(Wanted(file, appended=False, certain=True))
        elif base == layout.JSON_LOG_FILE and _join(directory, layout.EVENTS_DIRECTORY) in recorded:
            pass  # it has the same values as the event files
        elif base in _NEXT_TO_LOGS:
            others.append(file)
        elif (one := _as_candidate(file, top=top)) is not None:
            found.append(one)
            _add_with_parents(directories, directory)
        else:
            others.append(file)
    found += [Wanted(file, appended=False, certain=True) for file in others if _is_next_to_log(file, directories)]
    return found


def _add_with_parents(directories: set[str], directory: str) -> None:
    while directory not in directories:
        directories.add(directory)
        directory = _directory(directory)


def _as_candidate(file: RemoteFile, *, top: str) -> Wanted | None:
    """The file, if its name may be that of a log of another format."""
    directory, base = os.path.split(os.path.join(top, file.name))
    if base in _NEVER_LOGS or not candidates.is_searched(directory, top=top):
        return None
    if not candidates.is_candidate(base, directory=directory, top=top):
        return None
    in_log = candidates.candidate_directory(directory, top=top) is not None
    appended = _is_appended(base)
    return Wanted(file, appended=appended, certain=in_log or not appended)


def _is_next_to_log(file: RemoteFile, directories: set[str]) -> bool:
    name = file.name
    directory, base = _directory(name), os.path.basename(name)
    if base in _NEXT_TO_LOGS:
        # Hydra and W&B keep it in a directory of its own.
        parent = _directory(directory) if os.path.basename(directory) in (".hydra", "files") else directory
        return file.size <= _MAX_CONFIG_BYTES and (parent in directories or _join(directory, "metrics") in directories)
    # MLflow has one file per parameter, next to the directory of its metrics.
    run, params, _ = f"/{name}".rpartition("/params/")
    return bool(params) and _join(run[1:], "metrics") in directories


def _is_appended(name: str) -> bool:
    return layout.is_event_file(os.path.basename(name)) or os.path.splitext(name)[1].lower() in _APPENDED


def _directory(name: str) -> str:
    return name.rpartition("/")[0]


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
