"""Custom scalars: the layout message that a writer keeps in a tensor of one string."""

from __future__ import annotations

from pulseboard.core.values import Chart, ChartCategory, Layout, MarginSeries
from pulseboard.files.stored import StoredValue
from pulseboard.files.wire import BYTES, Message

_MULTILINE, _MARGIN = 2, 3


def decode_layout(value: StoredValue) -> Layout:
    """A layout of charts."""
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
