"""Run the trainers that are plain scripts in this process, and read their runs back."""

import json
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

import pulseboard as pb

ROOT = Path(__file__).parents[1]


def train(trainer, directory, *flags):
    """The run read back (`run`), its run.json and config, and every name of the script (`script`)."""
    script = ROOT / "trainers" / f"{trainer}.py"
    argv = [str(script), "--dir", str(directory), "--device", "cpu", *map(str, flags)]
    with patch.object(sys, "argv", argv), patch.object(sys, "path", [str(script.parent), str(ROOT), *sys.path]):
        namespace = SimpleNamespace(**runpy.run_path(str(script), run_name="trainer"))
    run_json = json.loads((namespace.run.directory / "run.json").read_text())
    run = pb.read(directory)[namespace.run.id]
    return SimpleNamespace(run=run, script=namespace, config=run_json["config"], run_json=run_json)


def values(training, tag):
    """The values of a tag."""
    return training.run.series(tag).values


def assert_golden_losses(training, tag, name, *, steps=None):
    """Compare the first steps with the golden file; with PULSEBOARD_GOLDEN set, write it."""
    path = ROOT / "tests" / "golden" / f"{name}_losses.json"
    found = values(training, tag)[:steps]
    if os.environ.get("PULSEBOARD_GOLDEN"):
        path.write_text(json.dumps([round(float(loss), 6) for loss in found]) + "\n")
    np.testing.assert_allclose(found, json.loads(path.read_text()), rtol=1e-3, atol=1e-3)
