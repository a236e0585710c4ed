"""Graphs: a GraphDef's nodes, alone or within a MetaGraphDef, and a Keras model's JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pulseboard.core.values import Graph, GraphFunction, GraphNode, KerasGraph, Opaque
from pulseboard.files.dtypes import dtype_name
from pulseboard.files.kinds import IN_TENSOR
from pulseboard.files.stored import StoredValue
from pulseboard.files.tensor import read_dimensions
from pulseboard.files.wire import BYTES, FIXED32, VARINT, Message

_META_GRAPH = 109


def decode_graph(value: StoredValue) -> Graph:
    """A graph, from wherever a writer may keep one."""
    message = Message(value.first_string() if value.what == IN_TENSOR else value.data)
    if value.what == _META_GRAPH:
        message = message.message(2)
    return Graph(
        step=value.step,
        wall_time=value.wall_time,
        nodes=tuple(map(_node, message.messages(1))),
        functions=tuple(map(_function, message.message(2).messages(1))),
    )


def decode_keras_graph(value: StoredValue) -> KerasGraph:
    """A Keras model's JSON."""
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
# Functions hold attributes of their own without end; they stay bytes, so nothing here recurses.

_LIST = 1


def _opaque(what: Literal["tensor", "func", "placeholder"]) -> Callable[[Message, int], Opaque]:
    return lambda message, number: Opaque(what, message.blob(number))


_ONE: dict[int, tuple[int, Callable[[Message, int], Any]]] = {
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
_WIRES = {number: wire for number, (wire, _) in _ONE.items()}


def _attribute(message: Message) -> Any:
    number = message.which(_WIRES)
    return _ONE[number][1](message, number) if number else None


_MANY: dict[int, Callable[[Message], list[Any]]] = {
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
    """A list has items of one type; it is empty where the file sets none."""
    return next((items for number, read in _MANY.items() if message.has(number) and (items := read(message))), [])
