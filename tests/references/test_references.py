"""docs/references.md is true: every statement has a verdict and a test that exists, and a partly has a reason."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "references.md"
STATEMENTS = ROOT.parent / "shared" / "reference" / "statements.md"
VERDICTS = {"yes", "partly", "needs a GPU"}


def rows():
    """(number, asked, verdict, where, test) of every statement."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and cells[0].isdigit():
            found.append((int(cells[0]), *cells[1:]))
    return found


def test_every_statement_is_listed_once_and_in_order():
    assert [row[0] for row in rows()] == list(range(1, 543))


def test_the_number_of_statements_is_that_of_the_guides():
    if not STATEMENTS.exists():
        pytest.skip(f"the list of statements is not next to the project: {STATEMENTS}")
    numbers = re.findall(r"^\| ([1-9]\d*) \|", STATEMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(numbers) == len(rows())


def test_every_row_has_a_verdict_and_none_is_a_no():
    assert {row[2] for row in rows()} == VERDICTS
    assert all(asked and where for _, asked, _, where, _ in rows())


def test_every_partly_has_a_reason():
    short = [number for number, _, verdict, why, _ in rows() if verdict == "partly" and len(why.split()) < 8]
    assert short == []


def test_the_counts_are_those_of_the_rows():
    text = PAGE.read_text(encoding="utf-8")
    first = {"000": 1, "001": 28, "002": 233, "003": 315, "004": 408}
    bounds = [*first.values(), 543]
    for guide, start, end in zip(first, bounds, bounds[1:], strict=False):
        count = Counter(verdict for number, _, verdict, _, _ in rows() if start <= number < end)
        figures = " | ".join(str(count[verdict]) for verdict in ("yes", "partly", "needs a GPU"))
        assert re.search(rf"^\| {guide} \| `\w+` \| {end - start} \| {figures} \|$", text, re.MULTILINE), guide


@pytest.mark.parametrize("test", sorted({row[4] for row in rows()}))
def test_the_test_of_a_statement_exists(test):
    path, _, name = test.strip("`").partition("::")
    assert name, "a row names a test, not a file"
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_commands_files_and_pages_named_in_rows_exist():
    text = PAGE.read_text(encoding="utf-8")
    for trainer in re.findall(r"`trainers/(\w+\.py)`", text):
        assert (ROOT / "trainers" / trainer).is_file(), trainer
    for slug in re.findall(r"finding `([a-z-]+)`", text):
        from pulseboard.diagnose.guide import guide_slugs

        assert slug in guide_slugs(), slug
