"""A small YAML file next to a log: hyperparameters, or facts about the run."""

from __future__ import annotations

import functools
import os
from typing import Any, Literal

from pulseboard.core.note import Note
from pulseboard.rundir.small_file import UnreadableFile, read_small_file

MAX_BYTES = 2 << 20
"""Configurations are a few kilobytes; the parser needs a minute and a gigabyte for 20 MB."""

# A few lines of aliases can stand for a billion values, and code that visits all of them would not return.
_MAX_VALUES = 100_000


class NotUsable(ValueError):
    """A text that is not a configuration, or not one that can be used. The message says why."""

    level: Literal["damage", "unreadable"] = "unreadable"


class NotYaml(NotUsable):
    """The text is damaged, or something other than YAML."""

    level = "damage"


def yaml_mapping(path: str) -> tuple[dict[str, Any], list[Note]]:
    """The mapping in a YAML file, and what is wrong with the file. Empty if the file does not exist."""
    if not os.path.lexists(path):
        return {}, []
    try:
        return parse_yaml(read_small_file(path, max_bytes=MAX_BYTES)), []
    except UnreadableFile as error:
        return {}, [Note("unreadable", f"Left out the configuration: {error.reason}.", path)]
    except NotUsable as error:
        return {}, [Note(error.level, f"Left out the configuration: {error}.", path)]


def parse_yaml(text: bytes | str) -> dict[str, Any]:
    """The mapping in a YAML document; empty if it holds something else. Raises NotUsable."""
    import yaml

    try:
        found = yaml.load(text, Loader=_loader())
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError, OverflowError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NotYaml(f"it is not valid YAML ({why})") from error
    if _count(found, most=_MAX_VALUES) > _MAX_VALUES:
        raise NotUsable(f"with its aliases it has more than {_MAX_VALUES} values")
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}


def _count(document: Any, *, most: int) -> int:
    """How many values a document has, counted no further than `most`. It may contain itself."""
    count, left = 0, [document]
    while left and count <= most:
        value = left.pop()
        count += 1
        if isinstance(value, dict | list | tuple | set):
            count += len(value)
            left += value.values() if isinstance(value, dict) else value
    return count


@functools.cache
def _loader() -> Any:
    """A safe loader that reads Python objects, which some trainers put into their hyperparameters, as texts."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: str(suffix))
    return Loader
