"""The modules of a model: the tree that `pb.watch` recorded, with the parameters of each module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import NotFound
from pulseboard.serve.http.parameters import RUN
from pulseboard.serve.live.dashboard import Dashboard

if TYPE_CHECKING:
    from pulseboard.core.module_tree import ModuleTree, Parameter

_MANY = 1_000_000
_PARAMETER = schema.named_record(
    "Parameter",
    {
        "name": schema.string(max_length=_MANY),
        "shape": schema.nullable(schema.array(schema.integer(), max_items=1000)),
        "dtype": schema.string(),
        "trained": schema.boolean(),
        "count": schema.integer("how many numbers it adds to the model"),
        "tied_to": schema.nullable(schema.string("the parameter that it shares; counted there", max_length=_MANY)),
    },
)
_MODULE = schema.named_record(
    "Module",
    {
        "path": schema.string("names joined with dots; empty for the model itself", max_length=_MANY),
        "kind": schema.string("its class", max_length=_MANY),
        "parameters": schema.array(_PARAMETER, "its own, without those of its submodules", max_items=_MANY),
    },
)
_MODEL = schema.named_record(
    "Model",
    {
        "parameters": schema.integer("how many numbers, including modules that were left out"),
        "trained_parameters": schema.integer(),
        "left_out_modules": schema.integer(),
        "left_out_parameters": schema.integer(),
        "modules": schema.array(_MODULE, "parents before their submodules", max_items=_MANY),
    },
)


@endpoint(
    "GET",
    "modules",
    "The modules of the models that a run watched.",
    query={"run": RUN},
    required=("run",),
    returns=schema.named_record("Models", {"run": schema.string(), "models": schema.array(_MODEL, max_items=1000)}),
)
def modules(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    from pulseboard.charts.lists.modules import modules_of

    run = dashboard.run(request["run"])
    trees = modules_of(run)
    if not trees:
        raise NotFound(
            f"Run {run.name!r} recorded no modules.",
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
