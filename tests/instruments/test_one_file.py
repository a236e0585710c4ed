"""Adding an instrument, or a measurement of `pb.watch`, takes one file and no other change."""

import sys

import pytest
from instruments.watch.watched_training import batches, logged, model_and_optimizer, train, values

import pulseboard as pb
from pulseboard.instruments import metrics, registry
from pulseboard.instruments.watch import measurement, measurements

INSTRUMENT = '''
"""Weight of the batch."""

from pulseboard.core.metric import Metric
from pulseboard.instruments.registry import instrument


@instrument(id="added", every=2, metrics={"train/added": Metric("1", "sum of the batch", "steady")})
def added(batch):
    return {"train/added": batch.sum()}
'''

MEASUREMENT = '''
"""Number of parameters."""

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement


@measurement(id="added", every=2, metrics={"train/parameter_count": Metric("1", "number of parameters", "fixed")})
class Added(Measurement):
    def after_step(self):
        return {"train/parameter_count": sum(p.numel() for _, p in self.training.parameters.all)}
'''


@pytest.fixture
def add_file(tmp_path, monkeypatch):
    """Put a file into a package, for this test only."""
    monkeypatch.setattr(registry, "_instruments", dict(registry.all_instruments()))
    monkeypatch.setattr(measurement, "_measurements", dict(measurement.all_measurements()))
    names = []

    def add(package, text):
        (tmp_path / "added.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        names.append(f"{package.__name__}.added")

    yield add
    for name in names:
        sys.modules.pop(name, None)


def test_a_file_in_metrics_is_an_instrument(add_file, run):
    add_file(metrics, INSTRUMENT)
    added = registry.all_instruments()["added"].measure
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None) as watching:
        for x in batches(3):
            watching.measure(added, x)
            train(model, optimizer, [x])
    assert logged(run).series("train/added").steps.tolist() == [0, 2]


def test_a_file_in_measurements_is_measured_by_watch(add_file, run):
    add_file(measurements, MEASUREMENT)
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every={"added": 1}):
        train(model, optimizer, batches(3))
    assert values(logged(run), "train/parameter_count") == [161.0] * 3
