"""module_tree.json: the modules of a run's models. Not part of run.json, which is rewritten often and stays small."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Any

from pulseboard.core.module_tree import Module, ModuleTree, Parameter
from pulseboard.rundir import layout
from pulseboard.rundir.json_io import read_json, write_json
from pulseboard.rundir.small_file import UnreadableFile

_SCHEMA = 1
MAX_BYTES = 64 << 20
_MAX_COUNT = 1 << 53  # JavaScript and many JSON parsers count exactly up to here


def has_modules_file(directory: str | os.PathLike[str]) -> bool:
    """Whether there is a modules file in `directory`. A symbolic link does not count: see `json_io.read_json`."""
    try:
        return stat.S_ISREG(os.lstat(os.path.join(directory, layout.MODULES_FILE)).st_mode)
    except (OSError, ValueError):
        return False


def read_modules(directory: str | os.PathLike[str]) -> list[ModuleTree]:
    """The trees in the modules file of `directory`, one per model; none if the file is missing or unreadable."""
    try:
        return from_json(read_json(os.path.join(directory, layout.MODULES_FILE), max_bytes=MAX_BYTES))
    except UnreadableFile:
        return []


def write_modules(directory: str | os.PathLike[str], trees: Iterable[ModuleTree]) -> None:
    """Write the modules file. Takes 0.1 s for thousands of modules. Raises OSError."""
    write_json(os.path.join(directory, layout.MODULES_FILE), to_json(trees))


def to_json(trees: Iterable[ModuleTree]) -> dict[str, Any]:
    """The content of the file. A run may watch several models, such as a generator and its critic."""
    return {"schema": _SCHEMA, "models": [_tree_to_json(tree) for tree in trees]}


def from_json(content: Any) -> list[ModuleTree]:
    """The trees in a parsed file; none if another program wrote it or it is damaged."""
    try:
        if content["schema"] != _SCHEMA:
            return []
        return [_tree(model) for model in content["models"]]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _tree_to_json(tree: ModuleTree) -> dict[str, Any]:
    return {
        "parameters": tree.parameters,
        "trained_parameters": tree.trained_parameters,
        "left_out_modules": tree.left_out_modules,
        "left_out_parameters": tree.left_out_parameters,
        "modules": [
            {
                "path": module.path,
                "kind": module.kind,
                "parameters": [_parameter_to_json(parameter) for parameter in module.parameters],
            }
            for module in tree.modules
        ],
    }


def _parameter_to_json(parameter: Parameter) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": parameter.name,
        "shape": None if parameter.shape is None else list(parameter.shape),
        "dtype": parameter.dtype,
        "trained": parameter.trained,
    }
    return fields if parameter.tied_to is None else {**fields, "tied_to": parameter.tied_to}


def _tree(fields: Any) -> ModuleTree:
    return ModuleTree(
        modules=tuple(
            Module(str(module["path"]), str(module["kind"]), tuple(map(_parameter, module["parameters"])))
            for module in fields["modules"]
        ),
        parameters=_count(fields["parameters"]),
        trained_parameters=_count(fields["trained_parameters"]),
        left_out_modules=_count(fields["left_out_modules"]),
        left_out_parameters=_count(fields["left_out_parameters"]),
    )


def _parameter(fields: Any) -> Parameter:
    shape, tied_to = fields["shape"], fields.get("tied_to")
    parameter = Parameter(
        name=str(fields["name"]),
        shape=None if shape is None else tuple(map(_count, shape)),
        dtype=str(fields["dtype"]),
        trained=bool(fields["trained"]),
        tied_to=None if tied_to is None else str(tied_to),
    )
    _count(parameter.count)
    return parameter


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_COUNT:
        raise ValueError(f"{value!r} is not a count")
    return value
