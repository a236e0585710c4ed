"""Trainers are scripts: put their folder and the project's on Python's path."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
for folder in (ROOT, ROOT / "trainers"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """One order of summation, and no slowdown on machines with many cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def corpus():
    """A text that is the same everywhere: the license."""
    return str(ROOT / "LICENSE")


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """The log directory of all trainings of a session."""
    return tmp_path_factory.mktemp("runs")
