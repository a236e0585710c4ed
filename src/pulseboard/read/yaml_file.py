"""A small YAML file that stands beside a log: hyperparameters, or facts about the run."""

from __future__ import annotations

from typing import Any

from pulseboard.core.note import Note

# Configurations are a few kilobytes; the parser takes a minute and a gigabyte for 20 MB.
_MOST_BYTES = 2 << 20


def yaml_mapping(path: str) -> tuple[dict[str, Any], list[Note]]:
    """What the file maps names to, and what is wrong with it. A file that is not there maps nothing."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [Note("unreadable", f"Cannot be read: {error.strerror}.", path)]
    if len(data) > _MOST_BYTES:
        return {}, [Note("unreadable", f"Left out: a configuration of more than {_MOST_BYTES >> 20} MiB.", path)]
    import yaml

    try:
        found = yaml.load(data, Loader=_loader())
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError, OverflowError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        return {}, [Note("damage", f"Left out a configuration that is no YAML: {why}.", path)]
    return ({str(key): value for key, value in found.items()} if isinstance(found, dict) else {}), []


def _loader() -> Any:
    """A safe loader, to which Python objects that a trainer has put into its hyperparameters are texts."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: str(suffix))
    return Loader
