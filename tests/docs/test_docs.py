"""The documents are true: their Python runs, and every public name is in them."""

import re
from pathlib import Path

import numpy as np
import pytest

import pulseboard as pb

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(name):
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


def run_blocks(name, **names):
    code = blocks(name)
    assert code, f"no Python in {name}"
    space = {"__name__": "docs", **names}
    for block in code:
        exec(compile(block, str(ROOT / name), "exec"), space)


@pytest.fixture
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def a_log(in_a_directory_of_its_own):
    """Runs of the names and tags that the documents speak of."""
    for old in ("runs", "/archive/runs"):
        where = in_a_directory_of_its_own / old.lstrip("/")
        with pb.init(dir=where, run_id="baseline", telemetry_secs=0, strict=True) as run:
            for step in range(5):
                run.log({"train/loss": 1.0 / (step + 1), "val/loss": 1.0}, step=step)
            run.histogram("weights", np.ones(10))
            run.image("samples", np.zeros((3, 4, 4)))
            run.audio("speech", np.zeros(10))
            run.text("samples/text", "hello")
            run.hparams({"lr": 0.1})
    with pb.SummaryWriter(str(in_a_directory_of_its_own / "runs" / "baseline" / "logs" / "tensorboard")) as writer:
        writer.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.6, 0.9]), 0)


def test_the_logging_guide_runs(in_a_directory_of_its_own, capsys):
    run_blocks("docs/logging.md")
    told = capsys.readouterr()
    assert ":: step     100 [ 12.5%]" in told.out
    assert "0 {'loss': 0.5}" in told.out
    assert "failed" not in told.err


def test_the_reading_guide_runs(a_log, monkeypatch):
    changes = iter([pb.read.log.Changes(grown=("baseline",))])
    monkeypatch.setattr(pb.Log, "follow", lambda self: changes)
    run_blocks("docs/reading.md")


def test_the_readme_runs(a_log, monkeypatch):
    changes = iter([pb.read.log.Changes(grown=("baseline",))])
    monkeypatch.setattr(pb.Log, "follow", lambda self: changes)
    run_blocks("README.md")


def test_the_serving_guide_runs(a_log, in_a_directory_of_its_own, monkeypatch, capsys):
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(in_a_directory_of_its_own / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_a_directory_of_its_own / "cache"))
    run_blocks("docs/serving.md")
    assert "http://localhost:" in capsys.readouterr().out


def test_every_public_name_is_documented():
    said = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    assert [name for name in pb.__all__ if name not in said] == []
    for name in pb.__all__:
        if name != "__version__":
            assert getattr(pb, name).__doc__, name


def test_every_command_is_documented():
    import pkgutil

    from pulseboard.cli import commands

    said = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for module in pkgutil.iter_modules(commands.__path__):
        assert f"pulseboard {module.name}" in said, module.name


def test_the_readme_names_its_two_commands():
    said = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in said
    assert "make test" in said
