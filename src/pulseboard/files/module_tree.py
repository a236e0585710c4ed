"""Module trees on disk: a JSON file beside run.json, which is written often and has to stay small."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulseboard.core.module_tree import Module, ModuleTree, Parameter

_SCHEMA = 1
_MOST = 1 << 53  # what every reader of JSON can count


def as_json(trees: Iterable[ModuleTree]) -> dict[str, Any]:
    """What the file says. A run may watch several models, as a generator and its critic."""
    return {"schema": _SCHEMA, "models": [_tree_as_json(tree) for tree in trees]}


def from_json(told: Any) -> list[ModuleTree]:
    """The trees of such a file; none where it is not one, be it that another program uses the name."""
    try:
        if told["schema"] != _SCHEMA:
            return []
        return [_tree(model) for model in told["models"]]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _tree_as_json(tree: ModuleTree) -> dict[str, Any]:
    return {
        "parameters": tree.parameters,
        "trained_parameters": tree.trained_parameters,
        "left_out_modules": tree.left_out_modules,
        "left_out_parameters": tree.left_out_parameters,
        "modules": [
            {
                "path": module.path,
                "kind": module.kind,
                "parameters": [_parameter_as_json(parameter) for parameter in module.parameters],
            }
            for module in tree.modules
        ],
    }


def _parameter_as_json(parameter: Parameter) -> dict[str, Any]:
    said: dict[str, Any] = {
        "name": parameter.name,
        "shape": None if parameter.shape is None else list(parameter.shape),
        "dtype": parameter.dtype,
        "trained": parameter.trained,
    }
    return said if parameter.tied_to is None else {**said, "tied_to": parameter.tied_to}


def _tree(told: Any) -> ModuleTree:
    return ModuleTree(
        modules=tuple(
            Module(str(module["path"]), str(module["kind"]), tuple(map(_parameter, module["parameters"])))
            for module in told["modules"]
        ),
        parameters=_count(told["parameters"]),
        trained_parameters=_count(told["trained_parameters"]),
        left_out_modules=_count(told["left_out_modules"]),
        left_out_parameters=_count(told["left_out_parameters"]),
    )


def _parameter(told: Any) -> Parameter:
    shape, tied_to = told["shape"], told.get("tied_to")
    found = Parameter(
        name=str(told["name"]),
        shape=None if shape is None else tuple(map(_count, shape)),
        dtype=str(told["dtype"]),
        trained=bool(told["trained"]),
        tied_to=None if tied_to is None else str(tied_to),
    )
    _count(found.count)
    return found


def _count(told: Any) -> int:
    if not isinstance(told, int) or isinstance(told, bool) or not 0 <= told < _MOST:
        raise ValueError(f"{told!r} counts nothing")
    return told
