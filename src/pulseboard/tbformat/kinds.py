"""Kinds of data: the one word that names what a stored value is."""

from __future__ import annotations

SCALAR, HISTOGRAM, IMAGE, AUDIO, TEXT, TENSOR = "scalar", "histogram", "image", "audio", "text", "tensor"
HPARAMS, PR_CURVE, MESH, CUSTOM_SCALARS = "hparams", "pr_curve", "mesh", "custom_scalars"
GRAPH, KERAS_GRAPH, RUN_METADATA, LOG = "graph", "keras_graph", "run_metadata", "log"

OBSOLETE_HISTOGRAM = "obsolete_histogram"
"""Bytes that only TensorFlow before its first release could read."""

# The field that holds a value, numbered as in kernel/c/events/events.h: a field of Summary.Value, or 100 + a field of
# Event. These fields determine the kind, whatever plugin the tag names.
_BY_FIELD = {
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
"""The field of a value that has none: everything is in its metadata."""

DECLARATION = ""
"""The kind of a value that only says which plugin its tag belongs to. No tag has this kind."""

TENSOR_FIELD = 8
"""The field of all newer kinds: the plugin decides what the tensor means."""

BY_PLUGIN = {
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


def kind_of(field: int, plugin: str | None) -> str:
    """The kind of a value stored in `field`, under a tag with this plugin (None if the file names none).

    An unknown plugin's name is itself the kind.
    """
    if field == METADATA_ONLY and plugin in BY_PLUGIN and plugin != HPARAMS:
        return DECLARATION  # of the plugins we know, only hyperparameters are kept in metadata
    return _BY_FIELD.get(field) or BY_PLUGIN.get(plugin or "") or plugin or TENSOR


def fields_in(bits: int) -> list[int]:
    """The field numbers in the kernel's bit set of a tag's span fields (`span_fields` in events.h)."""
    return [bit if bit < 16 else bit + 84 for bit in range(bits.bit_length()) if bits >> bit & 1]
