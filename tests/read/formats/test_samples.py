"""Logs that real tools wrote. What they hold was taken from the tool's own interface, not from our readers.

A sample is a directory in `samples/`. Its `expected.json` says which tool made it (`made_by`), how precisely it prints
(`precision`, as pytest.approx takes it), and which runs are in it, by path, with their formats and points.

Not among them are detectron2 and neptune-exporter, which pip could not install (November 2026), and Megatron-LM, whose
training loop is not in megatron-core. test_json.py reads a published log of detectron2; test_trackers.py and
test_printed_formats.py write the other two as their sources do. test_mlflow.py reads what MLflow itself writes.
"""

import json
from pathlib import Path

import pytest
from other_formats import points, runs_of_other_formats

SAMPLES = Path(__file__).parent / "samples"


def expected_runs():
    for path in sorted(SAMPLES.glob("*/expected.json")):
        expected = json.loads(path.read_text(encoding="utf-8"))
        for name, run in expected["runs"].items():
            yield pytest.param(path.parent, name, run, expected["precision"], id=f"{path.parent.name}-{name}")


def opened(sample, name):
    """The run at a path below a sample, by giving its file: files next to it would be joined with it."""
    file = sample / name
    while not file.exists():
        file = file.parent
    assert file != sample
    runs = runs_of_other_formats(file)
    below = name.removeprefix(str(file.relative_to(sample))).lstrip("/")
    return next(run for run_name, run in runs.items() if len(runs) == 1 or run_name.endswith(below))


@pytest.mark.parametrize(("sample", "name", "expected", "precision"), list(expected_runs()))
def test_a_log_of_a_real_tool_is_read(sample, name, expected, precision):
    run = opened(sample, name)
    assert run.format == expected["format"]
    for tag, wanted in expected["tags"].items():
        found = points(run, tag)
        assert [step for step, _ in found] == [step for step, _ in wanted], tag
        assert [value for _, value in found] == pytest.approx([value for _, value in wanted], **precision), tag
    assert run.config().items() >= expected.get("config", {}).items()
    assert [note for note in run.notes() if note.level != "info"] == []


@pytest.mark.parametrize(
    "sample", sorted(path.parent for path in SAMPLES.glob("*/expected.json")), ids=lambda path: path.name
)
def test_every_sample_is_found_in_its_directory(sample):
    runs = runs_of_other_formats(sample)
    assert runs
    assert all(run.points for run in runs.values())
