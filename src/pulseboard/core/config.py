"""Configurations: any object as a mapping, and nested mappings as flat names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def as_mapping(config: Any) -> dict[str, Any]:
    """A configuration as a dict: from a mapping, an argparse namespace, a dataclass or another plain object."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "__dataclass_fields__"):
        return {name: getattr(config, name) for name in config.__dataclass_fields__}
    return {name: value for name, value in vars(config).items() if not name.startswith("_")}


def flatten(
    config: Mapping[str, Any], *, separator: str = ".", max_depth: int | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for each value that is not a non-empty mapping, in order: {"a": {"b": 1}} gives ("a.b", 1).

    Mappings nested more than `max_depth` levels deep are yielded as values.
    """
    # A stack instead of recursion: a file from elsewhere may be nested more deeply than Python can recurse.
    stack = [("", iter(config.items()))]
    while stack:
        prefix, items = stack[-1]
        for name, value in items:
            if isinstance(value, Mapping) and value and (max_depth is None or len(stack) <= max_depth):
                stack.append((f"{prefix}{name}{separator}", iter(value.items())))
                break
            yield f"{prefix}{name}", value
        else:
            stack.pop()
