"""A real webhook and a real SMTP server of this machine, and logs that grow."""

import numpy as np
import pytest
from alerts.webhook import Webhook


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def webhook():
    made = Webhook()
    yield made
    made.close()


def healthy(n, seed=0):
    steps = np.arange(n)
    return (0.5 + 2 * np.exp(-steps / 80) + 0.01 * np.random.default_rng(seed).normal(size=n)).tolist()


def add_rows(path, values, *, start=0):
    """Append rows to a CSV that knows nothing of us."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", encoding="utf-8") as stream:
        if new:
            stream.write("step,train_loss\n")
        stream.writelines(f"{start + i},{value!r}\n" for i, value in enumerate(values))
