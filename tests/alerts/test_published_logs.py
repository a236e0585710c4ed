"""No message about published trainings that people judged healthy."""

import csv
from pathlib import Path

import pytest
from alerts.test_watch import checked_once
from corpus import need_corpus, need_wild

VERDICTS = Path(__file__).parents[2] / "zoo" / "verdicts.tsv"

pytestmark = pytest.mark.early


def test_trainings_that_people_found_healthy_send_nothing(tmp_path, webhook, monkeypatch):
    places = {"corpus": need_corpus(), "wild": need_wild()}
    monkeypatch.setattr("pulseboard.alerts.watcher._OLD_SECS", float("inf"))
    rules = tmp_path / "alerts.toml"
    rules.write_text(f'[[destination]]\nname = "hook"\nwebhook = "{webhook.url}"\n', encoding="utf-8")
    with VERDICTS.open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["label"] == "healthy"]
    found = 0
    for row in rows:
        place, _, path = row["run"].partition("/")
        if row["confidence"] == "high" and (places[place] / path).exists():
            checked_once(places[place] / path, rules)
            found += 1
    assert found > 50
    assert webhook.events() == []
