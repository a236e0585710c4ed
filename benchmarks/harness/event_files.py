"""Event files as training loops write them: one scalar or one histogram per event, all tags of a step together."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pulseboard.kernel.writer import EventWriter
from pulseboard.tbformat.event import version_event
from pulseboard.tbformat.wire import bytes_field, double_field, text_field, varint, varint_field

FIRST_WALL_TIME = 1_750_000_000.0
SECS_PER_STEP = 0.1
# Steps that are turned into bytes at once.
_CHUNK_STEPS = 10_000
_FLOAT_BYTES, _DOUBLE_BYTES = 4, 8
_HISTOGRAM_SAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Written:
    """What went into one event file."""

    events: int  # the version event included
    size_bytes: int


def write_scalars(directory: Path, *, tags: Sequence[str], steps: int, seed: int, tensors: bool = False) -> Written:
    """Write a run of noisy, falling curves.

    Each value is a `simple_value`, as torch's and tensorboardX's SummaryWriter write it, or with `tensors` a tensor
    with its plugin named in every event, as TensorFlow and `tensorboard.summary` write it.
    """
    frames = [_scalar_frame(tag, tensors=tensors) for tag in tags]
    payloads = (
        payload
        for start in range(0, steps, _CHUNK_STEPS)
        for payload in _scalar_events(frames, range(start, min(start + _CHUNK_STEPS, steps)), steps=steps, seed=seed)
    )
    return _write(directory, payloads)


def write_histograms(directory: Path, *, tags: int, steps: int, seed: int) -> Written:
    """Write a run of widening normal distributions, in the buckets that torch's SummaryWriter uses."""
    return _write(directory, _histogram_events(tags, steps, seed=seed))


def _write(directory: Path, payloads: Iterator[bytes]) -> Written:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"events.out.tfevents.{FIRST_WALL_TIME:.0f}.bench.1.0"
    writer = EventWriter()
    writer.record(version_event(wall_time=FIRST_WALL_TIME))
    events = 1
    with file.open("wb") as stream:
        for payload in payloads:
            writer.record(payload)
            events += 1
            if events % 100_000 == 0:
                stream.write(writer.take())
        stream.write(writer.take())
    return Written(events, file.stat().st_size)


# ---- scalars


def _scalar_frame(tag: str, *, tensors: bool) -> tuple[bytes, bytes]:
    """The bytes of the event's summary before and after the four bytes of the value."""
    value = bytes(_FLOAT_BYTES)
    if tensors:
        # TensorProto: dtype DT_FLOAT, an empty shape, one packed float_val.
        tensor = varint_field(1, value=1) + bytes_field(2, value=b"") + bytes_field(5, value=value)
        # SummaryMetadata: the plugin's name, and the data class of scalars.
        metadata = bytes_field(1, value=text_field(1, value="scalars")) + varint_field(4, value=1)
        before = text_field(1, value=tag)
        after = bytes_field(9, value=metadata)
        body = before + bytes_field(8, value=tensor) + after
    else:
        after = b""
        body = text_field(1, value=tag) + b"\x15" + value
    summary = bytes_field(5, value=bytes_field(1, value=body))
    value_at = len(summary) - len(after) - _FLOAT_BYTES
    return summary[:value_at], summary[value_at + _FLOAT_BYTES :]


def _scalar_events(frames: Sequence[tuple[bytes, bytes]], chunk: range, *, steps: int, seed: int) -> Iterator[bytes]:
    count = len(frames)
    values = _curves(chunk, count, steps=steps, seed=seed).astype("<f4").tobytes()
    at_step = FIRST_WALL_TIME + SECS_PER_STEP * np.asarray(chunk, dtype=np.float64)
    # Tags of one step are logged a tenth of a millisecond apart.
    walls = (at_step[:, None] + 1e-4 * np.arange(count)).astype("<f8").tobytes()
    place = 0
    for step in chunk:
        # Protobuf leaves a zero out.
        step_bytes = b"\x10" + varint(step) if step else b""
        for before, after in frames:
            wall = walls[place * _DOUBLE_BYTES : (place + 1) * _DOUBLE_BYTES]
            value = values[place * _FLOAT_BYTES : (place + 1) * _FLOAT_BYTES]
            yield b"\x09" + wall + step_bytes + before + value + after
            place += 1


def _curves(chunk: range, count: int, *, steps: int, seed: int) -> NDArray[np.float64]:
    """Rows are steps, columns are tags."""
    shape = np.random.default_rng(seed)
    start, halved_at = shape.uniform(0.5, 3.0, count), shape.uniform(0.05, 0.5, count)
    noise = np.random.default_rng([seed, chunk.start]).normal(0.0, 0.02, (len(chunk), count))
    progress = np.asarray(chunk, dtype=np.float64)[:, None] / steps
    curves: NDArray[np.float64] = start / (1.0 + progress / halved_at) + noise
    return curves


# ---- histograms


def _bucket_limits() -> NDArray[np.float64]:
    """From 1e-12 on each limit is 1.1 times the one before; the same below zero."""
    above = 1e-12 * 1.1 ** np.arange(int(np.ceil(np.log(1e32) / np.log(1.1))))
    return np.concatenate([-above[::-1], [0.0], above])


def _histogram_events(tags: int, steps: int, *, seed: int) -> Iterator[bytes]:
    limits = _bucket_limits()
    samples = np.sort(np.random.default_rng(seed).normal(size=_HISTOGRAM_SAMPLES))
    for step in range(steps):
        head = double_field(1, value=FIRST_WALL_TIME + step) + (varint_field(2, value=step) if step else b"")
        for tag in range(tags):
            histogram = _histogram(samples * (0.01 + 0.02 * tag) * (1.0 + step / steps), limits)
            value = text_field(1, value=f"weights/layer_{tag:02d}") + bytes_field(5, value=histogram)
            yield head + bytes_field(5, value=bytes_field(1, value=value))


def _histogram(samples: NDArray[np.float64], limits: NDArray[np.float64]) -> bytes:
    """A HistogramProto of sorted samples: from an empty bucket on the left to the last one with samples."""
    edges = np.searchsorted(samples, limits)
    counts = np.diff(edges)
    used = np.flatnonzero(counts)
    first, last = used[0], used[-1]
    figures = (samples[0], samples[-1], float(len(samples)), samples.sum(), samples @ samples)
    return (
        b"".join(double_field(number, value=float(figure)) for number, figure in enumerate(figures, 1))
        + bytes_field(6, value=limits[first : last + 2].astype("<f8").tobytes())
        + bytes_field(7, value=b"".join([struct.pack("<d", 0.0), counts[first : last + 1].astype("<f8").tobytes()]))
    )
