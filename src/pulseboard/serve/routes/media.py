"""Images and audio: lists of them, and their bytes, sent so that a browser never executes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import NotFound
from pulseboard.serve.http.parameters import RUN, STEP, TAG
from pulseboard.serve.http.responses import Response, finite, part_of
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.security.markdown import to_html

if TYPE_CHECKING:
    # core.values takes long to load, so it is imported only when needed.
    from pulseboard.core.values import Audio, Image

T = TypeVar("T")

# Browsers execute nothing in these. SVG and HTML are not among them, whatever type a log claims for its bytes.
_SAFE_TYPES = {
    *("image/png", "image/gif", "image/jpeg", "image/bmp", "image/webp"),
    *("audio/wav", "audio/ogg", "audio/flac", "audio/mpeg"),
}
_RUN_AND_TAG = {"run": RUN, "tag": TAG}
_ONE_FRAME = {
    **_RUN_AND_TAG,
    "index": schema.integer("its index in the list", default=0),
    "frame": schema.integer(default=0),
}
_ITEM = schema.named_record(
    "MediaItem",
    {
        "index": schema.integer(),
        "step": STEP,
        "wall_time": schema.number(),
        "width": schema.integer("of images"),
        "height": schema.integer("of images"),
        "media_type": schema.string(),
        "frames": schema.integer(),
        "label": schema.nullable(schema.string("of audio clips: HTML, sanitized", max_length=10_000_000)),
    },
    optional=("width", "height", "label"),
)
_ITEMS = schema.record({"items": schema.array(_ITEM, max_items=1_000_000)}, required=("items",))


@endpoint(
    "GET",
    "images",
    "The images of a tag, without their bytes.",
    query=_RUN_AND_TAG,
    required=("run", "tag"),
    returns=_ITEMS,
)
def images(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    found: list[Image] = _values(dashboard, request, kind="image")
    return {
        "items": [
            {
                "index": i,
                "step": one.step,
                "wall_time": finite(one.wall_time),
                "width": max(one.width, 0),
                "height": max(one.height, 0),
                "media_type": one.media_type,
                "frames": len(one.frames),
            }
            for i, one in enumerate(found)
        ]
    }


@endpoint(
    "GET",
    "audio",
    "The audio clips of a tag, without their bytes.",
    query=_RUN_AND_TAG,
    required=("run", "tag"),
    returns=_ITEMS,
)
def audio(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    from pulseboard.core.values import UNKNOWN_MEDIA_TYPE

    found: list[Audio] = _values(dashboard, request, kind="audio")
    return {
        "items": [
            {
                "index": i,
                "step": one.step,
                "wall_time": finite(one.wall_time),
                "media_type": one.clips[0].media_type if one.clips else UNKNOWN_MEDIA_TYPE,
                "frames": len(one.clips),
                "label": to_html(one.clips[0].label) if one.clips and one.clips[0].label else None,
            }
            for i, one in enumerate(found)
        ]
    }


@endpoint(
    "GET",
    "image",
    "The bytes of one image.",
    query=_ONE_FRAME,
    required=("run", "tag"),
    media_type="image/*",
)
def image(dashboard: Dashboard, request: ApiRequest) -> Response:
    from pulseboard.core.values import image_media_type

    one: Image = _at(_values(dashboard, request, kind="image"), request["index"], "image")
    frame = _at(one.frames, request["frame"], "frame")
    return _media(request, frame, image_media_type(frame), name=f"image-{one.step}")


@endpoint(
    "GET",
    "clip",
    "The bytes of one audio clip.",
    query=_ONE_FRAME,
    required=("run", "tag"),
    media_type="audio/*",
)
def clip(dashboard: Dashboard, request: ApiRequest) -> Response:
    one: Audio = _at(_values(dashboard, request, kind="audio"), request["index"], "clip")
    found = _at(one.clips, request["frame"], "clip")
    return _media(request, found.data, found.media_type, name=f"clip-{one.step}")


def _values(dashboard: Dashboard, request: ApiRequest, *, kind: str) -> list[Any]:
    run = dashboard.run(request["run"])
    request.revalidate(dashboard.state_of([run.name]))
    return dashboard.values(run, request["tag"], kind=kind)


def _at(items: Sequence[T], index: int, noun: str) -> T:
    if index >= len(items):
        raise NotFound(f"There is no {noun} {index}.", do=f"The last one is {len(items) - 1}.")
    return items[index]


def _media(request: ApiRequest, data: bytes, media_type: str, *, name: str) -> Response:
    from pulseboard.core.values import UNKNOWN_MEDIA_TYPE

    headers = {"content-security-policy": "default-src 'none'; sandbox"}
    if media_type not in _SAFE_TYPES:
        media_type = UNKNOWN_MEDIA_TYPE
        headers["content-disposition"] = f'attachment; filename="{name}.bin"'
    response = Response(data, media_type, headers=headers, compress=False)
    # Browsers seek in audio by ranges. With If-Range they want all of it if it has changed.
    asked = request.http.headers
    wanted = asked.get("range", "") if asked.get("if-range", request.etag) == request.etag else ""
    return part_of(response, wanted)
