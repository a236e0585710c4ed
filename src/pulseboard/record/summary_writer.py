"""SummaryWriter: torch.utils.tensorboard's, call for call, without TensorBoard and at a fraction of the cost.

It differs where torch's would fail or mislead: NaN in a histogram is left out and said, lists are arrays
too, bfloat16 keeps its range, and trouble with the disk never reaches the caller.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import starmap
from types import TracebackType
from typing import Any

from pulseboard.core.values import Chart, ChartCategory, MarginSeries
from pulseboard.files import event
from pulseboard.files.audio import encode_audio
from pulseboard.files.custom_scalars import encode_layout
from pulseboard.files.histogram import Buckets, encode_histogram
from pulseboard.files.hparams import HParam, encode_hparams
from pulseboard.files.image import encode_image
from pulseboard.files.mesh import encode_mesh
from pulseboard.files.pr_curve import encode_pr_curve
from pulseboard.files.projector import CONFIG_FILE, Embedding, projector_config
from pulseboard.files.scalar import Form, encode_scalar_value
from pulseboard.files.summary import encode_tensor
from pulseboard.files.tensor import bfloat16_tensor_bytes, tensor_bytes
from pulseboard.files.text import encode_text
from pulseboard.record.arrays import as_array, is_tensor
from pulseboard.record.boxes import draw_boxes
from pulseboard.record.embedding import embedding_directory, label_lines, write_embedding
from pulseboard.record.figures import render_figure
from pulseboard.record.file_writer import FileWriter, wall_time, whole_step
from pulseboard.record.graph import ModelGraph, model_graph, onnx_graph
from pulseboard.record.histogram import bucket_edges, histogram_in_bins, histogram_of
from pulseboard.record.numbers import to_number
from pulseboard.record.pixels import as_pixels, to_bytes
from pulseboard.record.png import encode_png
from pulseboard.record.pr_curve import pr_curve_rows
from pulseboard.record.report import say, say_once
from pulseboard.record.sound import encode_wav
from pulseboard.record.video import encode_gif, video_grid
from pulseboard.record.worker import Worker

# torch writes no more, and says that more broke the message.
_MOST_THRESHOLDS = 127
_MOST_TENSOR_BYTES = (1 << 31) - 1

_open: weakref.WeakSet[SummaryWriter] = weakref.WeakSet()


class SummaryWriter:
    """Writes event files to `log_dir` for TensorBoard and Pulseboard. Arguments are named and ordered as torch's."""

    # All three are None while the writer is closed. The first two have torch's names: others use them.
    file_writer: FileWriter | None
    all_writers: dict[str, FileWriter] | None  # by directory: the run's, and those of add_scalars below it
    _worker: Worker | None

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        """Begin a run in `log_dir`, or else in runs/<date>_<host><comment>.

        `purge_step` hides what an earlier writer logged at that step and after, for a job that was
        restarted. `max_queue` and `flush_secs` have nothing to do: each call is in the system's hands
        when it returns, or on a shared file system a second later.
        """
        if not log_dir:
            date = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{date}_{socket.gethostname()}{comment}")
        if "://" in str(log_dir):
            raise ValueError(
                "SummaryWriter writes to file systems, and this log_dir is an address. Mount it, or write to a local "
                f"directory and copy that. log_dir: {log_dir}"
            )
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self._embeddings: list[Embedding] = []
        self._opening = threading.RLock()
        self._forget_files()
        self._get_file_writer()

    # ---- scalars

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number. With `new_style` it is stored as a tensor, and then in `double_precision` if asked for."""
        writer = self.file_writer or self._get_file_writer()
        if new_style:
            form: Form = "double_tensor" if double_precision else "float_tensor"
            value = encode_scalar_value(tag, value=_number(scalar_value), form=form)
            writer.add_values(value, step=global_step, walltime=walltime)
            return
        writer.file.scalars(
            {tag: scalar_value},
            0 if global_step is None else int(global_step),
            time.time() if walltime is None else walltime,
            _number,
        )

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log numbers that share a chart: each to a run of its own, below this one."""
        wall = wall_time(walltime)
        below = f"{self._get_file_writer().get_logdir()}/{main_tag.replace('/', '_')}_"
        for tag, value in tag_scalar_dict.items():
            writer = self._file_writer_of(below + tag)
            writer.file.scalars({main_tag: value}, whole_step(global_step), wall, _number)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Log hyperparameters and what came of them, to a run below this one: `run_name`, or else the time."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionaries.")
        domains = _checked_domains(hparam_domain_discrete, hparams=hparam_dict)
        values = {name: _hparam(value, name=name) for name, value in hparam_dict.items()}
        metrics = {tag: _number(value) for tag, value in metric_dict.items()}
        records = encode_hparams(values, metrics=metrics, domains=domains)
        writer = FileWriter(os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time())))
        for record in records:
            writer.add_values(record, step=global_step)
        for tag, number in metrics.items():
            writer.file.scalars({tag: number}, whole_step(global_step), time.time(), _number)
        writer.close()

    # ---- distributions and tensors

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how `values` are distributed. `bins` other than 'tensorflow' are numpy.histogram's."""
        usual = isinstance(bins, str) and bins == "tensorflow"
        if usual and max_bins is None:
            histogram = histogram_of(values)
        else:
            histogram = histogram_in_bins(values, bins=self.default_bins if usual else bins, max_bins=max_bins)
        left_out = histogram.nan + histogram.inf
        if not (histogram.num or left_out):
            raise ValueError(f"The histogram {tag!r} has no values.")
        if left_out:
            say_once(
                f"histogram {tag}",
                f"The histogram {tag!r} leaves out {histogram.nan} NaN and {histogram.inf} infinite values of "
                f"{int(histogram.num) + left_out} (step {whole_step(global_step)}, and perhaps later).",
            )
        self._add(encode_histogram(tag, histogram=histogram), step=global_step, walltime=walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram that is counted already. Bucket i ends at `bucket_limits[i]`."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(f"{len(bucket_limits)} bucket_limits for {len(bucket_counts)} bucket_counts.")
        histogram = Buckets(
            min=float(min),
            max=float(max),
            num=float(num),
            sum=float(sum),
            sum_squares=float(sum_squares),
            limits=as_array(bucket_limits).tolist(),
            counts=as_array(bucket_counts).tolist(),
        )
        self._add(encode_histogram(tag, histogram=histogram), step=global_step, walltime=walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Log a tensor as it is."""
        self._add(encode_tensor(tag, tensor=_tensor_message(tag, tensor)), step=global_step, walltime=walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = _MOST_THRESHOLDS,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall of `predictions` (0 to 1) of `labels` (0 or 1), at `num_thresholds` thresholds."""
        thresholds = min(num_thresholds, _MOST_THRESHOLDS)
        rows = pr_curve_rows(labels, predictions=predictions, thresholds=thresholds, weights=weights)
        self._add(encode_pr_curve(tag, rows=rows, num_thresholds=thresholds), step=global_step, walltime=walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = _MOST_THRESHOLDS,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall that are computed already. `weights` has no meaning, here as in torch."""
        import numpy as np

        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        rows = np.stack([as_array(row) for row in (*counts, precision, recall)])
        thresholds = min(num_thresholds, _MOST_THRESHOLDS)
        self._add(encode_pr_curve(tag, rows=rows, num_thresholds=thresholds), step=global_step, walltime=walltime)

    # ---- what is looked at, read or heard

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log an image: uint8 from 0 to 255, anything else from 0 to 1. `dataformats` names its axes."""
        pixels = as_pixels(img_tensor, dataformats=dataformats)
        height, width, channels = pixels.shape
        value = encode_image(tag, width=width, height=height, channels=channels, data=encode_png(pixels))
        self._add(value, step=global_step, walltime=walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of images as one grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Sequence[str] | str | None = None,
    ) -> None:
        """Log an image with boxes on it (each left, top, right, bottom), a label to each if there are as many."""
        pixels, boxes = as_pixels(img_tensor, dataformats=dataformats), as_array(box_tensor)
        names = [labels] if isinstance(labels, str) else labels
        if names is not None and len(names) != len(boxes):
            names = None
        height, width, channels = pixels.shape
        drawn = draw_boxes(pixels, boxes=boxes, labels=names, rescale=rescale)
        # The size is that before rescaling, as torch has it.
        value = encode_image(tag, width=width, height=height, channels=channels, data=encode_png(drawn))
        self._add(value, step=global_step, walltime=walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a matplotlib figure, or a list of them as one grid. `close` closes them."""
        import numpy as np

        if isinstance(figure, list):
            pixels = np.stack([render_figure(one, close=close) for one in figure])
            self.add_image(tag, pixels, global_step, walltime, dataformats="NHWC")
        else:
            self.add_image(tag, render_figure(figure, close=close), global_step, walltime, dataformats="HWC")

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Log videos (N x T x C x H x W) side by side, as a GIF. Needs Pillow."""
        frames = to_bytes(video_grid(as_array(vid_tensor)))
        _, height, width, channels = frames.shape
        data = encode_gif(frames, fps=fps)
        if data is not None:
            value = encode_image(tag, width=width, height=height, channels=channels, data=data)
            self._add(value, step=global_step, walltime=walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log sound: samples from -1 to 1, in one dimension."""
        sound = encode_wav(snd_tensor, sample_rate=sample_rate)
        value = encode_audio(tag, data=sound.data, sample_rate=sample_rate, frames=sound.frames)
        self._add(value, step=global_step, walltime=walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Log Markdown text."""
        value = encode_text(f"{tag}/text_summary", text=str(text_string))
        self._add(value, step=global_step, walltime=walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a mesh or a cloud of points: vertices, colors and faces, each B x N x 3."""
        values = encode_mesh(
            tag,
            vertices=as_array(vertices),
            faces=None if faces is None else as_array(faces),
            colors=None if colors is None else as_array(colors),
            config="{}" if config_dict is None else json.dumps(config_dict, sort_keys=True),
        )
        self._add(*values, step=global_step, walltime=walltime)

    # ---- how a page arranges scalars

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Arrange scalars: {category: {chart: ['Multiline', tags] or ['Margin', [value, lower, upper]]}}."""
        categories = [
            ChartCategory(title=title, closed=False, charts=tuple(starmap(_chart, charts.items())))
            for title, charts in layout.items()
        ]
        self._add(encode_layout(categories))

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Put the lines of all `tags` into one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Draw the first of three tags as a line, and the others as the band around it."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    # ---- models

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Log the operations of a torch model, which is called once with `input_to_model`. Needs tensorboard."""
        self._add_graph(model_graph(model, input_to_model, verbose=verbose, strict_trace=use_strict_trace))

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Log the operations in an ONNX file. Needs tensorboard and onnx."""
        self._add_graph(onnx_graph(prototxt))

    def _add_graph(self, made: ModelGraph | None) -> None:
        if made is None:
            return
        file, now = self._get_file_writer().file, time.time()
        file.record(event.graph_event(made.graph, wall_time=now))
        if made.run_metadata:
            file.record(event.run_metadata_event("step1", data=made.run_metadata, wall_time=now))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Log points for the projector: `mat` (N x D), a label in `metadata` and an image to each."""
        points = as_array(mat)
        images = None if label_img is None else as_array(label_img)
        if metadata is not None and len(metadata) != len(points):
            raise AssertionError(f"{len(metadata)} labels for {len(points)} points.")
        if images is not None and len(images) != len(points):
            raise AssertionError(f"{len(images)} images for {len(points)} points.")
        if points.ndim != 2:
            raise AssertionError(f"mat should be points x features, and has the shape {points.shape}.")
        labels = None if metadata is None else label_lines(metadata, header=metadata_header)
        step, run = whole_step(global_step), self._get_file_writer().get_logdir()
        directory = embedding_directory(tag, step=step)
        if os.path.isdir(os.path.join(run, directory)):
            say(f"The embedding {tag!r} of step {step} is written over. Did you pass global_step to add_embedding?")
        try:
            name = f"{tag}:{str(step).zfill(5)}"
            embedding = write_embedding(directory, below=run, name=name, points=points, labels=labels, images=images)
            self._embeddings.append(embedding)
            with open(os.path.join(run, CONFIG_FILE), "w", encoding="ascii") as file:
                file.write(projector_config(self._embeddings))
        except (FileExistsError, NotADirectoryError):
            where = os.path.join(run, directory)
            raise NotADirectoryError(f"The embedding {tag!r} needs a directory where a file is: {where}") from None
        except OSError as error:
            say(f"Cannot write the embedding {tag!r}: {error.strerror}. Training goes on. {run}")

    # ---- files

    def get_logdir(self) -> str | os.PathLike[str]:
        """The directory of the run."""
        return self.log_dir

    @functools.cached_property
    def default_bins(self) -> list[float]:
        """The edges of the usual buckets of a histogram."""
        return list(bucket_edges())

    def flush(self) -> None:
        """Hand everything to the system."""
        for writer in list((self.all_writers or {}).values()):
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close. A later call begins a new file."""
        with self._opening:
            writers, worker = self.all_writers, self._worker
            self._forget_files()
        if worker is not None:
            worker.stop()
        for writer in list((writers or {}).values()):
            writer.close()
        _open.discard(self)

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _add(self, *values: bytes, step: Any = None, walltime: float | None = None) -> None:
        (self.file_writer or self._get_file_writer()).add_values(*values, step=step, walltime=walltime)

    def _get_file_writer(self) -> FileWriter:
        """The run's file, which is opened if it is closed. torch's name: others call it."""
        if (writer := self.file_writer) is not None:
            return writer
        with self._opening:
            if (writer := self.file_writer) is not None:
                return writer
            writer = self._new_file_writer(str(self.log_dir))
            if self.purge_step is not None:
                start = event.session_start_event(step=int(self.purge_step), wall_time=time.time())
                writer.file.record(start)
                self.purge_step = None
            self.all_writers = {writer.get_logdir(): writer}
            self._worker = Worker(self._tick)
            self._worker.start()
            self.file_writer = writer
        _open.add(self)
        return writer

    def _file_writer_of(self, log_dir: str) -> FileWriter:
        with self._opening:
            self._get_file_writer()
            assert self.all_writers is not None
            if log_dir not in self.all_writers:
                self.all_writers[log_dir] = self._new_file_writer(log_dir)
            return self.all_writers[log_dir]

    def _new_file_writer(self, log_dir: str) -> FileWriter:
        return FileWriter(log_dir, self.max_queue, self.flush_secs, self.filename_suffix)

    def _forget_files(self) -> None:
        self.file_writer = self.all_writers = self._worker = None

    def _tick(self) -> None:
        for writer in list((self.all_writers or {}).values()):
            writer.tick()

    def after_fork(self) -> None:
        """In a forked child the files are the parent's. A child that logs, as few do, opens its own."""
        self._opening = threading.RLock()
        self._forget_files()


# ---------- what users pass


def _number(value: Any) -> float:
    """One number, from whatever holds one; a tensor on a device is waited for."""
    number = to_number(value)
    if number is not None:
        return number
    array = as_array(value).squeeze()
    if array.ndim:
        raise AssertionError(f"A scalar is one number, and this {type(value).__name__} has the shape {array.shape}.")
    return float(array)


def _hparam(value: Any, *, name: str) -> HParam | None:
    if value is None or isinstance(value, str):
        return value
    # torch takes a bool for the number it is to Python.
    if isinstance(value, int | float) or is_tensor(value) or hasattr(value, "__array__"):
        return _number(value)
    raise ValueError(f"The hyperparameter {name!r} should be int, float, str, bool or a tensor of one number.")


def _checked_domains(domains: dict[str, list[Any]] | None, *, hparams: dict[str, Any]) -> dict[str, list[HParam]]:
    if not isinstance(domains or {}, dict):
        raise TypeError("hparam_domain_discrete should be a dictionary.")
    checked: dict[str, list[HParam]] = {}
    for name, items in (domains or {}).items():
        if (
            name not in hparams
            or not isinstance(items, list)
            or not all(isinstance(i, type(hparams[name])) for i in items)
        ):
            raise TypeError(f"hparam_domain_discrete[{name!r}] should be a list of values like hparam_dict[{name!r}].")
        checked[name] = [item for item in (_hparam(i, name=name) for i in items) if item is not None]
    return checked


def _chart(title: str, properties: Sequence[Any]) -> Chart:
    kind, tags = properties[0], properties[1]
    if kind != "Margin":
        return Chart(title=title, tags=tuple(tags))
    if len(tags) != 3:
        raise AssertionError(f"The margin chart {title!r} needs 3 tags (value, lower, upper), not {len(tags)}.")
    return Chart(title=title, series=(MarginSeries(*tags),))


def _tensor_message(tag: str, tensor: Any) -> bytes:
    if is_tensor(tensor):
        torch: Any = sys.modules["torch"]
        if tensor.numel() * tensor.element_size() > _MOST_TENSOR_BYTES:
            raise ValueError(f"The tensor {tag!r} is larger than the 2 GB that a record may have.")
        if tensor.dtype == torch.bfloat16:
            return bfloat16_tensor_bytes(tensor.detach().view(torch.int16).numpy(force=True).view("u2"))
    return tensor_bytes(as_array(tensor))


# ---------- the ends of a process


@atexit.register
def _close_all() -> None:
    for writer in list(_open):
        writer.close()


def _in_child() -> None:
    for writer in list(_open):
        writer.after_fork()
    _open.clear()


os.register_at_fork(after_in_child=_in_child)
