"""TensorBoard as the reference: the runs it finds, the values it reads, and bit-for-bit comparison with ours."""

import math
import os
import struct

import numpy as np
from tensorboard.backend.event_processing import event_accumulator, io_wrapper
from tensorboard.plugins.hparams import metadata, plugin_data_pb2
from tensorboard.util import tensor_util


def accumulate(directory):
    """Everything TensorBoard reads from one run, without sampling."""
    everything = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 0)
    return event_accumulator.EventAccumulator(str(directory), size_guidance=everything).Reload()


def runs_by_tensorboard(root):
    """Run name -> directory."""
    return {os.path.relpath(d, root): d for d in io_wrapper.GetLogdirSubdirectories(str(root))}


def scalars_by_tensorboard(accumulator):
    """Tag -> [(step, wall time, value)], for both forms of scalar."""
    found = {
        tag: [(e.step, e.wall_time, e.value) for e in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]
    }
    for tag in accumulator.Tags()["tensors"]:
        about = accumulator.summary_metadata.get(tag)
        if about is not None and about.plugin_data.plugin_name == "scalars":
            found[tag] = [
                (e.step, e.wall_time, float(tensor_util.make_ndarray(e.tensor_proto).item()))
                for e in accumulator.Tensors(tag)
            ]
    return found


def bits(points):
    """Points as bytes, so that NaN equals NaN and 0.0 differs from -0.0."""
    return [struct.pack("<qdd", *point) for point in points]


def points_of(series):
    """A series as [(step, wall time, value)]."""
    return list(zip(series.steps.tolist(), series.wall_times.tolist(), series.values.tolist(), strict=True))


def assert_same_run(run, directory):
    """Assert that our run has what TensorBoard reads from the directory."""
    accumulator = accumulate(directory)
    assert_same_scalars(run, accumulator)
    assert_same_values(run, accumulator)
    assert_same_hparams(run, accumulator)


def assert_same_scalars(run, accumulator):
    """Compare tags, steps, wall times and values, bit for bit."""
    expected = scalars_by_tensorboard(accumulator)
    assert set(run.tags("scalar")) == set(expected), run.name
    for tag, points in expected.items():
        assert bits(points_of(run.series(tag))) == bits(points), (run.name, tag)


def assert_same_values(run, accumulator):
    """Compare histograms, images, audio, text and graphs."""
    tags = accumulator.Tags()
    assert set(tags["histograms"]) <= set(run.tags("histogram"))
    for tag in tags["histograms"]:
        assert_same_histograms(run.histograms(tag), accumulator.Histograms(tag))
    for tag in tags["images"]:
        assert [(i.step, i.wall_time, i.width, i.height, i.frames) for i in run.images(tag)] == [
            (e.step, e.wall_time, e.width, e.height, (e.encoded_image_string,)) for e in accumulator.Images(tag)
        ]
    for tag in tags["audio"]:
        assert [(a.step, a.clips[0].data, a.clips[0].sample_rate) for a in run.audio(tag)] == [
            (e.step, e.encoded_audio_string, e.sample_rate) for e in accumulator.Audio(tag)
        ]
    for tag in tags["tensors"]:
        about = accumulator.summary_metadata.get(tag)
        if about is not None and about.plugin_data.plugin_name == "text":
            want = [tensor_util.make_ndarray(e.tensor_proto).ravel().tolist() for e in accumulator.Tensors(tag)]
            got = [list(text.items) for text in run.texts(tag)]
            assert got == [[item.decode("utf-8", "replace") for item in items] for items in want]
    assert bool(run.tags("graph")) == (tags["graph"] or tags["meta_graph"])


def assert_same_histograms(histograms, events):
    """Compare every field of the old form."""
    assert len(histograms) == len(events)
    for histogram, event in zip(histograms, events, strict=True):
        want = event.histogram_value
        assert (histogram.step, histogram.wall_time) == (event.step, event.wall_time)
        assert (histogram.min, histogram.max, histogram.num) == (want.min, want.max, want.num)
        assert (histogram.sum, histogram.sum_squares) == (want.sum, want.sum_squares)
        np.testing.assert_array_equal(histogram.bucket_limits, want.bucket_limit)
        np.testing.assert_array_equal(histogram.bucket_counts, want.bucket)


def assert_same_hparams(run, accumulator):
    """Compare with TensorBoard's first record; ours merges all records of a run (docs/design/reading.md)."""
    try:
        contents = accumulator.PluginTagToContent("hparams")
    except KeyError:
        assert run.hparams() is None
        return
    hparams = run.hparams()
    start = contents.get(metadata.SESSION_START_INFO_TAG)
    if not start:
        return
    info = plugin_data_pb2.HParamsPluginData.FromString(start).session_start_info
    want = {key: getattr(value, value.WhichOneof("kind") or "null_value") for key, value in info.hparams.items()}
    records = run.values(metadata.SESSION_START_INFO_TAG, kind="hparams")
    assert hparams.values.keys() == {key for record in records for key in record.values}
    assert records[0].values.keys() == want.keys()
    for key, value in want.items():
        got = records[0].values[key]
        assert got == value or (isinstance(got, float) and math.isnan(got) and math.isnan(value)), key
    assert records[0].group_name == info.group_name
