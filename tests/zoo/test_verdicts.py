"""Verdicts: their vocabulary, and merging several files of them."""

import pytest
from zoo.scoring import verdicts
from zoo.scoring.verdicts import ACCEPTED, MINOR, NO_ALARM, OURS, UNSCORED, Verdict, merge, read_verdicts

from pulseboard.diagnose.guide import guide_slugs

HEADER = "run\tlabel\tconfidence\tonset\tcomment\n"


def file_of(path, *rows):
    path.write_text(HEADER + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_every_label_belongs_to_one_group():
    assert ACCEPTED.keys().isdisjoint(NO_ALARM | UNSCORED)
    assert NO_ALARM.isdisjoint(UNSCORED)
    assert ACCEPTED.keys() >= MINOR


def test_every_accepted_finding_has_a_guide():
    accepted = {slug for slugs in ACCEPTED.values() for slug in slugs}
    assert accepted - set(guide_slugs()) == set()


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("overfitting", "problem"),
        ("overfitting-mild", "minor"),
        ("healthy-rl", "healthy"),
        ("insufficient-data", "healthy"),
        ("negative-loss", "healthy"),
        ("ambiguous", "unscored"),
        ("overfitting-mild+lr-problem", "problem"),
    ],
)
def test_the_label_decides_what_is_expected(label, kind):
    assert Verdict("wild/a+b/run", label, "high").kind == kind


def test_two_problems_of_one_run_accept_the_findings_of_both():
    both = Verdict("wild/a+b/run", "nan+rl-no-learning", "high").accepted
    assert both == ACCEPTED["nan"] | ACCEPTED["rl-no-learning"]
    assert Verdict("wild/a+b/run", "healthy", "high").accepted == frozenset()


def test_a_verdict_names_its_folder_and_run():
    one = Verdict("wild/a+b/logs/version_0", "healthy", "high")
    assert (one.folder, one.name) == ("wild/a+b", "logs/version_0")
    assert Verdict("wild/a+b", "healthy", "high").name == ""


def test_a_file_with_unknown_words_is_refused_and_each_row_is_named(tmp_path):
    path = file_of(
        tmp_path / "x.tsv",
        ("wild/a+b/1", "overfittting", "high", "", ""),
        ("wild/a+b/2", "healthy", "certain", "", ""),
        ("elsewhere/a+b/3", "healthy", "high", "", ""),
        ("wild/a+b/4", "healthy", "high", "", ""),
    )
    with pytest.raises(ValueError, match="overfittting") as error:
        read_verdicts(path)
    text = str(error.value)
    assert "unknown confidence 'certain': wild/a+b/2" in text
    assert "elsewhere/a+b/3" in text
    assert "wild/a+b/4" not in text


def test_merging_keeps_the_more_confident_verdict_and_reports_disagreements(tmp_path):
    first = file_of(
        tmp_path / "1.tsv",
        ("wild/b/run", "healthy", "low", "", 'said "fine"'),
        ("wild/a/run", "healthy", "high", "", ""),
        ("wild/c/run", "nan", "high", "7", ""),
    )
    second = file_of(
        tmp_path / "2.tsv",
        ("wild/b/run", "overfitting", "medium", "12", "val up"),
        ("wild/c/run", "diverged", "high", "start", ""),
        ("wild/a/run", "healthy", "low", "", ""),
    )
    target = tmp_path / "all.tsv"
    assert merge([first, second], target) == [
        "wild/b/run: healthy (low) or overfitting (medium)",
        "wild/c/run: nan (high) or diverged (high)",
    ]
    merged = read_verdicts(target)
    assert [(one.run, one.label, one.confidence, one.onset) for one in merged] == [
        ("wild/a/run", "healthy", "high", ""),
        ("wild/b/run", "overfitting", "medium", "12"),
        ("wild/c/run", "ambiguous", "high", ""),
    ]


def test_shared_labels_come_first_and_are_translated(tmp_path, monkeypatch):
    tables = {
        "wild": [
            ("label", "confidence", "kind", "run", "said", "right", "comment"),
            ("negative-loss", "high", "CNN", "a+b/run", "ok", "missed", '"a quotation that does not end'),
        ],
        "corpus": [
            ("label", "confidence", "screen", "dup_of", "run", "evidence", "note"),
            ("healthy", "low", "no", "c+d/1", "c+d/2", "", ""),
        ],
    }
    for name, rows in tables.items():
        (tmp_path / name).mkdir()
        text = "".join("\t".join(row) + "\n" for row in rows)
        (tmp_path / name / "labels.tsv").write_text(text, encoding="utf-8")
    ours = file_of(tmp_path / "ours.tsv", ("wild/e+f/run", "nan", "high", "", ""))
    monkeypatch.setattr(verdicts, "SHARED", tmp_path)
    monkeypatch.setattr(verdicts, "OURS", ours)
    assert [(one.run, one.label, one.same_as) for one in verdicts.all_verdicts()] == [
        ("wild/a+b/run", "impossible-loss", ""),
        ("corpus/c+d/2", "healthy", "corpus/c+d/1"),
        ("wild/e+f/run", "nan", ""),
    ]


def test_our_own_verdicts_can_be_read_and_name_each_run_once():
    runs = [one.run for one in read_verdicts(OURS)]
    assert runs
    assert len(set(runs)) == len(runs)
