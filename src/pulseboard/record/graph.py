"""Graphs: a torch model or an ONNX file as TensorBoard's GraphDef, by torch's own converters."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from pulseboard.record.report import say_once


class ModelGraph(NamedTuple):
    """Messages that are encoded already."""

    graph: bytes  # a GraphDef
    run_metadata: bytes  # a RunMetadata, empty where there is none


def model_graph(model: Any, inputs: Any, *, verbose: bool, strict_trace: bool) -> ModelGraph | None:
    """The operations of one call of `model`, which is traced. None where the converter is not installed."""
    converter = _converter("_pytorch_graph", needs="torch and tensorboard")
    if converter is None:
        return None
    graph, stats = converter.graph(model, inputs, verbose, strict_trace)
    return ModelGraph(graph.SerializeToString(), stats.SerializeToString())


def onnx_graph(path: Any) -> ModelGraph | None:
    """The operations in an ONNX file. None where the converter is not installed."""
    converter = _converter("_onnx_graph", needs="torch, tensorboard and onnx")
    if converter is None:
        return None
    try:
        return ModelGraph(converter.load_onnx_graph(path).SerializeToString(), b"")
    except ImportError:
        _say("onnx")
        return None


def _converter(name: str, *, needs: str) -> Any:
    try:
        return importlib.import_module(f"torch.utils.tensorboard.{name}")
    except ImportError:
        _say(needs)
        return None


def _say(needs: str) -> None:
    say_once(f"graph {needs}", f"The graph is not logged: making one needs {needs}. Training goes on without it.")
