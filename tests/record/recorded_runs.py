"""Runs in a temporary directory, and what they hold when read."""

import pulseboard as pb
from pulseboard.record.run import init


def begin(tmp_path, **named):
    settings = {"telemetry_secs": 0, "strict": True, **named.pop("settings", {})}
    return init(dir=tmp_path / "runs", **settings, **named)


def only(log):
    assert len(log) == 1
    return next(iter(log.values()))


def read(tmp_path):
    return only(pb.read(tmp_path / "runs"))


def points(series):
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
