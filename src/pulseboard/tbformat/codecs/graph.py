"""Graphs: the nodes of a GraphDef, alone or in a MetaGraphDef, and the JSON of a Keras model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pulseboard.core.values import Graph, GraphFunction, GraphNode, KerasGraph, Opaque
from pulseboard.tbformat.dtypes import dtype_name
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue
from pulseboard.tbformat.tensor import read_dimensions
from pulseboard.tbformat.wire import BYTES, FIXED32, VARINT, Message, read_fields

_META_GRAPH = 109

MAX_NODES = 100_000
"""The first nodes of a graph that are decoded. No page can show more."""


def decode_graph(value: StoredValue) -> Graph:
    """Decode a graph from any field that can hold one."""
    data = value.first_string() if value.field == TENSOR_FIELD else value.data
    message = _bounded(Message(data).blob(2) if value.field == _META_GRAPH else data)
    return Graph(
        step=value.step,
        wall_time=value.wall_time,
        nodes=tuple(map(_node, message.messages(1))),
        functions=tuple(map(_function, message.message(2).messages(1))),
    )


def _bounded(data: bytes) -> Message:
    """The message of a graph, cut after its first nodes: two bytes are a node, and the object of one is a hundred times
    as large."""
    nodes = 0
    for number, _, _, end in read_fields(data, start=0, end=len(data)):
        nodes += number == 1
        if nodes == MAX_NODES:
            return Message(data, end=end)
    return Message(data)


def decode_keras_graph(value: StoredValue) -> KerasGraph:
    """Decode the JSON of a Keras model."""
    text = value.first_string().decode("utf-8", "replace")
    return KerasGraph(step=value.step, wall_time=value.wall_time, json=text)


def _function(message: Message) -> GraphFunction:
    return GraphFunction(name=message.message(1).text(1), nodes=tuple(map(_node, message.messages(3))))


def _node(message: Message) -> GraphNode:
    return GraphNode(
        name=message.text(1),
        op=message.text(2),
        inputs=message.texts(3),
        device=message.text(4),
        attrs={entry.text(1): _attribute(entry.message(2)) for entry in message.messages(5)},
    )


# ---------- attributes: the fields of AttrValue, one of which is set
# Functions can nest attributes to any depth. They stay bytes, so nothing here recurses.

_LIST = 1


def _opaque(kind: Literal["tensor", "func", "placeholder"]) -> Callable[[Message, int], Opaque]:
    return lambda message, number: Opaque(kind, message.blob(number))


_DECODERS: dict[int, tuple[int, Callable[[Message, int], Any]]] = {
    _LIST: (BYTES, lambda message, number: _list(message.message(number))),
    2: (BYTES, Message.blob),
    3: (VARINT, Message.integer),
    4: (FIXED32, Message.single),
    5: (VARINT, Message.boolean),
    6: (VARINT, lambda message, number: dtype_name(message.integer(number))),
    7: (BYTES, lambda message, number: read_dimensions(message.message(number))),
    8: (BYTES, _opaque("tensor")),
    9: (BYTES, _opaque("placeholder")),
    10: (BYTES, _opaque("func")),
}
_WIRES = {number: wire for number, (wire, _) in _DECODERS.items()}


def _attribute(message: Message) -> Any:
    number = message.which(_WIRES)
    return _DECODERS[number][1](message, number) if number else None


_LIST_DECODERS: dict[int, Callable[[Message], list[Any]]] = {
    2: lambda message: list(message.blobs(2)),
    3: lambda message: list(message.integers(3)),
    4: lambda message: message.singles(4),
    5: lambda message: [item != 0 for item in message.integers(5)],
    6: lambda message: [dtype_name(item) for item in message.integers(6)],
    7: lambda message: [read_dimensions(item) for item in message.messages(7)],
    8: lambda message: [Opaque("tensor", item) for item in message.blobs(8)],
    9: lambda message: [Opaque("func", item) for item in message.blobs(9)],
}


def _list(message: Message) -> list[Any]:
    """A list has items of one type; it is empty if no field is set."""
    return next(
        (items for number, read in _LIST_DECODERS.items() if message.has(number) and (items := read(message))), []
    )
