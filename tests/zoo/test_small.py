"""Small trainings: their plan, their traces, their logs, and what a diagnosis reads in them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from zoo.scoring import foreign, small
from zoo.small.build import build_cell
from zoo.small.faults import FAULTS, fault_named
from zoo.small.kind import all_kinds
from zoo.small.plan import FAULTS_PER_CELL, Cell, cells
from zoo.small.record import Record, Row
from zoo.small.style import all_styles
from zoo.small.trace import sound, trace

from pulseboard.diagnose.cases import trainings
from pulseboard.read.runs import read

STEPS = 100


def record(curve, *, more=None):
    """A training with this loss, for training and validation."""
    rows = [Row(i + 1, i // 10 + 1, 0.1 * i, {"loss": float(v), **(more or {})}) for i, v in enumerate(curve)]
    val = [Row(i, i // 10, 0.1 * i, {"val_loss": float(curve[i - 1])}) for i in range(10, STEPS + 1, 10)]
    return Record(STEPS, 10, rows, val)


def falling(*, noise=0.01, seed=0, end=0.2):
    rng = np.random.default_rng(seed)
    return end + (1 - end) * np.exp(-np.arange(STEPS) / 20) + noise * rng.standard_normal(STEPS)


def test_half_of_the_pairs_of_kind_and_style_are_held_out():
    found = {(cell.kind.name, cell.style.name): cell.held_out for cell in cells(seeds=3)}
    assert len(found) > 80
    assert 0.4 < np.mean(list(found.values())) < 0.6
    assert len({kind for kind, _ in found}) >= 12


def test_the_plan_of_a_cell_is_the_same_every_time():
    cell, twin = (Cell(all_kinds()["char_lm"], all_styles()["prints"], 3) for _ in range(2))
    assert cell.settings(1) == twin.settings(1) != cell.settings(2)
    assert cell.faults() == twin.faults()
    assert len(cell.faults()) == FAULTS_PER_CELL


def test_every_fault_is_used_by_a_kind_and_changes_a_setting():
    used = set().union(*(kind.faults for kind in all_kinds().values()))
    assert used == {fault.name for fault in FAULTS}
    healthy = Cell(all_kinds()["regression"], all_styles()["prints"]).settings(0)
    for fault in FAULTS:
        assert replace(healthy, **fault.changes(np.random.default_rng(0))) != healthy


def test_another_seed_leaves_no_trace_and_a_loss_that_stays_up_does():
    twin, again = record(falling()), record(falling(seed=1))
    assert not trace(record(falling(seed=2)), twin, again, shows_in=()).visible
    found = trace(record(falling(end=0.7)), twin, again, shows_in=())
    assert "loss ends worse" in found.shows
    assert 0.5 < found.cost < 1.2


def test_values_that_are_not_finite_are_a_trace():
    broken = falling()
    broken[60:] = np.nan
    assert trace(record(broken), record(falling()), record(falling(seed=1)), shows_in=()).visible


def test_times_show_only_where_they_are_logged():
    twin, again = (record(falling(seed=i), more={"step_secs": 0.1}) for i in range(2))
    slow = record(falling(), more={"step_secs": 0.1})
    for row in slow.train[50:]:
        row.values["step_secs"] = 0.4
    shows_in = fault_named("slow-loader").shows_in
    assert trace(slow, twin, again, shows_in=shows_in).shows == ("step_secs grows",)
    hidden = [one.without(["step_secs"]) for one in (slow, twin, again)]
    assert not trace(*hidden, shows_in=shows_in).visible


def test_a_healthy_training_learns_and_ends_near_its_best():
    assert sound(record(falling()))
    assert not sound(record(np.ones(STEPS) + 0.001 * falling()))
    assert not sound(record(np.concatenate([falling()[:50], falling()[:50][::-1]])))


@pytest.mark.parametrize("style", sorted(all_styles()))
def test_every_style_writes_a_log_that_is_read(style, tmp_path):
    made = record(falling(), more={"lr": 1e-3})
    all_styles()[style].write(made, tmp_path, np.random.default_rng(0))
    run = next(iter(trainings(read(tmp_path)))).parts[0][1]
    series = [run.series(tag) for tag in run.tags("scalar") if "loss" in tag.lower()]
    assert len(series) >= 2
    assert all(len(one) >= 10 for one in series)


def test_a_cell_is_trained_judged_and_scored(tmp_path):
    build_cell("boosting", "json_lines", 0, tmp_path)
    stored = [json.loads(path.read_text()) for path in (tmp_path / "truth").glob("*.json")]
    assert {"healthy"} < {one["fault"] for one in stored}
    assert any(one["visible"] for one in stored)
    assert not any(one["visible"] for one in stored if one["fault"] == "healthy")
    chosen = [*foreign.truths(tmp_path), *foreign.truths(tmp_path, held_out=True)]
    pairs = foreign.diagnosed(tmp_path, chosen, cache=tmp_path / "cache", jobs=1)
    assert f"| all | {len(stored)} |" in small.totals(pairs, tmp_path)
    assert "| boosting | 0 of " in small.details(pairs)
