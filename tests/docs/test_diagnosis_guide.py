"""The guide to diagnosis is true: its Python runs, its profile loads, and the score has a place for each table."""

import re
from pathlib import Path

import pytest

from pulseboard.diagnose.profile import load_profile

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "diagnosis.md").read_text(encoding="utf-8")


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "docs"}
    for block in re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/guides/diagnosis.md", "exec"), space)
    printed = capsys.readouterr().out
    assert "critical loss-nan" in printed
    assert space["reports"].status == "critical"
    assert "finding" in space
    assert space["reports"].to_dict()["runs"][0]["steps"][0] == 0


def test_its_profile_loads(tmp_path):
    text = re.search(r'^    extends = "gpt"\n(?:    .*\n|\n)*', GUIDE, re.MULTILINE).group()
    path = tmp_path / "ours.toml"
    path.write_text(re.sub(r"^    ", "", text, flags=re.MULTILINE), encoding="utf-8")
    profile = load_profile(str(path))
    assert profile.limit("loss-spike", "rise") == 0.2
    assert profile.metric("router/entropy_3").stages[0].high == 2.5
    assert profile.metric("Loss/train") is not None  # from the profile it extends


@pytest.mark.parametrize("mark", ["zoo", "labels", "peers"])
def test_the_score_has_a_place_for_each_table(mark):
    text = (ROOT / "docs" / "diagnosis-score.md").read_text(encoding="utf-8")
    begin, end = text.index(f"<!-- {mark} -->"), text.index(f"<!-- /{mark} -->")
    assert begin < end
    assert f"python -m zoo {'score' if mark == 'zoo' else mark}" in text[:begin]
