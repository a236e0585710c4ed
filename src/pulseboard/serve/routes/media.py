"""Images and audio: lists of what there is, and the bytes, sent so that a browser never runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.serve import schema
from pulseboard.serve.answers import Answer
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.errors import NotFound
from pulseboard.serve.markdown import to_html
from pulseboard.serve.routes.runs import RUN, TAG

if TYPE_CHECKING:
    # The words of every kind of value take long to load: not before they are needed.
    from pulseboard.core.values import Audio, Image

T = TypeVar("T")

# Of these no browser runs anything. SVG and HTML are not among them, whatever the log says its bytes are.
_SAFE = {
    *("image/png", "image/gif", "image/jpeg", "image/bmp", "image/webp"),
    *("audio/wav", "audio/ogg", "audio/flac", "audio/mpeg"),
}
_INDEX = schema.whole("its place in the list", default=0)
_ONE = {"run": RUN, "tag": TAG}
_ITEM = schema.answer(
    "MediaItem",
    {
        "index": schema.whole(),
        "step": schema.whole(least=-(2**63), most=2**63),
        "wall_time": schema.number(),
        "width": schema.whole("of images"),
        "height": schema.whole("of images"),
        "media_type": schema.text(),
        "frames": schema.whole(),
        "label": schema.or_null(schema.text("of clips: HTML, sanitised", most=10_000_000)),
    },
    optional=("width", "height", "label"),
)
_ITEMS = schema.record({"items": schema.several(_ITEM, most=1_000_000)}, required=("items",))


@endpoint(
    "GET", "images", "The images of a tag, without their bytes.", query=_ONE, required=("run", "tag"), gives=_ITEMS
)
def images(board: Board, ask: Ask) -> dict[str, Any]:
    found: list[Image] = _values(board, ask, kind="image")
    return {
        "items": [
            {
                "index": i,
                "step": one.step,
                "wall_time": one.wall_time,
                "width": one.width,
                "height": one.height,
                "media_type": one.media_type,
                "frames": len(one.frames),
            }
            for i, one in enumerate(found)
        ]
    }


@endpoint("GET", "audio", "The clips of a tag, without their bytes.", query=_ONE, required=("run", "tag"), gives=_ITEMS)
def audio(board: Board, ask: Ask) -> dict[str, Any]:
    from pulseboard.core.values import UNKNOWN_MEDIA_TYPE

    found: list[Audio] = _values(board, ask, kind="audio")
    return {
        "items": [
            {
                "index": i,
                "step": one.step,
                "wall_time": one.wall_time,
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
    "One image's bytes.",
    query={**_ONE, "index": _INDEX, "frame": schema.whole(default=0)},
    required=("run", "tag"),
    media_type="image/*",
)
def image(board: Board, ask: Ask) -> Answer:
    from pulseboard.core.values import image_media_type

    one: Image = _at(_values(board, ask, kind="image"), ask["index"], "image")
    frame = _at(one.frames, ask["frame"], "frame")
    return _media(frame, image_media_type(frame), name=f"image-{one.step}")


@endpoint(
    "GET",
    "clip",
    "One clip's bytes.",
    query={**_ONE, "index": _INDEX, "frame": schema.whole(default=0)},
    required=("run", "tag"),
    media_type="audio/*",
)
def clip(board: Board, ask: Ask) -> Answer:
    one: Audio = _at(_values(board, ask, kind="audio"), ask["index"], "clip")
    found = _at(one.clips, ask["frame"], "clip")
    return _media(found.data, found.media_type, name=f"clip-{one.step}")


def _values(board: Board, ask: Ask, *, kind: str) -> list[Any]:
    run = board.run(ask["run"])
    ask.same_since(board.state_of([run.name]))
    return board.values(run, ask["tag"], kind=kind)


def _at(items: Sequence[T], index: int, what: str) -> T:
    if index >= len(items):
        raise NotFound(f"There is no {what} {index}.", do=f"The last is {len(items) - 1}.")
    return items[index]


def _media(data: bytes, media_type: str, *, name: str) -> Answer:
    from pulseboard.core.values import UNKNOWN_MEDIA_TYPE

    headers = {"content-security-policy": "default-src 'none'; sandbox"}
    if media_type not in _SAFE:
        media_type = UNKNOWN_MEDIA_TYPE
        headers["content-disposition"] = f'attachment; filename="{name}.bin"'
    return Answer(data, media_type, headers=headers, compress=False)
