"""Trainings of trainers/ that are plain scripts: run in this process with the flags given, and read back."""

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
    """The run as it was logged (`run`), its config, and every name of the script (`made`)."""
    script = ROOT / "trainers" / f"{trainer}.py"
    argv = [str(script), "--dir", str(directory), "--device", "cpu", *map(str, flags)]
    with patch.object(sys, "argv", argv), patch.object(sys, "path", [str(script.parent), str(ROOT), *sys.path]):
        made = SimpleNamespace(**runpy.run_path(str(script), run_name="trainer"))
    told = json.loads((made.run.directory / "run.json").read_text())
    return SimpleNamespace(run=pb.read(directory)[made.run.id], made=made, config=told["config"], told=told)


def values(training, tag):
    """The numbers of a tag."""
    return training.run.series(tag).values


def assert_golden_losses(training, tag, name, *, steps=None):
    """The first steps are those that are kept, or become it where PULSEBOARD_GOLDEN is set."""
    path = ROOT / "tests" / "golden" / f"{name}_losses.json"
    found = values(training, tag)[:steps]
    if os.environ.get("PULSEBOARD_GOLDEN"):
        path.write_text(json.dumps([round(float(loss), 6) for loss in found]) + "\n")
    np.testing.assert_allclose(found, json.loads(path.read_text()), rtol=1e-3, atol=1e-3)
