"""A model's graph: its operations, or its layers where the log has those."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pulseboard.serve import schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.errors import NotFound
from pulseboard.serve.routes.runs import RUN

if TYPE_CHECKING:
    from pulseboard.core.values import GraphNode

_MOST_NODES = 50_000
_KINDS = ("graph", "keras_graph")

_NODE = schema.answer(
    "GraphNode",
    {
        "name": schema.text(most=1_000_000),
        "op": schema.text(),
        "kind": schema.choice("operation", "layer"),
        "inputs": schema.several(schema.text(most=1_000_000), most=1_000_000),
        "device": schema.text(),
        "shape": schema.or_null(schema.text(most=1_000_000)),
        "attrs": schema.by_name(schema.any_value()),
    },
)
_GRAPH = schema.answer(
    "Graph",
    {
        "run": schema.text(),
        "tag": schema.text(),
        "kind": schema.choice(*_KINDS),
        "total": schema.whole(),
        "nodes": schema.several(_NODE, most=_MOST_NODES),
    },
)


@endpoint(
    "GET",
    "graph",
    "The nodes of a graph, in the order of the file.",
    query={"run": RUN, "tag": schema.text("none: the first graph of the run")},
    required=("run",),
    gives=_GRAPH,
)
def graph(board: Board, ask: Ask) -> dict[str, Any]:
    run = board.run(ask["run"])
    ask.same_since(board.state_of([run.name]))
    found = [(tag, kind) for kind in _KINDS for tag in run.tags(kind) if ask["tag"] in (None, tag)]
    for tag, kind in found:
        values = run.values(tag, kind=kind)
        if values:
            nodes = list(_nodes(values[-1]))
            return {"run": run.name, "tag": tag, "kind": kind, "total": len(nodes), "nodes": nodes[:_MOST_NODES]}
    raise NotFound(f"Run {run.name!r} has no such graph.", do="See api/tags?kind=graph for what there is.")


def _nodes(value: Any) -> Iterable[dict[str, Any]]:
    from pulseboard.core.values import Graph

    if isinstance(value, Graph):
        return (_node(node) for node in value.nodes)
    return _layers(value.json)


def _node(node: GraphNode) -> dict[str, Any]:
    shapes = [shape for key in ("_output_shapes", "shape") if (shape := node.attrs.get(key)) is not None]
    said = {key: value for key, value in node.attrs.items() if isinstance(value, int | float | bool | str)}
    attributes = node.attrs.get("attr")
    if isinstance(attributes, bytes):  # torch writes what it knows of a module here
        said["attr"] = attributes.decode("utf-8", "replace")
    return {
        "name": node.name,
        "op": node.op,
        "kind": "operation",
        "inputs": list(node.inputs),
        "device": node.device,
        "shape": str(shapes[0]) if shapes else None,
        "attrs": said,
    }


def _layers(text: str) -> Iterable[dict[str, Any]]:
    """The layers of a Keras model, which wrote itself as JSON."""
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
        raise NotFound("The graph's JSON is not a model's.", do="Log it again with a current Keras.") from None
