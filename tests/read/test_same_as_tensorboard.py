"""The same truth as TensorBoard: every run, tag, step, wall time and value, bit for bit."""

import math
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator, io_wrapper
from tensorboard.util import tensor_util

import pulseboard as pb

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
PROJECTS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir()) if CORPUS.is_dir() else []


def accumulate(directory):
    everything = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 0)
    return event_accumulator.EventAccumulator(directory, size_guidance=everything).Reload()


def runs_by_tensorboard(root):
    return {os.path.relpath(d, root): d for d in io_wrapper.GetLogdirSubdirectories(str(root))}


def scalars_by_tensorboard(accumulator):
    found = {
        tag: [(e.step, e.wall_time, e.value) for e in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]
    }
    for tag in accumulator.Tags()["tensors"]:
        metadata = accumulator.summary_metadata.get(tag)
        if metadata is not None and metadata.plugin_data.plugin_name == "scalars":
            found[tag] = [
                (e.step, e.wall_time, float(tensor_util.make_ndarray(e.tensor_proto).item()))
                for e in accumulator.Tensors(tag)
            ]
    return found


def bits(points):
    """Points as bytes, so that NaN equals NaN and 0.0 differs from -0.0."""
    return [struct.pack("<qdd", *point) for point in points]


def ours(series):
    return list(zip(series.steps.tolist(), series.wall_times.tolist(), series.values.tolist(), strict=True))


@pytest.mark.skipif(not PROJECTS, reason=f"the corpus of real logs is absent: {CORPUS}")
@pytest.mark.parametrize("project", PROJECTS)
def test_a_real_log_reads_as_tensorboard_reads_it(project):
    root = CORPUS / project
    log = pb.read(root)
    directories = runs_by_tensorboard(root)
    assert {alias for run in log.values() for alias in (run.aliases or (run.name,))} == set(directories)
    for name, directory in directories.items():
        accumulator = accumulate(directory)
        run = log[name]
        expected = scalars_by_tensorboard(accumulator)
        assert set(run.tags("scalar")) == set(expected), name
        for tag, points in expected.items():
            assert bits(ours(run.series(tag))) == bits(points), (name, tag)
        check_the_rest(run, accumulator)


def check_the_rest(run, accumulator):
    tags = accumulator.Tags()
    assert set(tags["histograms"]) <= set(run.tags("histogram"))
    for tag in tags["histograms"]:
        histograms = run.histograms(tag)
        events = accumulator.Histograms(tag)
        assert len(histograms) == len(events)
        for histogram, event in zip(histograms, events, strict=True):
            want = event.histogram_value
            assert (histogram.step, histogram.wall_time) == (event.step, event.wall_time)
            assert (histogram.min, histogram.max, histogram.num) == (want.min, want.max, want.num)
            assert (histogram.sum, histogram.sum_squares) == (want.sum, want.sum_squares)
            np.testing.assert_array_equal(histogram.bucket_limits, want.bucket_limit)
            np.testing.assert_array_equal(histogram.bucket_counts, want.bucket)
    for tag in tags["images"]:
        images = run.images(tag)
        assert [(i.step, i.wall_time, i.width, i.height, i.frames) for i in images] == [
            (e.step, e.wall_time, e.width, e.height, (e.encoded_image_string,)) for e in accumulator.Images(tag)
        ]
    for tag in tags["tensors"]:
        plugin = (
            accumulator.summary_metadata[tag].plugin_data.plugin_name if tag in accumulator.summary_metadata else ""
        )
        events = accumulator.Tensors(tag)
        if plugin == "text":
            texts = run.texts(tag)
            want = [tensor_util.make_ndarray(e.tensor_proto).ravel().tolist() for e in events]
            assert [list(t.items) for t in texts] == [[s.decode("utf-8", "replace") for s in w] for w in want]
    assert bool(run.tags("graph")) == (tags["graph"] or tags["meta_graph"])
    check_hparams(run, accumulator)


def check_hparams(run, accumulator):
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2

    try:
        contents = accumulator.PluginTagToContent("hparams")
    except KeyError:
        assert run.hparams() is None
        return
    hparams = run.hparams()
    start = contents.get(metadata.SESSION_START_INFO_TAG)
    if start:
        info = plugin_data_pb2.HParamsPluginData.FromString(start).session_start_info
        want = {key: getattr(value, value.WhichOneof("kind") or "null_value") for key, value in info.hparams.items()}
        # TensorBoard keeps the first record of a run only, ours puts all together (docs/design/reading.md).
        records = run.values(metadata.SESSION_START_INFO_TAG, kind="hparams")
        assert hparams.values.keys() == {key for record in records for key in record.values}
        assert records[0].values.keys() == want.keys()
        for key, value in want.items():
            got = records[0].values[key]
            assert got == value or (isinstance(got, float) and math.isnan(got) and math.isnan(value)), key
        assert records[0].group_name == info.group_name
