"""A model's modules: the tree that `pb.watch` told of, with the parameters of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.serve import schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.errors import NotFound
from pulseboard.serve.routes.runs import RUN

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree, Parameter

_LONG = 1_000_000
_PARAMETER = schema.answer(
    "Parameter",
    {
        "name": schema.text(most=_LONG),
        "shape": schema.or_null(schema.several(schema.whole(), most=1000)),
        "dtype": schema.text(),
        "trained": schema.flag(),
        "count": schema.whole("how many numbers it adds to the model"),
        "tied_to": schema.or_null(schema.text("the parameter that this one is too; it is counted there", most=_LONG)),
    },
)
_MODULE = schema.answer(
    "Module",
    {
        "path": schema.text("names joined by dots; empty: the model itself", most=_LONG),
        "kind": schema.text("its class", most=_LONG),
        "parameters": schema.several(_PARAMETER, "its own, not those of modules below it", most=_LONG),
    },
)
_MODEL = schema.answer(
    "Model",
    {
        "parameters": schema.whole("how many numbers, those of modules left out too"),
        "trained_parameters": schema.whole(),
        "left_out_modules": schema.whole(),
        "left_out_parameters": schema.whole(),
        "modules": schema.several(_MODULE, "parents before what is in them", most=_LONG),
    },
)


@endpoint(
    "GET",
    "modules",
    "The modules of the models that a run watched.",
    query={"run": RUN},
    required=("run",),
    gives=schema.answer("Models", {"run": schema.text(), "models": schema.several(_MODEL, most=1000)}),
)
def modules(board: Board, ask: Ask) -> dict[str, Any]:
    from pulseboard.store.modules import modules_of

    run = board.run(ask["run"])
    trees = modules_of(run)
    if not trees:
        raise NotFound(
            f"Run {run.name!r} tells of no model's modules.",
            do="Call pb.watch(model, optimizer) in the training; api/graph has the graphs of event files.",
        )
    return {"run": run.name, "models": [_model(tree) for tree in trees]}


def _model(tree: ModuleTree) -> dict[str, Any]:
    return {
        "parameters": tree.parameters,
        "trained_parameters": tree.trained_parameters,
        "left_out_modules": tree.left_out_modules,
        "left_out_parameters": tree.left_out_parameters,
        "modules": [
            {"path": module.path, "kind": module.kind, "parameters": list(map(_parameter, module.parameters))}
            for module in tree.modules
        ],
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "shape": parameter.shape if parameter.shape is None else list(parameter.shape),
        "dtype": parameter.dtype,
        "trained": parameter.trained,
        "count": parameter.count,
        "tied_to": parameter.tied_to,
    }
