"""The foreign bases: their tables are complete, and each one trains and writes logs that can be read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from zoo.foreign.base import HEALTHY, all_bases, refresh_labels, run_path, truth_path
from zoo.foreign.build import build_bases, missing_trainings
from zoo.foreign.truth import KINDS

import pulseboard as pb

pytestmark = pytest.mark.early

ROOT = Path(__file__).parents[2]
BASES = all_bases()
NAMES = sorted(BASES)


def test_bases_and_held_out_bases():
    assert len(BASES) >= 14
    assert {name for name, base in BASES.items() if base.held_out} == {"char_rnn", "vae"}
    assert {path.stem for path in (ROOT / "zoo" / "bases").glob("[!_]*.py")} == set(BASES)


def test_the_guide_lists_every_base():
    guide = (ROOT / "docs" / "guides" / "trainers.md").read_text(encoding="utf-8")
    for name, base in BASES.items():
        assert f"| `{name}`{' (held out)' if base.held_out else ''} |" in guide


@pytest.mark.parametrize("name", NAMES)
def test_a_base_has_healthy_seeds_and_faults_that_change_its_settings(name):
    base = BASES[name]
    planned = list(base.planned())
    assert len(set(planned)) == len(planned)
    assert sum(fault == HEALTHY for fault, _ in planned) >= 5
    assert sum(fault.visible for fault in base.faults) >= 6
    for fault in base.faults:
        assert fault.change
        assert set(fault.change) <= set(base.settings)
        assert any(base.settings[key] != value for key, value in fault.change.items())
        assert planned.count((fault.name, 10)) == 1
    assert set(base.tiny) <= set(base.settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_visible_fault_names_findings_that_exist_and_a_cause(name):
    findings = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    for fault in BASES[name].faults:
        assert bool(fault.findings) == bool(fault.causes) == fault.visible
        assert [slug for slug in fault.findings if f"`{slug}`" not in findings] == []


def test_unknown_faults_are_refused():
    with pytest.raises(SystemExit, match=r"There is no fault 'lr' for vae. Choose from: healthy"):
        BASES["vae"].fault("lr")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bases")
    possible = [name for name in NAMES if not BASES[name].missing]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(Path(__file__).parent / "try_bases.py"), str(directory), HEALTHY, *possible]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return directory, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_base_trains_and_its_logs_can_be_read(trained, name):
    directory, errors = trained
    base = BASES[name]
    if base.missing:
        pytest.skip(f"install {', '.join(base.missing)} (the extra `zoo`)")
    training = f"{name}-{HEALTHY}-0"
    path = truth_path(directory, training)
    assert path.exists(), errors[-2000:]
    truth = json.loads(path.read_text(encoding="utf-8"))
    assert (truth["name"], truth["held_out"], truth["visible"]) == (training, base.held_out, False)
    logs = run_path(directory, training)
    runs = pb.read(logs)
    assert max(len(run.series(tag).steps) for run in runs.values() for tag in run.tags("scalar")) >= 2
    # A diagnosis reads neither the truth nor the name of the training.
    assert not [file for file in logs.rglob("*") if file.is_file() and training.encode() in file.read_bytes()]


def test_a_fault_is_in_the_log_and_in_the_truth(tmp_path):
    command = [sys.executable, "-m", "zoo.bases.timm_vit", "--dir", str(tmp_path), "--tiny", "--fault", "nan-batch"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    truth = json.loads(truth_path(tmp_path, "timm_vit-nan-batch-0").read_text(encoding="utf-8"))
    assert (truth["visible"], truth["onset_step"], truth["causes"][0]) == (True, 2, "bad-batch")
    (run,) = pb.read(run_path(tmp_path, "timm_vit-nan-batch-0")).values()
    losses = run.series("train_loss")
    assert losses.steps.tolist() == [0, 1, 2, 3]
    assert np.isnan(losses.values).tolist() == [False, False, True, True]


def test_labels_are_corrected_without_training_again(trained):
    directory, _ = trained
    base = BASES["timm_vit"]
    path = truth_path(directory, "timm_vit-healthy-0")
    before = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**before, "held_out": True, "findings": ["loss-nan"]}), encoding="utf-8")
    refresh_labels(base, directory)
    assert json.loads(path.read_text(encoding="utf-8")) == before
    assert "timm_vit-healthy-0" not in missing_trainings(base, directory)
    assert "timm_vit-healthy-1" in missing_trainings(base, directory)


def test_a_base_without_its_package_is_skipped_with_a_message(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert build_bases(tmp_path, only="xgboost") == []
    assert "xgboost_regression is skipped: install xgboost (the extra `zoo`)" in capsys.readouterr().err


def test_kinds_of_faults_accept_findings_and_causes():
    assert all(findings and causes for findings, causes in KINDS.values())
