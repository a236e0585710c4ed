"""Hypothesis strategies for the bytes of valid and damaged event files, and everything that a log reads from them."""

import struct

from builders import record, scalar, session_start, summary, version
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

from pulseboard.kernel.reader import EventLog


def fed(*pieces: bytes) -> EventLog:
    """A log that was fed a file growing piece by piece."""
    log, unread = EventLog(), b""
    for piece in pieces:
        unread += piece
        unread = unread[log.feed(unread) :]
    return log


def contents(log: EventLog) -> tuple:
    """Everything in a log, in a form in which NaN equals NaN."""
    points = [log.point_columns(i) for i in range(log.tag_count)]
    columns = [(*map(bytes, columns), cuts, log.span_columns(i)) for i, (*columns, cuts) in enumerate(points)]
    state = struct.pack("<dddq", log.first_wall, log.last_wall, *log.state)
    counts = log.offset, log.end, log.events, log.points, log.framing_bytes, log.unversioned
    return counts, state, log.notes(), repr(log.restarts()), log.tags(), columns


steps = st.integers(-(2**63), 2**63 - 1)
tags = st.sampled_from(["loss", "", "train/loss", "a" * 200, "é"])
values = st.builds(scalar, tags, st.floats(width=32))
histograms = st.builds(Summary.Value, tag=tags, histo=st.builds(HistogramProto, min=st.floats()))
events = st.one_of(
    st.builds(lambda v, step, wall: summary(*v, step=step, wall_time=wall), st.lists(values), steps, st.floats()),
    st.builds(lambda v, step: summary(*v, step=step), st.lists(histograms, max_size=3), steps),
    st.builds(session_start, steps),
    st.builds(version, st.sampled_from(["brain.Event:2", "brain.Event:1", "", "2", "brain.Event:nan"])),
    st.builds(Event, graph_def=st.binary(max_size=50)),
)
good_records = events.map(Event.SerializeToString).map(record)
files = st.lists(st.one_of(good_records, st.binary(max_size=40).map(record), st.binary(max_size=40))).map(b"".join)
