"""SummaryWriter's images, figures, videos, audio, texts and meshes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pulseboard.record.arrays import as_array
from pulseboard.record.compat.writer_files import WriterFiles
from pulseboard.record.media.audio import encode_wav
from pulseboard.record.media.boxes import draw_boxes
from pulseboard.record.media.figures import render_figure
from pulseboard.record.media.pixels import as_pixels, to_bytes
from pulseboard.record.media.png import encode_png
from pulseboard.record.media.video import encode_gif, video_grid
from pulseboard.tbformat.codecs.audio import encode_audio
from pulseboard.tbformat.codecs.image import encode_image
from pulseboard.tbformat.codecs.mesh import encode_mesh
from pulseboard.tbformat.codecs.text import encode_text


class MediaMethods(WriterFiles):
    """The methods of SummaryWriter that log what people look at, read or listen to."""

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log an image: uint8 from 0 to 255, other types from 0 to 1. `dataformats` names its axes."""
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
        """Log an image with boxes (left, top, right, bottom), and with labels if there is one for each box."""
        pixels, boxes = as_pixels(img_tensor, dataformats=dataformats), as_array(box_tensor)
        names = [labels] if isinstance(labels, str) else labels
        if names is not None and len(names) != len(boxes):
            names = None
        height, width, channels = pixels.shape
        drawn = draw_boxes(pixels, boxes=boxes, labels=names, rescale=rescale)
        # The size before rescaling, as in torch.
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
        """Log audio: samples from -1 to 1, in one dimension."""
        wav = encode_wav(snd_tensor, sample_rate=sample_rate)
        value = encode_audio(tag, data=wav.data, sample_rate=sample_rate, frames=wav.frames)
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
        """Log a mesh or a point cloud: vertices, colors and faces, each B x N x 3."""
        values = encode_mesh(
            tag,
            vertices=as_array(vertices),
            faces=None if faces is None else as_array(faces),
            colors=None if colors is None else as_array(colors),
            config="{}" if config_dict is None else json.dumps(config_dict, sort_keys=True),
        )
        self._add(*values, step=global_step, walltime=walltime)
