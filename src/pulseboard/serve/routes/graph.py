"""The graph of a model: its operations, or its layers if the log has those."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import NotFound
from pulseboard.serve.http.parameters import RUN
from pulseboard.serve.live.dashboard import Dashboard

if TYPE_CHECKING:
    from pulseboard.core.values import GraphNode

_MAX_NODES = 50_000
_KINDS = ("graph", "keras_graph")

_NODE = schema.named_record(
    "GraphNode",
    {
        "name": schema.string(max_length=1_000_000),
        "op": schema.string(),
        "kind": schema.choice("operation", "layer"),
        "inputs": schema.array(schema.string(max_length=1_000_000), max_items=1_000_000),
        "device": schema.string(),
        "shape": schema.nullable(schema.string(max_length=1_000_000)),
        "attrs": schema.mapping(schema.any_value()),
    },
)
_GRAPH = schema.named_record(
    "Graph",
    {
        "run": schema.string(),
        "tag": schema.string(),
        "kind": schema.choice(*_KINDS),
        "total": schema.integer(),
        "nodes": schema.array(_NODE, max_items=_MAX_NODES),
    },
)


@endpoint(
    "GET",
    "graph",
    "The nodes of a graph, in the order of the file.",
    query={"run": RUN, "tag": schema.string("the first graph of the run if absent")},
    required=("run",),
    returns=_GRAPH,
)
def graph(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    run = dashboard.run(request["run"])
    request.revalidate(dashboard.state_of([run.name]))
    found = [(tag, kind) for kind in _KINDS for tag in run.tags(kind) if request["tag"] in (None, tag)]
    for tag, kind in found:
        values = run.values(tag, kind=kind)
        if values:
            nodes = list(_nodes(values[-1]))
            return {"run": run.name, "tag": tag, "kind": kind, "total": len(nodes), "nodes": nodes[:_MAX_NODES]}
    raise NotFound(f"Run {run.name!r} has no such graph.", do="api/tags?kind=graph lists the graphs.")


def _nodes(value: Any) -> Iterable[dict[str, Any]]:
    from pulseboard.core.values import Graph

    if isinstance(value, Graph):
        return (_node(node) for node in value.nodes)
    return _layers(value.json)


def _node(node: GraphNode) -> dict[str, Any]:
    shapes = [shape for key in ("_output_shapes", "shape") if (shape := node.attrs.get(key)) is not None]
    attrs = {key: value for key, value in node.attrs.items() if isinstance(value, int | float | bool | str)}
    module_attrs = node.attrs.get("attr")
    if isinstance(module_attrs, bytes):  # torch writes the attributes of a module here
        attrs["attr"] = module_attrs.decode("utf-8", "replace")
    return {
        "name": node.name,
        "op": node.op,
        "kind": "operation",
        "inputs": list(node.inputs),
        "device": node.device,
        "shape": str(shapes[0]) if shapes else None,
        "attrs": attrs,
    }


def _layers(text: str) -> Iterable[dict[str, Any]]:
    """The layers of a Keras model, which is saved as JSON."""
    try:
        layers = json.loads(text)["config"]["layers"]
        return [
            {
                "name": str(layer.get("name") or layer["config"]["name"]),
                "op": str(layer["class_name"]),
                "kind": "layer",
                "inputs": [],
                "device": "",
                "shape": None,
                "attrs": {},
            }
            for layer in layers
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotFound("The graph's JSON is not a Keras model.", do="Log it again with a current Keras.") from None
