"""Model graphs: a torch model or an ONNX file as TensorBoard's GraphDef, converted by torch."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from pulseboard.record.messages import warn_once


class ModelGraph(NamedTuple):
    """Encoded messages."""

    graph: bytes  # a GraphDef
    run_metadata: bytes  # a RunMetadata; empty if there is none


def model_graph(model: Any, inputs: Any, *, verbose: bool, strict_trace: bool) -> ModelGraph | None:
    """The operations of one traced call of `model`. None if the converter is not installed."""
    converter = _converter("_pytorch_graph", needs="torch and tensorboard")
    if converter is None:
        return None
    graph, stats = converter.graph(model, inputs, verbose, strict_trace)
    return ModelGraph(graph.SerializeToString(), stats.SerializeToString())


def onnx_graph(path: Any) -> ModelGraph | None:
    """The operations in an ONNX file. None if the converter is not installed."""
    converter = _converter("_onnx_graph", needs="torch, tensorboard and onnx")
    if converter is None:
        return None
    try:
        return ModelGraph(converter.load_onnx_graph(path).SerializeToString(), b"")
    except ImportError:
        _warn_missing("onnx")
        return None


def _converter(name: str, *, needs: str) -> Any:
    try:
        return importlib.import_module(f"torch.utils.tensorboard.{name}")
    except ImportError:
        _warn_missing(needs)
        return None


def _warn_missing(needs: str) -> None:
    warn_once(f"graph {needs}", f"The graph is not logged: this needs {needs}. Training continues without it.")
