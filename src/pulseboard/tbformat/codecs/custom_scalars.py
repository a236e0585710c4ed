"""Custom scalars: a layout message, stored in a tensor of one string."""

from __future__ import annotations

from collections.abc import Iterable

from pulseboard.core.values import Chart, ChartCategory, Layout, MarginSeries
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue, metadata_bytes, value_bytes
from pulseboard.tbformat.tensor import string_tensor_bytes
from pulseboard.tbformat.wire import BYTES, Message, bytes_field, text_field, varint_field

LAYOUT_TAG = "custom_scalars__config__"
"""The tag under which TensorBoard looks for a layout."""

_MULTILINE, _MARGIN = 2, 3


def decode_layout(value: StoredValue) -> Layout:
    """Decode a layout of charts."""
    message = Message(value.first_string())
    categories = tuple(
        ChartCategory(title=part.text(1), charts=tuple(map(_chart, part.messages(2))), closed=part.boolean(3))
        for part in message.messages(2)
    )
    return Layout(step=value.step, wall_time=value.wall_time, categories=categories)


def _chart(message: Message) -> Chart:
    title = message.text(1)
    if message.which({_MULTILINE: BYTES, _MARGIN: BYTES}) == _MARGIN:
        return Chart(title=title, series=tuple(map(_margin, message.message(_MARGIN).messages(1))))
    return Chart(title=title, tags=message.message(_MULTILINE).texts(1))


def _margin(message: Message) -> MarginSeries:
    return MarginSeries(value=message.text(1), lower=message.text(2), upper=message.text(3))


# ---------- writing


def encode_layout(categories: Iterable[ChartCategory]) -> bytes:
    """The Summary.Value of a layout. If a run has several, the last one counts."""
    message = b"".join(bytes_field(2, value=_category_bytes(category)) for category in categories)
    tensor = string_tensor_bytes([message], shape=())
    return value_bytes(LAYOUT_TAG, field=TENSOR_FIELD, content=tensor, metadata=metadata_bytes("custom_scalars"))


def _category_bytes(category: ChartCategory) -> bytes:
    charts = b"".join(bytes_field(2, value=_chart_bytes(chart)) for chart in category.charts)
    return text_field(1, value=category.title) + charts + (varint_field(3, value=1) if category.closed else b"")


def _chart_bytes(chart: Chart) -> bytes:
    if chart.series:
        content = bytes_field(_MARGIN, value=b"".join(bytes_field(1, value=_margin_bytes(s)) for s in chart.series))
    else:
        content = bytes_field(_MULTILINE, value=b"".join(text_field(1, value=tag) for tag in chart.tags))
    return text_field(1, value=chart.title) + content


def _margin_bytes(series: MarginSeries) -> bytes:
    return text_field(1, value=series.value) + text_field(2, value=series.lower) + text_field(3, value=series.upper)
