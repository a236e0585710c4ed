"""SummaryWriter's model graphs and embeddings."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from pulseboard.record.arrays import as_array
from pulseboard.record.compat.file_writer import whole_step
from pulseboard.record.compat.writer_files import WriterFiles
from pulseboard.record.media.embedding import embedding_directory, label_lines, write_embedding
from pulseboard.record.media.graph import ModelGraph, model_graph, onnx_graph
from pulseboard.record.messages import warn
from pulseboard.tbformat import event
from pulseboard.tbformat.projector import CONFIG_FILE, projector_config


class ModelMethods(WriterFiles):
    """The methods of SummaryWriter that log models and what they have learned."""

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Log the graph of a torch model, which is called once with `input_to_model`. Needs tensorboard."""
        self._add_graph(model_graph(model, input_to_model, verbose=verbose, strict_trace=use_strict_trace))

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Log the graph in an ONNX file. Needs tensorboard and onnx."""
        self._add_graph(onnx_graph(prototxt))

    def _add_graph(self, model: ModelGraph | None) -> None:
        if model is None:
            return
        file, now = self._get_file_writer().file, time.time()
        file.record(event.graph_event(model.graph, wall_time=now))
        if model.run_metadata:
            file.record(event.run_metadata_event("step1", data=model.run_metadata, wall_time=now))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Log points for the projector: `mat` (N x D), with a label in `metadata` and an image for each."""
        points = as_array(mat)
        images = None if label_img is None else as_array(label_img)
        if metadata is not None and len(metadata) != len(points):
            raise AssertionError(f"There must be one label per point: {len(metadata)} labels, {len(points)} points.")
        if images is not None and len(images) != len(points):
            raise AssertionError(f"There must be one image per point: {len(images)} images, {len(points)} points.")
        if points.ndim != 2:
            raise AssertionError(f"mat must be points x features; it has shape {points.shape}.")
        labels = None if metadata is None else label_lines(metadata, header=metadata_header)
        step, run = whole_step(global_step), self._get_file_writer().get_logdir()
        directory = embedding_directory(tag, step=step)
        if os.path.isdir(os.path.join(run, directory)):
            warn(f"The embedding {tag!r} of step {step} is overwritten. Did you pass global_step to add_embedding?")
        try:
            name = f"{tag}:{str(step).zfill(5)}"
            embedding = write_embedding(
                directory, run_directory=run, name=name, points=points, labels=labels, images=images
            )
            self._embeddings.append(embedding)
            with open(os.path.join(run, CONFIG_FILE), "w", encoding="ascii") as file:
                file.write(projector_config(self._embeddings))
        except (FileExistsError, NotADirectoryError):
            where = os.path.join(run, directory)
            raise NotADirectoryError(f"The embedding {tag!r} needs a directory where a file is: {where}") from None
        except OSError as error:
            warn(f"Cannot write the embedding {tag!r}: {error.strerror}. Training continues. {run}")
