"""What a run takes besides scalars: histograms, text, images, audio, figures and hyperparameters.

The caller pays for a copy of what it hands over. Counting, drawing and compressing are the worker's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.files import event
from pulseboard.files.audio import encode_audio
from pulseboard.files.histogram import Buckets, encode_histogram, histogram_of_buckets
from pulseboard.files.hparams import encode_experiment, encode_session_end, encode_session_start
from pulseboard.files.image import encode_image
from pulseboard.files.text import encode_text
from pulseboard.record.arrays import as_array, is_tensor
from pulseboard.record.histogram import histogram_later, histogram_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.record.rank import Rank
    from pulseboard.record.stand_in import EventTarget

# Copies that may wait for the worker; past that the caller does the work itself, and memory stays bounded.
_MOST_WAITING_BYTES = 256 << 20


class Media:
    """The calls of Run that take more than numbers. Each is one Event at `step`, the last step where it is left out."""

    events: EventTarget
    rank: Rank
    _step: int

    def __init__(self) -> None:
        self._waiting_bytes = 0
        self._counting = threading.Lock()
        self._has_hparams = False

    @property
    def has_sinks(self) -> bool:
        """Whether anything besides the event file is written."""
        raise NotImplementedError

    def in_background(self, job: Callable[[], None]) -> None:
        """Have `job` done soon by the run's worker."""
        raise NotImplementedError

    def send(self, call: str, *args: Any, **named: Any) -> None:
        """Pass something to the run's other sinks."""
        raise NotImplementedError

    def complain(self, error: Exception, *, doing: str) -> None:
        """Say what went wrong, or raise it where the run is strict."""
        raise NotImplementedError

    def histogram(self, tag: str, values: Any, *, step: int | None = None) -> None:
        """How `values` (an array, a tensor on any device, a list) are spread, in TensorBoard's buckets."""

        def take() -> tuple[Callable[[], Buckets], int]:
            if is_tensor(values) and values.device.type != "cpu":
                return histogram_later(values), 0  # counted on its device, and fetched by the worker
            copy = as_array(values).copy()
            return lambda: histogram_of(copy), copy.nbytes

        def log(buckets: Buckets, at: int, wall: float) -> None:
            self._record(encode_histogram(tag, histogram=buckets), at, wall)
            if self.has_sinks:
                self.send("histogram", tag, histogram_of_buckets(buckets, step=at, wall_time=wall))

        self._hand_over(take, log, step=step, doing="histogram")

    def text(self, tag: str, text: str, *, step: int | None = None) -> None:
        """A text, which viewers show as Markdown."""

        def log(text: str, at: int, wall: float) -> None:
            self._record(encode_text(tag, text=text), at, wall)
            self.send("text", tag, text, step=at, wall_time=wall)

        self._hand_over(lambda: ((lambda: str(text)), 0), log, step=step, doing="text", now=True)

    def image(self, tag: str, image: Any, *, step: int | None = None, dataformats: str | None = None) -> None:
        """An image: an array or a tensor of bytes, or of floats from 0 to 1, or a Pillow image.

        `dataformats` names its axes (CHW, HWC, HW; NCHW for a grid); it is guessed where it is left out.
        """
        from pulseboard.record.pixels import as_pixels

        def take() -> tuple[Callable[[], NDArray[np.uint8]], int]:
            copy = as_array(image).copy()
            axes = dataformats or _axes_of(copy.shape)
            return lambda: as_pixels(copy, dataformats=axes), copy.nbytes

        self._hand_over(
            take, lambda pixels, at, wall: self._log_pixels(tag, pixels, at, wall), step=step, doing="image"
        )

    def figure(self, tag: str, figure: Any, *, step: int | None = None, close: bool = True) -> None:
        """A matplotlib figure. It is drawn before this returns, since pyplot is not safe in other threads."""
        from pulseboard.record.figures import render_figure

        def take() -> tuple[Callable[[], NDArray[np.uint8]], int]:
            pixels = render_figure(figure, close=close)
            return lambda: pixels, pixels.nbytes

        self._hand_over(
            take, lambda pixels, at, wall: self._log_pixels(tag, pixels, at, wall), step=step, doing="figure"
        )

    def audio(self, tag: str, samples: Any, *, step: int | None = None, sample_rate: int = 44100) -> None:
        """Sound: samples from -1 to 1 in one dimension."""
        from pulseboard.record.sound import Wav, encode_wav

        def take() -> tuple[Callable[[], Wav], int]:
            copy = as_array(samples).copy()
            return lambda: encode_wav(copy, sample_rate=sample_rate), copy.nbytes

        def log(wav: Wav, at: int, wall: float) -> None:
            value = encode_audio(tag, data=wav.data, sample_rate=sample_rate, frames=wav.frames)
            self._record(value, at, wall)

        self._hand_over(take, log, step=step, doing="audio")

    def hparams(self, values: Mapping[str, Any], metrics: Mapping[str, Any] | None = None) -> None:
        """The run's hyperparameters, and the scalars to compare runs by, for the HParams tab.

        `metrics` are logged at the last step; how the session ended is added when the run is finished.
        """
        try:
            if not self.rank.is_main:
                return
            plain = {str(name): _plain(value) for name, value in values.items() if value is not None}
            wall = time.time()
            self._record(encode_experiment(plain, metrics=list(metrics or ())), None, wall)
            self._record(encode_session_start(plain, start_time=wall), None, wall)
            self._has_hparams = True
            self.send("config", plain)
            if metrics:
                self.log(dict(metrics), max(0, self._step - 1))
        except Exception as error:
            self.complain(error, doing="hparams")

    def log(self, values: Mapping[str, Any], step: int | None = None, *, per_rank: bool = False) -> None:
        """Log numbers under their tags."""
        raise NotImplementedError

    def end_hparams(self, status: str) -> None:
        """Say how the session ended, where its hyperparameters were logged."""
        if self._has_hparams:
            ended: Any = "success" if status == "finished" else "failure"
            self._record(encode_session_end(ended, end_time=time.time()), None, time.time())

    # ---- the way of all of them

    def _hand_over(
        self,
        take: Callable[[], tuple[Callable[[], Any], int]],
        log: Callable[[Any, int, float], None],
        *,
        step: int | None,
        doing: str,
        now: bool = False,
    ) -> None:
        """Take a copy here; have the worker make of it what is logged."""
        try:
            if not self.rank.is_main:
                return
            at = max(0, self._step - 1) if step is None else int(step)
            wall = time.time()
            make, size = take()
            if now or self._waiting_bytes + size > _MOST_WAITING_BYTES:
                log(make(), at, wall)
                return
            self._count(size)

            def job() -> None:
                try:
                    log(make(), at, wall)
                except Exception as error:
                    self.complain(error, doing=doing)
                finally:
                    self._count(-size)

            self.in_background(job)
        except Exception as error:
            self.complain(error, doing=doing)

    def _count(self, size: int) -> None:
        with self._counting:
            self._waiting_bytes += size

    def _record(self, value: bytes, step: int | None, wall: float) -> None:
        self.events.record(event.summary_event(value, step=step or 0, wall_time=wall), step)

    def _log_pixels(self, tag: str, pixels: NDArray[np.uint8], at: int, wall: float) -> None:
        from pulseboard.record.png import encode_png

        height, width, channels = pixels.shape
        png = encode_png(pixels)
        self._record(encode_image(tag, width=width, height=height, channels=channels, data=png), at, wall)
        self.send("image", tag, png, step=at, wall_time=wall)


def _axes_of(shape: tuple[int, ...]) -> str:
    """The likely meaning of an image's axes: channels are few, and torch puts them first."""
    if len(shape) == 2:
        return "HW"
    if len(shape) == 3:
        return "HWC" if shape[2] in (1, 3, 4) and shape[0] not in (1, 3, 4) else "CHW"
    if len(shape) == 4:
        return "NHWC" if shape[3] in (1, 3, 4) and shape[1] not in (1, 3, 4) else "NCHW"
    raise ValueError(f"an image has two to four axes, this one has {len(shape)}: {shape}")


def _plain(value: Any) -> float | str | bool:
    if isinstance(value, bool | str):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)
