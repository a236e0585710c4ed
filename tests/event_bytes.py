"""Bytes of event files, good and bad, as hypothesis makes them, and all that a kernel's log says about them."""

import struct

from builders import record, scalar, session_start, summary, version
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

from pulseboard.native.kernel import EventLog


def fed(*pieces: bytes) -> EventLog:
    """A log fed with a file that grows piece by piece."""
    log, waiting = EventLog(), b""
    for piece in pieces:
        waiting += piece
        waiting = waiting[log.feed(waiting) :]
    return log


def told(log: EventLog) -> tuple:
    """All that a log has to say, in a form that compares NaN with NaN."""
    columns = [(log.point_columns(i), log.span_columns(i)) for i in range(len(log.tags()))]
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
