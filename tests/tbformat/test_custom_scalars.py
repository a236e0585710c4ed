"""Layouts of custom scalars."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import layout_pb2, metadata
from tensorboard.util import tensor_util

from pulseboard.core.values import Chart, ChartCategory, MarginSeries
from pulseboard.tbformat.wire import MalformedMessage

WORDS = st.text(max_size=8)
MULTILINE = st.builds(lambda title, tags: Chart(title=title, tags=tuple(tags)), WORDS, st.lists(WORDS, max_size=3))
MARGIN = st.builds(
    lambda title, series: Chart(title=title, series=tuple(series)),
    WORDS,
    st.lists(st.builds(MarginSeries, WORDS, WORDS, WORDS), min_size=1, max_size=3),
)
CATEGORIES = st.builds(
    lambda title, closed, charts: ChartCategory(title=title, closed=closed, charts=tuple(charts)),
    WORDS,
    st.booleans(),
    st.lists(MULTILINE | MARGIN, max_size=4),
)


def layout(data: bytes) -> Summary.Value:
    return Summary.Value(
        tag=metadata.CONFIG_SUMMARY_TAG,
        metadata=metadata.create_summary_metadata(),
        tensor=tensor_util.make_tensor_proto(data),
    )


def as_proto(category: ChartCategory) -> layout_pb2.Category:
    out = layout_pb2.Category(title=category.title, closed=category.closed)
    for chart in category.charts:
        added = out.chart.add(title=chart.title)
        if chart.series:
            for series in chart.series:
                added.margin.series.add(value=series.value, lower=series.lower, upper=series.upper)
        else:
            added.multiline.tag.extend(chart.tags)
    return out


@given(categories=st.lists(CATEGORIES, max_size=4))
def test_a_layout_that_tensorboard_writes_is_read_back(
    decode: Callable[..., Any], categories: list[ChartCategory]
) -> None:
    proto = layout_pb2.Layout(category=map(as_proto, categories))
    assert decode(layout(proto.SerializeToString())).categories == tuple(categories)


def test_a_string_that_is_not_a_layout_is_malformed(decode: Callable[..., Any]) -> None:
    with pytest.raises(MalformedMessage):
        decode(layout(b"not a layout"))
