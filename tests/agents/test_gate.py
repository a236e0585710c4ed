"""`pulseboard gate`: passes what is as good as before, and fails what is not, with the reason."""

import json

import numpy as np
import pytest

from pulseboard.cli import main
from pulseboard.core.series import Series
from pulseboard.record.event_log.series_file import write_series


def record(root, name, *, floor=0.5, secs=0.1, ram=4.0, steps=300, nan_from=None, seed=0):
    """A log with wall times of its own, so that nothing depends on how fast the test is."""
    at = np.arange(steps)
    loss = floor + 2 * np.exp(-at / 100) + 0.01 * np.random.default_rng(seed).normal(size=steps)
    if nan_from is not None:
        loss[nan_from:] = np.nan
    columns = {"train/loss": loss, "train/lr": np.full(steps, 0.1), "memory/ram_main_process_gb": np.full(steps, ram)}
    walls, kept = 1_700_000_000 + secs * at, np.zeros(steps, bool)
    write_series(str(root / name), series=[Series(tag, at, walls, values, kept) for tag, values in columns.items()])


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    root = tmp_path_factory.mktemp("good")
    for seed in range(3):
        record(root, f"good-{seed}", floor=0.5 + 0.01 * seed, seed=seed)
    return root


def checks(capsys, path, good, *args):
    capsys.readouterr()
    code = main(["gate", str(path), "--against", str(good), "--json", *args])
    result = json.loads(capsys.readouterr().out)
    assert code == (0 if result["passed"] else 1)
    return {check["kind"]: check["passed"] for check in result["checks"]}


def test_a_run_like_the_earlier_ones_passes(capsys, tmp_path, good):
    record(tmp_path, "new", seed=9)
    found = checks(capsys, tmp_path / "new", good)
    assert found == {"metric": True, "incident": True, "length": True, "speed": True, "memory": True}


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({"floor": 0.7}, {"metric"}),
        ({"floor": 0.3}, set()),  # better is not worse
        ({"secs": 0.2}, {"speed"}),
        ({"ram": 6.0}, {"memory"}),
        ({"steps": 200}, {"length", "metric"}),
        ({"nan_from": 200}, {"metric", "incident"}),
    ],
)
def test_what_is_worse_fails_its_own_check(capsys, tmp_path, good, change, fails):
    record(tmp_path, "new", seed=9, **change)
    assert {kind for kind, passed in checks(capsys, tmp_path / "new", good).items() if passed is False} == fails


def test_limits_can_be_widened(capsys, tmp_path, good):
    record(tmp_path, "new", floor=0.7, secs=0.2, ram=6.0, seed=9)
    wide = ("--tolerance", "0.5", "--max-slowdown", "2", "--max-memory", "1")
    assert False not in checks(capsys, tmp_path / "new", good, *wide).values()


def test_the_summary_is_markdown_and_goes_to_the_page_of_the_job(capsys, tmp_path, good, monkeypatch):
    record(tmp_path, "new", floor=0.7, seed=9)
    job = tmp_path / "job.md"
    job.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(job))
    args = ["gate", str(tmp_path / "new"), "--against", str(good), "--markdown", str(tmp_path / "gate.md")]
    assert main(args) == 1
    text = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert text.startswith("## ❌ Training gate: `new` failed\n")
    assert "| ❌ | metric | `train/loss` | 0.8" in text
    assert job.read_text(encoding="utf-8") == "before\n" + text


def test_a_run_is_not_compared_with_itself_and_learning_rates_do_not_count(capsys, good):
    capsys.readouterr()
    assert main(["gate", str(good / "good-0"), "--against", str(good), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert sorted(result["against"]) == ["good-1", "good-2"]
    assert [check["name"] for check in result["checks"] if check["kind"] == "metric"] == ["train/loss"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["{good}", "--against", "{good}"], "The gate checks one run, but 3 are selected."),
        (["{good}/good-0", "--against", "{good}/good-0"], "No earlier runs found"),
        (["{good}/good-0", "--against", "{good}", "-t", "nothing"], "No metric to compare"),
        (["{good}/good-0", "--against", "{good}/none"], "no such file or directory"),
    ],
)
def test_a_wrong_call_says_what_to_do(capsys, good, args, says):
    capsys.readouterr()
    assert main(["gate", *(arg.format(good=good) for arg in args)]) == 2
    assert says in capsys.readouterr().err
