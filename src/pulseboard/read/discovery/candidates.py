"""Which files and directories may hold a log of a format other than event files, judged by name alone."""

from __future__ import annotations

import fnmatch
import functools
import os
import re

from pulseboard.rundir import layout

# Directories of other people's files, or of so many that scanning them takes longer than reading the runs.
_SKIPPED_DIRECTORIES = frozenset({"node_modules", "site-packages", "__pycache__"})
_HIDDEN_LOG_DIRECTORIES = frozenset({".wandb", ".aim"})
# What a recorded run keeps about itself, apart from its log.
_SKIPPED_FILES = frozenset(layout.SIDE_FILES) - {layout.JSON_LOG_FILE}
# Weights, media, settings and code. Next to event files there is often nothing else, and then the readers, which take
# longer to load than a small log directory takes to read, are not loaded at all.
_NEVER_LOGS = frozenset(
    ".pt .pth .ckpt .safetensors .bin .onnx .h5 .keras .index .pkl .npy .png .jpg .jpeg .gif .svg .pdf .mp4 .wav "
    ".yaml .yml .toml .cfg .ini .lock .py .pyc .ipynb .sh .md .rst .html .zip .gz .tar".split()
)


def is_searched(directory: str, *, top: str) -> bool:
    """Whether logs of other formats are looked for in a directory at or below the log directory `top`."""
    below = directory[len(top) :]
    return not below or all(map(_is_searched, below.split(os.sep)))


@functools.lru_cache(4096)
def _is_searched(name: str) -> bool:
    if name in _SKIPPED_DIRECTORIES:
        return False
    return not name.startswith(".") or name in _HIDDEN_LOG_DIRECTORIES


def is_candidate(file_name: str, *, directory: str, top: str) -> bool:
    """Whether a file of this name may be a log, or part of a directory that is one log."""
    if file_name in _SKIPPED_FILES or os.path.splitext(file_name)[1].lower() in _NEVER_LOGS:
        return False
    return bool(_patterns()[0].match(file_name.lower())) or candidate_directory(directory, top=top) is not None


def candidate_directory(path: str, *, top: str) -> str | None:
    """The uppermost directory at or above `path` whose name marks it as a log; None if there is none.

    `top` is the log directory. A directory above it is not considered.
    """
    pattern = _patterns()[1]
    directory = os.path.dirname(top)
    for part in path[len(directory) :].strip(os.sep).split(os.sep):
        directory = os.path.join(directory, part)
        if pattern.match(part.lower() + "/"):
            return directory
    return None


def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    from pulseboard.read.format import all_readers

    return _compiled(tuple(pattern for reader in all_readers() for pattern in reader.files))


@functools.lru_cache(8)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One pattern for names of files, and one for names of directories, which end in a slash."""
    directories = [pattern for pattern in patterns if pattern.endswith("/")]
    files = [pattern for pattern in patterns if not pattern.endswith("/")]
    return _any_of(files), _any_of(directories)


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")
