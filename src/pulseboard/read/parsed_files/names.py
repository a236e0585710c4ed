"""Names for the runs of other formats: their paths below the log directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pulseboard.read.discovery.log_directory import LogDirectory, run_name
from pulseboard.read.parsed_files.file import ParsedFile
from pulseboard.read.parsed_files.files import Place
from pulseboard.read.parsed_run import ParsedRun


def named_runs(
    files: Mapping[Place, ParsedFile], log_directories: Sequence[LogDirectory], *, taken: Mapping[str, object]
) -> list[ParsedRun]:
    """The runs of all files, each with a name of its own that is not in `taken`.

    `log_directories` are in the order of the indices in `files`.
    """
    by_tree: dict[int, list[ParsedFile]] = {}
    for (index, _), file in sorted(files.items()):
        if file.reader is not None:
            by_tree.setdefault(index, []).append(file)
    used: dict[str, None] = {}
    out = []
    for index, of_tree in by_tree.items():
        directory = log_directories[index]
        in_tree: dict[str, None] = {}
        for plain_name, run in _names_below(directory.path, of_tree):
            unique = _unused(plain_name, in_tree)
            in_tree[unique] = None
            name = unique if directory.name is None else f"{directory.name}/{unique}"
            if name in used or name in taken:
                name = f"{name}/{run_name(os.path.basename(run.path))}"
            while name in used or name in taken:
                name += "'"
            used[name] = None
            run.name = name
            run.aliases = (directory.name,) if directory.name and unique == "." else ()
            out.append(run)
    return out


def _names_below(top: str, files: Iterable[ParsedFile]) -> Iterator[tuple[str, ParsedRun]]:
    """Each run with the path that names it, relative to the log directory `top`."""
    if not os.path.isdir(top):
        file_name = run_name(os.path.basename(top))
        for file in files:
            for run in file.runs:
                yield (f"{file_name}/{run.name_in_file}" if run.name_in_file else file_name), run
        return
    furthest: dict[str, ParsedRun] = {}
    by_path: dict[str, list[ParsedRun]] = {}
    for file in files:
        assert file.reader is not None
        named_path = file.reader.named_path(file.path)
        for run in file.runs:
            if not run.points and file.path != top:
                continue
            if file.reader.training_directory is None:
                by_path.setdefault(named_path, []).append(run)
            elif named_path not in furthest or _last_step(run) > _last_step(furthest[named_path]):
                furthest[named_path] = run
    for named_path, run in furthest.items():
        by_path.setdefault(named_path, []).append(run)
    for named_path, runs in by_path.items():
        # If the user gave a directory of metrics itself, the path that names its run is above `top`.
        inside = named_path == top or named_path.startswith(os.path.join(top, ""))
        name = run_name(os.path.relpath(named_path, top)) if inside else "."
        several_files = len({run.path for run in runs}) > 1
        for run in runs:
            parts = [name]
            if several_files:
                parts.append(run_name(os.path.basename(run.path)))
            if run.name_in_file:
                parts.append(run.name_in_file)
            yield "/".join(part for part in parts if part != ".") or ".", run


def _last_step(run: ParsedRun) -> int:
    return -1 if run.last_step is None else run.last_step


def _unused(name: str, used: Mapping[str, object]) -> str:
    unused, count = name, 2
    while unused in used:
        unused, count = f"{name} ({count})", count + 1
    return unused
