"""Trainers are scripts: their folder, and that of the zoo, go where Python looks."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
for folder in (ROOT, ROOT / "trainers"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """So that sums are made in one order, and machines with many cores are not slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def corpus():
    """A text that is the same everywhere: the licence."""
    return str(ROOT / "LICENSE")


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Where the trainings of a session log to."""
    return tmp_path_factory.mktemp("runs")
