"""Precision-recall curves, compared with TensorBoard's plugin."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.pr_curve import metadata
from tensorboard.util import tensor_util

from pulseboard.tbformat.wire import MalformedMessage

COUNTS = st.floats(0, 4, width=32)


def curve(rows: np.ndarray[Any, Any]) -> Summary.Value:
    smd = metadata.create_summary_metadata(None, None, num_thresholds=rows.shape[-1])
    return Summary.Value(tag="c", metadata=smd, tensor=tensor_util.make_tensor_proto(rows))


@pytest.mark.filterwarnings("ignore:html5lib's sanitizer is deprecated:DeprecationWarning")
@settings(deadline=None)  # the first example imports the plugin
@given(rows=hnp.arrays(np.float32, st.tuples(st.just(6), st.integers(1, 12)), elements=COUNTS))
def test_a_curve_is_the_one_tensorboard_shows(decode: Callable[..., Any], rows: np.ndarray[Any, Any]) -> None:
    from tensorboard.plugins.pr_curve.pr_curves_plugin import PrCurvesPlugin

    plugin = PrCurvesPlugin(SimpleNamespace(data_provider=None, sampling_hints=None))
    want = plugin._make_pr_entry(3, 1.5, rows)
    got = decode(curve(rows))
    for name in ("thresholds", "precision", "recall"):
        assert getattr(got, name).tolist() == want[name]
    for name in ("true_positives", "false_positives", "true_negatives", "false_negatives"):
        assert np.trunc(getattr(got, name)).tolist() == want[name]


def test_the_tail_without_predictions_is_left_off(decode: Callable[..., Any]) -> None:
    rows = np.ones((6, 5), np.float32)
    rows[:2, 3:] = 0
    rows[:2, 1] = 0
    assert decode(curve(rows)).thresholds.tolist() == [0.0, 0.25, 0.5]


def test_a_curve_without_thresholds_is_empty(decode: Callable[..., Any]) -> None:
    assert len(decode(curve(np.zeros((6, 0), np.float32))).thresholds) == 0


@pytest.mark.parametrize("shape", [(5, 4), (6,), (6, 2, 2), ()])
def test_a_tensor_of_the_wrong_shape_is_malformed(decode: Callable[..., Any], shape: tuple[int, ...]) -> None:
    smd = metadata.create_summary_metadata(None, None, num_thresholds=4)
    tensor = tensor_util.make_tensor_proto(np.zeros(shape, np.float32))
    with pytest.raises(MalformedMessage, match="6 x n numbers"):
        decode(Summary.Value(tag="c", metadata=smd, tensor=tensor))
