"""Fakes of W&B, Aim and MLflow, installed as the packages."""

from __future__ import annotations

import os
import sys

import pytest
from record.fake_trackers import FakeAim, FakeMlflow, FakeWandb


@pytest.fixture
def wandb(monkeypatch):
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


@pytest.fixture
def aim(monkeypatch):
    fake = FakeAim()
    monkeypatch.setitem(sys.modules, "aim", fake)
    return fake


@pytest.fixture
def mlflow(monkeypatch):
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    fake = FakeMlflow()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake
