"""Kinds of data: what a file says about a value, as one word."""

from __future__ import annotations

SCALAR, HISTOGRAM, IMAGE, AUDIO, TEXT, TENSOR = "scalar", "histogram", "image", "audio", "text", "tensor"
HPARAMS, PR_CURVE, MESH, CUSTOM_SCALARS = "hparams", "pr_curve", "mesh", "custom_scalars"
GRAPH, KERAS_GRAPH, RUN_METADATA, LOG = "graph", "keras_graph", "run_metadata", "log"

OBSOLETE_HISTOGRAM = "obsolete_histogram"
"""Bytes that only TensorFlow before its first release could read."""

# Where a value stands, numbered as in native/events.h: the field of Summary.Value, or 100 and more
# for a field of Event. These places say by themselves what they hold, whatever plugin is named.
_BY_PLACE = {
    2: SCALAR,
    3: OBSOLETE_HISTOGRAM,
    4: IMAGE,
    5: HISTOGRAM,
    6: AUDIO,
    104: GRAPH,
    106: LOG,
    108: RUN_METADATA,
    109: GRAPH,
}

METADATA_ONLY = 0
"""The place of a value that has none: everything it says is in its metadata."""

IN_TENSOR = 8
"""The place of everything newer: the plugin says what the tensor means."""

_BY_PLUGIN = {
    "": TENSOR,
    "scalars": SCALAR,
    "histograms": HISTOGRAM,
    "images": IMAGE,
    "audio": AUDIO,
    "text": TEXT,
    "hparams": HPARAMS,
    "pr_curves": PR_CURVE,
    "mesh": MESH,
    "custom_scalars": CUSTOM_SCALARS,
    "graphs": GRAPH,
    "graph_keras_model": KERAS_GRAPH,
    "graph_run_metadata": RUN_METADATA,
    "graph_run_metadata_graph": RUN_METADATA,
    "graph_tagged_run_metadata": RUN_METADATA,
}


def kind_of(what: int, plugin: str | None) -> str:
    """The kind of a value found at place `what` under a tag of this plugin (None: none is named).

    A plugin that nobody has heard of goes by its own name.
    """
    return _BY_PLACE.get(what) or _BY_PLUGIN.get(plugin or "") or plugin or TENSOR


def whats_of(bits: int) -> list[int]:
    """The places that the kernel's `whats` of a tag has a bit for (native/events.h)."""
    return [bit if bit < 16 else bit + 84 for bit in range(bits.bit_length()) if bits >> bit & 1]
