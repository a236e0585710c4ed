"""The Python code in docs/guides/integrations.md runs, with a small model and data of each framework."""

import re
from pathlib import Path

import lightning.pytorch
import numpy as np
import pytest
from integrations.small_trainings import keras_model, language_model, lightning_module, loader, rows

import pulseboard as pb

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "integrations.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^##? (.*?)$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
X = np.linspace(0, 1, 16)[:, None]
GIVEN = {  # names that the page leaves to its reader
    "Integrations": lambda: {},
    "PyTorch Lightning": lambda: {
        "module": lightning_module(lightning.pytorch),
        "loader": loader(),
        "val_loader": loader(),
    },
    "Hugging Face Trainer": lambda: {"model": language_model(), "rows": rows()},
    "Keras": lambda: {"keras_model": keras_model(), "x": X, "y": 2 * X},
    "accelerate": lambda: {"images": np.zeros((2, 4, 4, 3))},
    "A script that uses W&B": lambda: {"images": np.zeros((2, 4, 4, 3))},
}


def test_every_section_is_run():
    assert list(GIVEN) == list(SECTIONS)


# Warnings of the frameworks themselves; the tests next to this one explain them.
@pytest.mark.filterwarnings("ignore:.*treespec, LeafSpec.*is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers")
@pytest.mark.filterwarnings("ignore:The number of training batches")
@pytest.mark.filterwarnings("ignore:.pin_memory. argument is set as true but no accelerator")
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy:DeprecationWarning")
@pytest.mark.parametrize("section", GIVEN)
def test_the_examples_run(section, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PULSEBOARD_STRICT", "1")
    monkeypatch.setenv("PULSEBOARD_TELEMETRY_SECS", "0")
    (code,) = re.findall(r"^```python\n(.*?)^```", SECTIONS[section], re.MULTILINE | re.DOTALL)
    exec(compile(code, "docs/guides/integrations.md", "exec"), {"__name__": "docs", **GIVEN[section]()})
    assert len(pb.read("runs")) == 1
    assert "pulseboard:" not in capsys.readouterr().err
