"""Media as values of `run.log`: `run.log({"samples": pb.Image(pixels, caption="a cat")})`."""

from __future__ import annotations

import os
import wave
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.record.arrays import as_array
from pulseboard.record.media.media_calls import Media, MediaCalls

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_ROWS = 1000
"""Rows of a table that are logged; the rest is counted."""


class _Captioned(Media):
    """The caption is logged as the text `<tag>/caption` at the same step."""

    def __init__(self, data: Any, caption: str | None) -> None:
        self.data, self.caption = data, caption

    def _log(self, run: MediaCalls, tag: str, step: int) -> None:
        raise NotImplementedError

    def log(self, run: MediaCalls, tag: str, *, step: int) -> None:
        """Log the data and the caption."""
        self._log(run, tag, step)
        if self.caption:
            run.text(f"{tag}/caption", self.caption, step=step)


class Image(_Captioned):
    """An image: an array, a tensor, a Pillow image, a matplotlib figure, or the path of a file (with Pillow)."""

    def __init__(self, data: Any, *, caption: str | None = None, dataformats: str | None = None) -> None:
        super().__init__(data, caption)
        self.dataformats = dataformats

    def _log(self, run: MediaCalls, tag: str, step: int) -> None:
        data = self.data
        if type(data).__module__ == "matplotlib.figure":
            run.figure(tag, data, step=step)
            return
        if isinstance(data, str | os.PathLike):
            import PIL.Image

            with PIL.Image.open(data) as opened:
                data = opened.convert("RGB")
        run.image(tag, data, step=step, dataformats=self.dataformats)


class Audio(_Captioned):
    """Sound: samples from -1 to 1 in one dimension, or the path of a WAV file of 16 bits."""

    def __init__(self, data: Any, *, sample_rate: int = 44100, caption: str | None = None) -> None:
        super().__init__(data, caption)
        self.sample_rate = sample_rate

    def _log(self, run: MediaCalls, tag: str, step: int) -> None:
        samples, sample_rate = self.data, self.sample_rate
        if isinstance(samples, str | os.PathLike):
            samples, sample_rate = _read_wav(samples)
        run.audio(tag, samples, step=step, sample_rate=sample_rate)


class Video(_Captioned):
    """Frames: T x C x H x W, or N of them side by side."""

    def __init__(self, data: Any, *, fps: float = 4, caption: str | None = None) -> None:
        super().__init__(data, caption)
        self.fps = fps

    def _log(self, run: MediaCalls, tag: str, step: int) -> None:
        run.video(tag, self.data, step=step, fps=self.fps)


class Text(Media):
    """A text, which viewers show as Markdown."""

    def __init__(self, text: str) -> None:
        self.text = str(text)

    def log(self, run: MediaCalls, tag: str, *, step: int) -> None:
        """Log it."""
        run.text(tag, self.text, step=step)


class Histogram(Media):
    """The distribution of the values of an array, a tensor or a list."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def log(self, run: MediaCalls, tag: str, *, step: int) -> None:
        """Log it."""
        run.histogram(tag, self.values, step=step)


class Table(Media):
    """A table, logged as Markdown: rows, or a data frame."""

    def __init__(
        self, columns: Sequence[str] | None = None, data: Iterable[Iterable[Any]] = (), *, dataframe: Any = None
    ) -> None:
        if dataframe is not None:
            columns, data = list(dataframe.columns), dataframe.itertuples(index=False, name=None)
        self.columns = [str(name) for name in columns or ()]
        self.data = [list(row) for row in data]

    def add_data(self, *row: Any) -> None:
        """Add a row."""
        self.data.append(list(row))

    def markdown(self) -> str:
        """The table as text."""
        width = max(len(self.columns), max((len(row) for row in self.data[:MAX_ROWS]), default=0))
        names = self.columns + [str(i) for i in range(len(self.columns), width)]
        rows = [[*row, *[""] * (width - len(row))] for row in self.data[:MAX_ROWS]]
        lines = [names, ["---"] * width, *rows]
        more = f"\n\n{len(self.data) - MAX_ROWS} more rows" if len(self.data) > MAX_ROWS else ""
        return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines) + more

    def log(self, run: MediaCalls, tag: str, *, step: int) -> None:
        """Log it."""
        run.text(tag, self.markdown(), step=step)


class PRCurve(Media):
    """Precision and recall of predictions from 0 to 1, of labels that are 0 or 1."""

    def __init__(self, labels: Any, predictions: Any, *, thresholds: int = 127) -> None:
        self.labels, self.predictions, self.thresholds = labels, predictions, thresholds

    def log(self, run: MediaCalls, tag: str, *, step: int) -> None:
        """Log it."""
        run.pr_curve(tag, self.labels, self.predictions, step=step, thresholds=self.thresholds)


class ConfusionMatrix(Media):
    """How often each class was predicted for each true class: an image, and the counts as the table `<tag>/counts`."""

    def __init__(self, truth: Any, predictions: Any, *, classes: Sequence[str] | None = None) -> None:
        self.counts = _confusion(truth, predictions, len(classes or ()))
        self.classes = [str(name) for name in classes or range(len(self.counts))]

    def log(self, run: MediaCalls, tag: str, *, step: int) -> None:
        """Log both."""
        import numpy as np

        shares = self.counts / np.maximum(1, self.counts.sum(axis=1, keepdims=True))
        cell = max(1, 256 // len(shares))
        run.image(tag, np.kron(1.0 - shares, np.ones((cell, cell))), step=step, dataformats="HW")
        rows = [[name, *counts] for name, counts in zip(self.classes, self.counts.tolist(), strict=True)]
        Table(["true \\ predicted", *self.classes], rows).log(run, f"{tag}/counts", step=step)


def _confusion(truth: Any, predictions: Any, classes: int) -> NDArray[np.int64]:
    import numpy as np

    pairs = [as_array(labels).astype(np.int64).ravel() for labels in (truth, predictions)]
    size = max(classes, *(int(labels.max(initial=-1)) + 1 for labels in pairs), 1)
    counts: NDArray[np.int64] = np.zeros((size, size), np.int64)
    np.add.at(counts, tuple(pairs), 1)
    return counts


def _read_wav(path: str | os.PathLike[str]) -> tuple[NDArray[Any], int]:
    import numpy as np

    with wave.open(os.fspath(path), "rb") as file:
        if file.getsampwidth() != 2:
            raise ValueError(f"A WAV file must have 16 bits per sample; this has {8 * file.getsampwidth()}: {path}")
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
        return samples.mean(axis=1) / 32768, file.getframerate()


def _cell(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
