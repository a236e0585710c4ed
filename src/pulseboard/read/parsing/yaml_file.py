"""A small YAML file next to a log: hyperparameters, or facts about the run."""

from __future__ import annotations

from typing import Any

from pulseboard.core.note import Note

# Configurations are a few kilobytes; the parser needs a minute and a gigabyte for 20 MB.
_MAX_BYTES = 2 << 20
# A few lines of aliases can stand for a billion values, and code that visits all of them would not return.
_MAX_VALUES = 100_000


def yaml_mapping(path: str) -> tuple[dict[str, Any], list[Note]]:
    """The mapping in a YAML file, and what is wrong with the file. Empty if the file does not exist."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [Note("unreadable", f"Cannot be read: {error.strerror}.", path)]
    if len(data) > _MAX_BYTES:
        return {}, [Note("unreadable", f"Left out: the configuration is larger than {_MAX_BYTES >> 20} MiB.", path)]
    import yaml

    try:
        found = yaml.load(data, Loader=_loader())
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError, OverflowError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        return {}, [Note("damage", f"Left out the configuration, which is not valid YAML: {why}.", path)]
    if _count(found, most=_MAX_VALUES) > _MAX_VALUES:
        what = f"Left out the configuration: with its aliases it has more than {_MAX_VALUES} values."
        return {}, [Note("unreadable", what, path)]
    return ({str(key): value for key, value in found.items()} if isinstance(found, dict) else {}), []


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


def _loader() -> Any:
    """A safe loader that reads Python objects, which some trainers put into their hyperparameters, as texts."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: str(suffix))
    return Loader
