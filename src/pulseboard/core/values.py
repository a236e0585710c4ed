"""The words for what a log holds besides scalars: histograms, images, text, graphs and their like.

Arrays are read-only: a value is what the file says, and several readers may share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Something logged once. Each kind below says what."""

    step: int
    wall_time: float  # seconds since 1970, as the file has it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histogram(Value):
    """Buckets as TensorBoard shows them, and where the file has the old form, that form untouched."""

    # Bucket i counts the values from lefts[i] to rights[i]; empty arrays where nothing was counted.
    lefts: NDArray[np.float64]
    rights: NDArray[np.float64]
    counts: NDArray[np.float64]

    # The old form only; None in the tensor form, which does not keep them.
    min: float | None = None
    max: float | None = None
    num: float | None = None
    sum: float | None = None
    sum_squares: float | None = None
    bucket_limits: NDArray[np.float64] | None = None  # right edges, the outermost often +-1.8e308
    bucket_counts: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(Value):
    """One step's images, all of one size, still encoded."""

    width: int
    height: int
    frames: tuple[bytes, ...]

    @property
    def media_type(self) -> str:
        """What the first frame is, by its first bytes: the file does not say."""
        return image_media_type(self.frames[0]) if self.frames else UNKNOWN_MEDIA_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioClip:
    """One clip, still encoded."""

    data: bytes
    media_type: str  # always safe to send as a header: 'audio/...' or 'application/octet-stream'
    label: str  # Markdown, mostly empty
    sample_rate: float | None  # hertz; None where neither the file nor the clip says


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio(Value):
    """One step's clips."""

    clips: tuple[AudioClip, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Value):
    """Markdown text: one string, or an array of them."""

    shape: tuple[int, ...]  # () for one string
    items: tuple[str, ...]  # in row-major order

    @property
    def text(self) -> str:
        """The string; of an array, its items with an empty line between them."""
        return "\n\n".join(self.items)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PRCurve(Value):
    """Precision and recall over rising thresholds. Seven arrays of one length.

    The tail where nothing was predicted positive is left off, as in TensorBoard: precision has no
    meaning there.
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
    """One part of a mesh. The parts of one mesh share `name` and step, and have tags of their own."""

    name: str
    component: Literal["vertex", "face", "color", "undefined"]
    array: NDArray[Any]  # batch x n x 3
    config: str  # JSON for three.js; may be empty
    shape: tuple[int, ...]  # as declared; -1 where it was not known yet


@dataclass(frozen=True, slots=True)
class MarginSeries:
    """The tags of a line and of the band around it."""

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart of a layout. Has `tags` or `series`, never both."""

    title: str
    tags: tuple[str, ...] = ()  # regular expressions: each tag that matches is a line
    series: tuple[MarginSeries, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartCategory:
    """A titled group of charts."""

    title: str
    closed: bool
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(Value):
    """How the writer would have its scalars arranged (TensorBoard's custom scalars)."""

    categories: tuple[ChartCategory, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An attribute kept as the file's bytes: a tensor, a function or a placeholder."""

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
    inputs: tuple[str, ...]  # 'node', 'node:1' or '^node' for order only
    device: str
    attrs: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFunction:
    """A function that nodes call by its name as their op."""

    name: str
    nodes: tuple[GraphNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(Value):
    """A model's operations."""

    nodes: tuple[GraphNode, ...]
    functions: tuple[GraphFunction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasGraph(Value):
    """A Keras model's layers, as the JSON text that Keras wrote."""

    json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetadata(Value):
    """TensorFlow's profile of one step, as the file's bytes (a RunMetadata message)."""

    tag: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(Value):
    """A line that TensorFlow wrote to its log."""

    level: Literal["unknown", "debug", "info", "warning", "error", "fatal"]
    message: str


@dataclass(frozen=True, slots=True)
class Interval:
    """From `min` to `max`, both included."""

    min: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HParamInfo:
    """What the experiment says about one hyperparameter."""

    name: str
    display_name: str
    description: str
    type: Literal["unset", "string", "bool", "float"]
    domain: Interval | tuple[float | str | bool | None, ...] | None  # None: anything


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """What the experiment says about one metric: the scalar `tag` of the run below `group`."""

    tag: str
    group: str
    display_name: str
    description: str
    dataset: Literal["unknown", "training", "validation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HParams(Value):
    """A run's hyperparameters, from as many of its three records as were found."""

    records: frozenset[Literal["experiment", "session_start", "session_end"]] = frozenset()

    # From session_start.
    values: dict[str, float | str | bool | None] = field(default_factory=dict)
    group_name: str = ""
    model_uri: str = ""
    monitor_url: str = ""
    start_time: float | None = None  # seconds since 1970; None where the file does not say

    # From session_end.
    status: Literal["unknown", "success", "failure", "running"] = "unknown"
    end_time: float | None = None

    # From experiment, which may stand in a run of its own above the sessions.
    name: str = ""
    description: str = ""
    user: str = ""
    time_created: float | None = None
    hparam_infos: tuple[HParamInfo, ...] = ()
    metric_infos: tuple[MetricInfo, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tensor(Value):
    """Numbers or strings of any shape.

    bfloat16 comes as float32, which holds it exactly; strings as an object array of bytes.
    """

    array: NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw(Value):
    """A value of a plugin we do not know: everything the file has about it."""

    plugin: str  # empty where no plugin is named
    content: bytes  # what the plugin keeps in the metadata
    value: bytes  # the whole Summary.Value message


# ---------- what encoded bytes are, by how they begin

UNKNOWN_MEDIA_TYPE = "application/octet-stream"

_IMAGE_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF8": "image/gif",
    b"\xff\xd8\xff": "image/jpeg",
    b"BM": "image/bmp",
}
_AUDIO_BEGINNINGS = {
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
}


def image_media_type(data: bytes) -> str:
    """The media type of an encoded image."""
    return _media_type(data, beginnings=_IMAGE_BEGINNINGS, riff={b"WEBP": "image/webp"})


def audio_media_type(data: bytes) -> str:
    """The media type of an encoded clip."""
    return _media_type(data, beginnings=_AUDIO_BEGINNINGS, riff={b"WAVE": "audio/wav"})


def _media_type(data: bytes, *, beginnings: dict[bytes, str], riff: dict[bytes, str]) -> str:
    if data.startswith(b"RIFF"):
        return riff.get(data[8:12], UNKNOWN_MEDIA_TYPE)
    return next((name for start, name in beginnings.items() if data.startswith(start)), UNKNOWN_MEDIA_TYPE)
