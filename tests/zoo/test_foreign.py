"""Trainings by other frameworks: their truth files, and the figures on causes."""

import json

import pytest
from zoo.scoring.figures import Share, figures
from zoo.scoring.foreign import (
    COLUMNS,
    by_base,
    causes_of_all,
    causes_of_found,
    diagnosed,
    listing,
    truths,
    updated,
)
from zoo.scoring.matching import Case
from zoo.scoring.table import rows_in
from zoo.scoring.verdicts import Verdict
from zoo_samples import broken, falling, headline, log
from zoo_samples import diagnosed as run_of


def truth(directory, name, losses, **more):
    log(directory / "runs" / name / "log.csv", losses)
    stored = {"name": name, "base": "keras", "fault": "healthy", "seed": 0, "held_out": False, "onset_step": None}
    stored |= {"visible": False, "findings": [], "causes": []}
    path = directory / "truth" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**stored, **more}), encoding="utf-8")


@pytest.fixture
def directory(tmp_path):
    truth(tmp_path, "keras-healthy-0", falling(300))
    truth(tmp_path, "keras-nan-0", broken(300), fault="nan", visible=True, findings=["loss-nan"], causes=["bad-batch"])
    truth(tmp_path, "keras-odd-0", falling(300, seed=1), fault="odd", findings=["loss-flat"])
    truth(tmp_path, "jax-healthy-0", falling(300, seed=2), base="jax", held_out=True)
    return tmp_path


def test_held_out_bases_are_scored_only_on_request(directory):
    assert [one.name for one in truths(directory)] == ["keras-healthy-0", "keras-nan-0", "keras-odd-0"]
    assert [one.name for one in truths(directory, held_out=True)] == ["jax-healthy-0"]
    assert [one.name for one in truths(directory, only="nan")] == ["keras-nan-0"]


def test_a_fault_that_nothing_reveals_counts_as_healthy(directory):
    kinds = {one.name: one.verdict.kind for one in truths(directory)}
    assert kinds == {"keras-healthy-0": "healthy", "keras-nan-0": "problem", "keras-odd-0": "healthy"}


def test_trainings_are_diagnosed_and_scored(directory, tmp_path):
    pairs = diagnosed(directory, truths(directory), cache=tmp_path / "cache", jobs=1)
    found = figures([case for _, case in pairs])
    assert found.high_found == Share(1, 1)
    assert found.healthy_flagged == Share(0, 2)
    assert "right     critical loss-nan" in listing(pairs)
    assert "\n| all | 3 | 100 % (1 of 1) |" in by_base(pairs)
    rows = rows_in(COLUMNS, updated(updated("", "before", pairs), "after", pairs[:1]))
    assert {name: cells[0] for name, cells in rows.items()} == {"before": "3", "after": "1"}


def case(alarm, causes, accepted=("bad-batch", "lr-too-high")):
    known = Verdict("runs/x", "nan", "high", findings=frozenset({"loss-nan"}), causes=frozenset(accepted))
    return Case((run_of("x", *alarm, causes=causes),), known)


def test_causes_are_counted_of_all_faulty_trainings_and_of_those_found():
    cases = [
        case([headline("loss-nan")], ("bad-batch", "killed")),
        case([headline("loss-nan")], ("killed", "bad-batch")),
        case([headline("loss-nan", "info")], ("lr-too-high",)),
        case([], ()),
        Case((run_of("y", causes=("bad-batch",)),), Verdict("runs/y", "healthy", "high", findings=frozenset())),
    ]
    assert causes_of_all(cases) == Share(2, 4)
    assert causes_of_found(cases) == Share(1, 2)
