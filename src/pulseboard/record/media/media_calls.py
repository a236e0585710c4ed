"""The methods of an active run for more than scalars: histograms, text, images, audio, figures, hyperparameters.

What takes less than about a millisecond is encoded and written in the call, so that a killed process does not lose it.
For the rest the caller pays only for a copy of its data, and the worker thread counts and compresses.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pulseboard.record.arrays import as_array, is_tensor
from pulseboard.record.media.histogram import histogram_later, histogram_of
from pulseboard.record.numbers import checked_step
from pulseboard.tbformat import event
from pulseboard.tbformat.codecs.audio import encode_audio
from pulseboard.tbformat.codecs.histogram import Buckets, encode_histogram, histogram_of_buckets
from pulseboard.tbformat.codecs.hparams import encode_experiment, encode_session_end, encode_session_start
from pulseboard.tbformat.codecs.image import encode_image
from pulseboard.tbformat.codecs.text import encode_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.record.event_log.placeholders import EventTarget
    from pulseboard.record.rank import Rank

# What may wait for the worker, and so what a killed process can lose: docs/guides/logging.md states it. Beyond this the
# caller does the work itself.
MAX_WAITING_BYTES = 64 << 20
MAX_WAITING_RECORDS = 32
# Histograms that a device counts cost the worker hardly anything; working in the call would wait for the device.
MAX_WAITING_ON_DEVICE = 1000
# Inputs up to these sizes are encoded in the call: 0.3 ms of counting, and at most 1.3 ms of compressing noise.
MAX_NUMBERS_IN_CALL = 1 << 18
MAX_PIXELS_IN_CALL = 1 << 16


class Work(NamedTuple):
    """How to encode a record, and where."""

    encode: Callable[[], Any]
    copied_bytes: int = 0  # of the caller's data
    in_call: bool = False
    on_device: bool = False  # waits for a device


class Media:
    """A value of `run.log` that is not a number: see record/media/values.py."""

    def log(self, run: MediaCalls, tag: str, *, step: int) -> None:
        """Log it to `run`."""
        raise NotImplementedError


class MediaCalls:
    """Methods of ActiveRun. Each logs one Event at `step`, or at the last step if it is not given."""

    events: EventTarget
    rank: Rank
    _step: int

    def __init__(self) -> None:
        self._waiting_bytes = self._waiting_records = self._waiting_on_device = 0
        self._waiting_lock = threading.Lock()
        self._has_hparams = False

    @property
    def has_sinks(self) -> bool:
        """Whether anything other than the event file is written."""
        raise NotImplementedError

    def closed(self, step: int) -> bool:
        """Whether the run takes no more records."""
        raise NotImplementedError

    def in_background(self, job: Callable[[], None]) -> None:
        """Run `job` soon, on the run's worker thread."""
        raise NotImplementedError

    def send(self, call: str, *args: Any, **named: Any) -> None:
        """Call a method of every sink."""
        raise NotImplementedError

    def handle_error(self, error: Exception, *, action: str) -> None:
        """Print the error once, or raise it if the run is strict."""
        raise NotImplementedError

    def histogram(self, tag: str, values: Any, *, step: int | None = None) -> None:
        """Log the distribution of `values`: an array, a tensor on any device, or a list."""

        def work() -> Work:
            if is_tensor(values) and values.device.type != "cpu":
                return Work(histogram_later(values), on_device=True)  # counted there, read by the worker
            array = as_array(values)
            if array.size <= MAX_NUMBERS_IN_CALL:
                return Work(lambda: histogram_of(array), in_call=True)
            copy = array.copy()
            return Work(lambda: histogram_of(copy), copy.nbytes)

        def log(buckets: Buckets, at: int, wall: float) -> None:
            self._record(encode_histogram(tag, histogram=buckets), at, wall)
            if self.has_sinks:
                self.send("histogram", tag, histogram_of_buckets(buckets, step=at, wall_time=wall))

        self._log_encoded(work, log, step=step, action="histogram")

    def text(self, tag: str, text: str, *, step: int | None = None) -> None:
        """Log a text, which viewers show as Markdown."""

        def log(text: str, at: int, wall: float) -> None:
            self._record(encode_text(tag, text=text), at, wall)
            self.send("text", tag, text, step=at, wall_time=wall)

        self._log_encoded(lambda: Work(lambda: str(text), in_call=True), log, step=step, action="text")

    def image(self, tag: str, image: Any, *, step: int | None = None, dataformats: str | None = None) -> None:
        """Log an image: an array or tensor of bytes or of floats from 0 to 1, or a Pillow image.

        `dataformats` names its axes (CHW, HWC, HW; NCHW for a grid). Without it they are guessed from the shape.
        """
        from pulseboard.record.media.pixels import as_pixels

        def work() -> Work:
            array = as_array(image)
            axes = dataformats or _axes_of(array.shape)
            if array.size <= MAX_PIXELS_IN_CALL:
                return Work(lambda: as_pixels(array, dataformats=axes), in_call=True)
            copy = array.copy()
            return Work(lambda: as_pixels(copy, dataformats=axes), copy.nbytes)

        self._log_encoded(
            work, lambda pixels, at, wall: self._log_pixels(tag, pixels, at, wall), step=step, action="image"
        )

    def figure(self, tag: str, figure: Any, *, step: int | None = None, close: bool = True) -> None:
        """Log a matplotlib figure. It is drawn before this returns, since pyplot is not thread-safe."""
        from pulseboard.record.media.figures import render_figure

        # Compressing takes a tenth of the time of drawing.
        self._log_encoded(
            lambda: Work(lambda: render_figure(figure, close=close), in_call=True),
            lambda pixels, at, wall: self._log_pixels(tag, pixels, at, wall),
            step=step,
            action="figure",
        )

    def audio(self, tag: str, samples: Any, *, step: int | None = None, sample_rate: int = 44100) -> None:
        """Log audio: samples from -1 to 1 in one dimension."""
        from pulseboard.record.media.audio import Wav, encode_wav

        def work() -> Work:  # in the call: it takes hardly longer than a copy
            return Work(lambda: encode_wav(as_array(samples), sample_rate=sample_rate), in_call=True)

        def log(wav: Wav, at: int, wall: float) -> None:
            value = encode_audio(tag, data=wav.data, sample_rate=sample_rate, frames=wav.frames)
            self._record(value, at, wall)

        self._log_encoded(work, log, step=step, action="audio")

    def video(self, tag: str, frames: Any, *, step: int | None = None, fps: float = 4) -> None:
        """Log a video as an animated GIF: frames as T x C x H x W, or N videos side by side. Needs Pillow."""
        from pulseboard.record.media.pixels import to_bytes
        from pulseboard.record.media.video import encode_gif, video_grid

        def work() -> Work:
            copy = as_array(frames).copy()
            grid = to_bytes(video_grid(copy if copy.ndim == 5 else copy[None]))
            return Work(lambda: encode_image(
                tag, width=grid.shape[2], height=grid.shape[1], channels=grid.shape[3],
                data=encode_gif(grid, fps=fps) or b"",
            ), copy.nbytes)  # fmt: skip

        self._log_encoded(work, self._record, step=step, action="video")

    def pr_curve(
        self, tag: str, labels: Any, predictions: Any, *, step: int | None = None, thresholds: int = 127
    ) -> None:
        """Log precision and recall of `predictions` (0 to 1) of `labels` (0 or 1)."""
        from pulseboard.record.media.pr_curve import pr_curve_rows
        from pulseboard.tbformat.codecs.pr_curve import encode_pr_curve

        def encode() -> bytes:
            rows = pr_curve_rows(labels, predictions=predictions, thresholds=thresholds)
            return encode_pr_curve(tag, rows=rows, num_thresholds=thresholds)

        self._log_encoded(lambda: Work(encode, in_call=True), self._record, step=step, action="pr_curve")

    def log_media(self, tag: str, value: Any, *, step: int) -> bool:
        """Log a value of `run.log` that is not a number. False if it is not one of the media either.

        Figures of matplotlib and images of Pillow are recognized as they are; several in a list are numbered.
        """
        kind = type(value).__module__
        if isinstance(value, Media):
            value.log(self, tag, step=step)
        elif kind == "matplotlib.figure":
            self.figure(tag, value, step=step)
        elif kind.startswith("PIL.") and hasattr(value, "convert"):
            self.image(tag, value, step=step)
        elif isinstance(value, list | tuple) and value and all(isinstance(one, Media) for one in value):
            for i, one in enumerate(value):
                one.log(self, tag if len(value) == 1 else f"{tag}/{i}", step=step)
        else:
            return False
        return True

    def hparams(self, values: Mapping[str, Any], metrics: Mapping[str, Any] | None = None) -> None:
        """Log the run's hyperparameters, and the metrics to compare runs by, for the HParams tab.

        `metrics` are logged at the last step. The status is added when the run is finished.
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
            self.handle_error(error, action="hparams")

    def log(self, values: Mapping[str, Any], step: int | None = None, *, per_rank: bool = False) -> None:
        """Log numbers under their tags."""
        raise NotImplementedError

    def end_hparams(self, status: str) -> None:
        """Log how the session ended, if hyperparameters were logged."""
        if self._has_hparams:
            ended: Any = "success" if status == "finished" else "failure"
            self._record(encode_session_end(ended, end_time=time.time()), None, time.time())

    # ---- working here, or copying here and working in the background

    def _log_encoded(
        self, prepare: Callable[[], Work], log: Callable[[Any, int, float], None], *, step: int | None, action: str
    ) -> None:
        """Call `prepare` here. Encode and log the result here too, or let the worker do it."""
        try:
            if not self.rank.is_main:
                return
            at = max(0, self._step - 1) if step is None else checked_step(step)
            if self.closed(at):
                return
            wall = time.time()
            work = prepare()
            if work.in_call or self._has_no_room(work):
                log(work.encode(), at, wall)
                return
            self._add_waiting(work, 1)

            def job() -> None:
                try:
                    log(work.encode(), at, wall)
                except Exception as error:
                    self.handle_error(error, action=action)
                finally:
                    self._add_waiting(work, -1)

            self.in_background(job)
        except Exception as error:
            self.handle_error(error, action=action)

    def _has_no_room(self, work: Work) -> bool:
        if work.on_device:
            return self._waiting_on_device >= MAX_WAITING_ON_DEVICE
        bytes_fit = self._waiting_bytes + work.copied_bytes <= MAX_WAITING_BYTES
        return self._waiting_records >= MAX_WAITING_RECORDS or not bytes_fit

    def _add_waiting(self, work: Work, sign: int) -> None:
        with self._waiting_lock:
            self._waiting_bytes += sign * work.copied_bytes
            if work.on_device:
                self._waiting_on_device += sign
            else:
                self._waiting_records += sign

    def _record(self, value: bytes, step: int | None, wall: float) -> None:
        self.events.record(event.summary_event(value, step=step or 0, wall_time=wall), step)

    def _log_pixels(self, tag: str, pixels: NDArray[np.uint8], at: int, wall: float) -> None:
        from pulseboard.record.media.png import encode_png

        height, width, channels = pixels.shape
        png = encode_png(pixels)
        self._record(encode_image(tag, width=width, height=height, channels=channels, data=png), at, wall)
        self.send("image", tag, png, step=at, wall_time=wall)


def _axes_of(shape: tuple[int, ...]) -> str:
    """The likely meaning of an image's axes: there are few channels, and torch puts them first."""
    if len(shape) == 2:
        return "HW"
    if len(shape) == 3:
        return "HWC" if shape[2] in (1, 3, 4) and shape[0] not in (1, 3, 4) else "CHW"
    if len(shape) == 4:
        return "NHWC" if shape[3] in (1, 3, 4) and shape[1] not in (1, 3, 4) else "NCHW"
    raise ValueError(f"an image must have two to four axes; this has {len(shape)}: {shape}")


def _plain(value: Any) -> float | str | bool:
    if isinstance(value, bool | str):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)
