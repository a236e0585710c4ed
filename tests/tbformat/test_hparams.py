"""Hyperparameters: each record alone, and the three merged."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import struct_pb2
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.hparams.summary_v2 import (
    Discrete,
    HParam,
    Metric,
    RealInterval,
    hparams_config_pb,
    hparams_pb,
)

from pulseboard.core.values import HParamInfo, HParams, Interval, MetricInfo
from pulseboard.tbformat.codecs.hparams import hparams_from
from pulseboard.tbformat.wire import MalformedMessage, bytes_field

SIMPLE = st.floats(allow_nan=False) | st.text(max_size=9) | st.booleans() | st.none()
JSON = st.recursive(
    SIMPLE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


def record(**parts: Any) -> Summary.Value:
    smd = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(**parts))
    return Summary.Value(tag="_hparams_/x", metadata=smd)


def start(values: dict[str, Any], **more: Any) -> Summary.Value:
    info = plugin_data_pb2.SessionStartInfo(**more)
    for key, value in struct_pb2.Struct(fields={k: as_value(v) for k, v in values.items()}).fields.items():
        info.hparams[key].CopyFrom(value)
    return record(session_start_info=info)


def as_value(value: Any) -> struct_pb2.Value:
    if value is None:
        return struct_pb2.Value(null_value=0)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, list):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=map(as_value, value)))
    if isinstance(value, dict):
        return struct_pb2.Value(struct_value=struct_pb2.Struct(fields={k: as_value(v) for k, v in value.items()}))
    return struct_pb2.Value(number_value=value)


@given(values=st.dictionaries(st.text(max_size=9), SIMPLE, max_size=6))
def test_values_that_tensorboard_writes_are_read_back(decode: Callable[..., Any], values: dict[str, Any]) -> None:
    got = decode(start(values, group_name="g", model_uri="m", monitor_url="u", start_time_secs=7.5))
    assert got.values == values
    assert {k: type(v) for k, v in got.values.items()} == {k: type(v) for k, v in values.items()}
    assert (got.group_name, got.model_uri, got.monitor_url, got.start_time) == ("g", "m", "u", 7.5)


@given(value=st.lists(JSON, max_size=3) | st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_lists_and_structs_are_decoded_to_json(decode: Callable[..., Any], value: Any) -> None:
    assert json.loads(decode(start({"k": value})).values["k"]) == value


def test_the_records_of_tensorboards_own_writer_are_merged(decode: Callable[..., Any]) -> None:
    config = hparams_config_pb(
        hparams=[
            HParam("lr", RealInterval(1e-4, 0.1), display_name="rate", description="of learning"),
            HParam("opt", Discrete(["adam", "sgd"])),
            HParam("nesterov", Discrete([False, True])),
            HParam("free"),
        ],
        metrics=[Metric("loss", group="validation", display_name="l", description="d", dataset_type=Metric.VALIDATION)],
        time_created_secs=100.0,
    )
    session = hparams_pb({"lr": 0.01, "opt": "adam", "nesterov": True}, trial_id="t1", start_time_secs=5.0)
    end = record(session_end_info=plugin_data_pb2.SessionEndInfo(status=1, end_time_secs=9.0))
    got = hparams_from([decode(value) for value in (*config.value, *session.value, end)])

    assert got.records == {"experiment", "session_start", "session_end"}
    assert got.values == {"lr": 0.01, "opt": "adam", "nesterov": True}
    assert (got.group_name, got.start_time, got.end_time, got.status) == ("t1", 5.0, 9.0, "success")
    assert got.time_created == 100.0
    assert got.hparam_infos == (
        HParamInfo(name="lr", display_name="rate", description="of learning", type="float", domain=Interval(1e-4, 0.1)),
        HParamInfo(name="opt", display_name="", description="", type="string", domain=("adam", "sgd")),
        HParamInfo(name="nesterov", display_name="", description="", type="bool", domain=(False, True)),
        HParamInfo(name="free", display_name="", description="", type="unset", domain=None),
    )
    assert got.metric_infos == (
        MetricInfo(tag="loss", group="validation", display_name="l", description="d", dataset="validation"),
    )


def test_an_experiment_has_a_user_and_a_description(decode: Callable[..., Any]) -> None:
    got = decode(record(experiment=api_pb2.Experiment(name="n", description="d", user="u")))
    assert (got.name, got.description, got.user, got.time_created) == ("n", "d", "u", None)


@pytest.mark.parametrize(("number", "status"), [(0, "unknown"), (1, "success"), (2, "failure"), (3, "running")])
def test_a_session_has_one_of_four_statuses(decode: Callable[..., Any], number: int, status: str) -> None:
    assert decode(record(session_end_info=plugin_data_pb2.SessionEndInfo(status=number))).status == status


def test_a_later_record_overrides_only_the_values_it_has(decode: Callable[..., Any]) -> None:
    first, second = decode(start({"a": 1.0, "b": 2.0}, group_name="g")), decode(start({"a": 3.0}))
    end = decode(record(session_end_info=plugin_data_pb2.SessionEndInfo(status=2)))
    got = hparams_from([first, end, second])
    assert (got.values, got.group_name, got.status) == ({"a": 3.0, "b": 2.0}, "", "failure")


def test_an_empty_record_changes_nothing(decode: Callable[..., Any]) -> None:
    assert hparams_from([decode(start({"a": 1.0})), HParams(step=0, wall_time=0.0)]).values == {"a": 1.0}


def test_a_values_own_metadata_wins_over_the_first_of_its_tag(decode: Callable[..., Any]) -> None:
    first = start({"a": 1.0}).metadata.SerializeToString()
    assert decode(start({"a": 2.0}), tag_metadata=first).values == {"a": 2.0}


def test_nesting_too_deep_is_malformed(decode: Callable[..., Any]) -> None:
    deep = b""
    for _ in range(5000):  # Value {list_value {values {...}}}
        deep = bytes_field(6, value=bytes_field(1, value=deep))
    entry = bytes_field(1, value=b"k") + bytes_field(2, value=deep)
    value = Summary.Value(tag="h")
    value.metadata.plugin_data.plugin_name = "hparams"
    value.metadata.plugin_data.content = bytes_field(3, value=bytes_field(1, value=entry))
    with pytest.raises(MalformedMessage, match="nested more than 100 deep"):
        decode(value)


def test_merging_needs_at_least_one_record() -> None:
    with pytest.raises(ValueError, match="at least one"):
        hparams_from([])
