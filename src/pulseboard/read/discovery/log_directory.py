"""Log directories: the paths and `name:path` pairs a user gives, checked and named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from pulseboard.core.errors import LogNotFound, NameTaken
from pulseboard.core.locations import is_url, register_mirror
from pulseboard.rundir import layout

if TYPE_CHECKING:
    # Most log directories are local, and do not need what remote ones do.
    from pulseboard.read.remote.url import RemoteUrl


class LogDirectory(NamedTuple):
    """One log directory (or a single file), and the name that is put before the names of its runs, if any."""

    path: str
    name: str | None = None
    # Links that lead out of these directories are not followed. None: all are.
    within: tuple[str, ...] | None = None
    # The remote directory that `path` is a copy of; None for a local one.
    url: RemoteUrl | None = None

    @property
    def location(self) -> str:
        """What users know it as: its URL or its path."""
        return self.path if self.url is None else str(self.url)

    def allowed(self) -> tuple[str, ...] | None:
        """`within` as real paths at this moment: a log directory may itself be a link, which is set to a new target."""
        return None if self.within is None else tuple(map(os.path.realpath, self.within))


def log_directories_from(
    specs: Iterable[str | os.PathLike[str]], *, links_out: bool = True, may_be_missing: bool = False
) -> list[LogDirectory]:
    """The log directories a user gave as paths, URLs, patterns such as `runs/2026-*`, and `name:path` pairs.

    A pattern stands for what matches it now, as if a shell had expanded it. If there are several paths, each one
    without a name is named after as many of its last parts as it takes to tell them apart. Without `links_out`, links
    that lead out of all these directories are not followed. With `may_be_missing`, a path may be created later.
    """
    pairs: list[tuple[str | None, str]] = []
    for spec in specs:
        name, path = layout.split_named_path(os.fspath(spec))
        found = _expanded(path, may_be_missing=may_be_missing)
        if name is None or len(found) == 1:
            pairs += [(name, one) for one in found]
        else:
            pairs += [(f"{name}/{_distinct_name(one, found)}", one) for one in found]
    pairs = list(dict.fromkeys(pairs))
    unnamed = [path for name, path in pairs if name is None]
    if len(pairs) > 1:
        pairs = [(name or _distinct_name(path, unnamed), path) for name, path in pairs]
    path_by_name: dict[str | None, str] = {}
    for name, path in pairs:
        if path_by_name.setdefault(name, path) != path:
            raise NameTaken(str(name), paths=(path_by_name[name], path))
    within = None if links_out else tuple(path for _, path in pairs if not is_url(path))
    return [_log_directory(path, name, within) for name, path in pairs]


def _log_directory(path: str, name: str | None, within: tuple[str, ...] | None) -> LogDirectory:
    if not is_url(path):
        return LogDirectory(path, name, within)
    from pulseboard.read.remote.mirror_files import mirrored_path
    from pulseboard.read.remote.url import parse_url

    url = parse_url(path)
    copy = mirrored_path(url)
    register_mirror(copy, str(url))
    register_mirror(os.path.dirname(copy), str(url).rpartition("/")[0])  # the directory of a URL that names a file
    return LogDirectory(copy, name, None if within is None else (copy,), url)


def _expanded(path: str, *, may_be_missing: bool) -> list[str]:
    """The absolute paths that a path or pattern stands for. Something that exists under this very name comes first."""
    if is_url(path):
        from pulseboard.read.remote.url import parse_url

        return [str(parse_url(path))]
    if os.path.exists(path):
        return [os.path.abspath(path)]
    import glob

    if glob.has_magic(path):
        if not (found := sorted(glob.glob(path, recursive=True))):
            raise LogNotFound(path, why="nothing matches this pattern")
        return list(map(os.path.abspath, found))
    if may_be_missing:
        return [os.path.abspath(path)]
    raise LogNotFound(path)


def _distinct_name(path: str, among: list[str]) -> str:
    """The fewest last parts of a path that no other path ends in."""
    parts = path.split(os.sep)
    for n in range(1, len(parts)):
        tail = os.sep.join(parts[-n:])
        if sum(other == path or other.endswith(os.sep + tail) for other in among) == 1:
            return tail
    return path


def path_and_parents(path: str) -> Iterator[str]:
    """A path, the directory that holds it, and so on up to the root of the file system."""
    yield path
    while (parent := os.path.dirname(path)) != path:
        yield (path := parent)


def run_name(path: str) -> str:
    """A path as part of a run's name. Names are shown, exported and put into URLs, so they are always valid text."""
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace(os.sep, "/")
