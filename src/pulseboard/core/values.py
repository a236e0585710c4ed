"""Logged values other than scalars: histograms, images, audio, text, graphs, hyperparameters, …

Arrays are read-only, because several readers may share a value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pulseboard.core.histogram import Histogram as Histogram

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One logged value. The subclasses are its kinds."""

    step: int
    wall_time: float  # seconds since 1970, as in the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(Value):
    """The images of one step, all the same size, still encoded."""

    width: int
    height: int
    frames: tuple[bytes, ...]

    @property
    def media_type(self) -> str:
        """The type of the first frame, detected from its first bytes because the file does not store it."""
        return image_media_type(self.frames[0]) if self.frames else UNKNOWN_MEDIA_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioClip:
    """One clip, still encoded."""

    data: bytes
    media_type: str  # safe to send as a header: 'audio/...' or 'application/octet-stream'
    label: str  # Markdown, usually empty
    sample_rate: float | None  # hertz; None if neither the file nor the clip gives it


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio(Value):
    """The clips of one step."""

    clips: tuple[AudioClip, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Value):
    """Markdown text: one string or an array of strings."""

    shape: tuple[int, ...]  # () for one string
    items: tuple[str, ...]  # in row-major order

    @property
    def text(self) -> str:
        """The string, or the items of an array separated by blank lines."""
        return "\n\n".join(self.items)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PRCurve(Value):
    """Precision and recall over rising thresholds. Seven arrays of equal length.

    As in TensorBoard, the tail where nothing is predicted positive is left off: precision is undefined there.
    """

    thresholds: NDArray[np.float64]
    true_positives: NDArray[np.float64]  # not rounded: weighted counts are fractions
    false_positives: NDArray[np.float64]
    true_negatives: NDArray[np.float64]
    false_negatives: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mesh(Value):
    """One component of a mesh. The components share `name` and step, and each has its own tag."""

    name: str
    component: Literal["vertex", "face", "color", "undefined"]
    array: NDArray[Any]  # batch x n x 3
    config: str  # JSON for three.js; may be empty
    shape: tuple[int, ...]  # as declared; -1 for sizes unknown at the time


@dataclass(frozen=True, slots=True)
class MarginSeries:
    """The tags of a line and the band around it."""

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart of a layout. Has `tags` or `series`, never both."""

    title: str
    tags: tuple[str, ...] = ()  # regular expressions; every matching tag is a line
    series: tuple[MarginSeries, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartCategory:
    """A titled group of charts."""

    title: str
    closed: bool
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(Value):
    """How the writer wants its scalars arranged (TensorBoard's custom scalars)."""

    categories: tuple[ChartCategory, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An attribute kept as raw bytes: a tensor, a function or a placeholder."""

    what: Literal["tensor", "func", "placeholder"]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """One operation.

    Attributes are bytes, int, float, bool, a type's name ('DT_FLOAT'), a shape (a tuple, -1 for an
    unknown size; None for an unknown rank), a list of those, or `Opaque`.
    """

    name: str
    op: str
    inputs: tuple[str, ...]  # 'node', 'node:1', or '^node' for a control dependency
    device: str
    attrs: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFunction:
    """A function. Nodes call it by using its name as their op."""

    name: str
    nodes: tuple[GraphNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(Value):
    """A model's operations."""

    nodes: tuple[GraphNode, ...]
    functions: tuple[GraphFunction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasGraph(Value):
    """A Keras model's layers, as Keras wrote them: JSON text."""

    json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetadata(Value):
    """TensorFlow's profile of one step, as raw bytes of a RunMetadata message."""

    tag: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(Value):
    """A line of TensorFlow's own log."""

    level: Literal["unknown", "debug", "info", "warning", "error", "fatal"]
    message: str


@dataclass(frozen=True, slots=True)
class Interval:
    """From `min` to `max`, inclusive."""

    min: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HParamInfo:
    """An experiment's description of one hyperparameter."""

    name: str
    display_name: str
    description: str
    type: Literal["unset", "string", "bool", "float"]
    domain: Interval | tuple[float | str | bool | None, ...] | None  # None: anything


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """An experiment's description of one metric: the scalar `tag` of the run below `group`."""

    tag: str
    group: str
    display_name: str
    description: str
    dataset: Literal["unknown", "training", "validation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HParams(Value):
    """A run's hyperparameters, from whichever of its three records were found."""

    records: frozenset[Literal["experiment", "session_start", "session_end"]] = frozenset()

    # From session_start.
    values: dict[str, float | str | bool | None] = field(default_factory=dict)
    group_name: str = ""
    model_uri: str = ""
    monitor_url: str = ""
    start_time: float | None = None  # seconds since 1970; None if not in the file

    # From session_end.
    status: Literal["unknown", "success", "failure", "running"] = "unknown"
    end_time: float | None = None

    # From experiment, which may be in a separate run above the sessions.
    name: str = ""
    description: str = ""
    user: str = ""
    time_created: float | None = None
    hparam_infos: tuple[HParamInfo, ...] = ()
    metric_infos: tuple[MetricInfo, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tensor(Value):
    """Numbers or strings of any shape.

    bfloat16 is returned as float32, which represents it exactly; strings as an object array of bytes.
    """

    array: NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw(Value):
    """A value of an unknown plugin, with everything the file stores about it."""

    plugin: str  # empty if no plugin is named
    content: bytes  # the plugin's own metadata
    value: bytes  # the whole Summary.Value message


# ---------- media types, by magic bytes

UNKNOWN_MEDIA_TYPE = "application/octet-stream"

_IMAGE_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF8": "image/gif",
    b"\xff\xd8\xff": "image/jpeg",
    b"BM": "image/bmp",
}
_AUDIO_MAGIC = {
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
}


def image_media_type(data: bytes) -> str:
    """The media type of an encoded image."""
    return _media_type(data, magic=_IMAGE_MAGIC, riff={b"WEBP": "image/webp"})


def audio_media_type(data: bytes) -> str:
    """The media type of an encoded clip."""
    return _media_type(data, magic=_AUDIO_MAGIC, riff={b"WAVE": "audio/wav"})


def _media_type(data: bytes, *, magic: dict[bytes, str], riff: dict[bytes, str]) -> str:
    if data.startswith(b"RIFF"):
        return riff.get(data[8:12], UNKNOWN_MEDIA_TYPE)
    return next((name for start, name in magic.items() if data.startswith(start)), UNKNOWN_MEDIA_TYPE)
