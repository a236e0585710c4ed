"""The documentation is true: its Python runs, its links resolve, and it covers every public name and command."""

import re
from pathlib import Path

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.core.changes import Changes

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(name):
    return BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))


def run_blocks(name, **names):
    code = blocks(name)
    assert code, f"{name} has no Python"
    space = {"__name__": "docs", **names}
    for block in code:
        exec(compile(block, str(ROOT / name), "exec"), space)


@pytest.fixture
def in_an_empty_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def a_log(in_an_empty_directory):
    """Runs with the names and tags that the documents use."""
    for name in ("runs", "/archive/runs"):
        with pb.init(
            dir=in_an_empty_directory / name.lstrip("/"), run_id="baseline", telemetry_secs=0, strict=True
        ) as run:
            for step in range(5):
                run.log({"train/loss": 1.0 / (step + 1), "val/loss": 1.0}, step=step)
            run.histogram("weights", np.ones(10))
            run.image("samples", np.zeros((3, 4, 4)))
            run.audio("speech", np.zeros(10))
            run.text("samples/text", "hello")
            run.hparams({"lr": 0.1})
    with pb.SummaryWriter(str(in_an_empty_directory / "runs" / "baseline" / "logs" / "tensorboard")) as writer:
        writer.add_pr_curve("pr", np.array([0, 1, 1]), np.array([0.1, 0.6, 0.9]), 0)


def test_the_logging_guide_runs(in_an_empty_directory, capsys):
    run_blocks("docs/guides/logging.md")
    printed = capsys.readouterr()
    assert ":: step     100 [ 12.5%]" in printed.out
    assert "0 {'loss': 0.5}" in printed.out
    assert "failed" not in printed.err


def test_the_reading_guide_runs(a_log, monkeypatch):
    monkeypatch.setattr(pb.Runs, "follow", lambda self: iter([Changes(grown=("baseline",))]))
    run_blocks("docs/guides/reading.md")


def test_the_readme_runs(a_log, capsys):
    run_blocks("README.md")
    assert "baseline 0.2" in capsys.readouterr().out


def test_the_serving_guide_runs(a_log, in_an_empty_directory, monkeypatch, capsys):
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(in_an_empty_directory / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_an_empty_directory / "cache"))
    run_blocks("docs/guides/serving.md")
    assert "http://localhost:" in capsys.readouterr().out


def test_every_public_name_is_documented():
    text = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    assert [name for name in pb.__all__ if name not in text] == []
    for name in pb.__all__:
        if name != "__version__":
            assert getattr(pb, name).__doc__, name


def test_every_command_is_documented():
    from pulseboard.cli import commands

    text = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    for name in commands.module_names():
        assert f"pulseboard {name}" in text, name


def test_getting_started_runs_and_finds_what_it_promises(in_an_empty_directory, capsys):
    run_blocks("docs/getting-started.md")
    assert "critical loss-nan 300" in capsys.readouterr().out


@pytest.mark.parametrize(
    "page",
    sorted(
        str(path.relative_to(ROOT))
        for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")]
    ),
)
def test_every_link_leads_somewhere(page):
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(path), f"{page} links to {target}"


def anchors(path):
    """The anchors that a Markdown file's headings get."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_listed_in_the_documentation_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    design = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")  # lists its own parts
    assert [page for page in pages if f"({page})" not in index and f"({Path(page).name})" not in design] == [
        "README.md"
    ]


def test_the_page_about_aim_names_every_setting_of_the_sink():
    text = (ROOT / "docs" / "guides" / "aim.md").read_text(encoding="utf-8")
    from pulseboard.record.sink import sink_class

    assert [one.name for one in sink_class("aim").settings if one.name not in text] == []


def test_the_readme_names_its_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install ." in text
    assert "make demo" in text
    assert "make test" in text
