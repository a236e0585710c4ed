"""The Markdown sections that benchmarks write."""

import pytest
from benchmarks.harness.report import BrokenMarks, at_least, at_most, checks_table, verdict, write_section


def test_a_section_is_replaced_and_the_rest_of_the_page_stays(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- read:begin -->\nold\n<!-- read:end -->\nafter\n")
    write_section(page, name="read", body="new")
    assert page.read_text() == "before\n<!-- read:begin -->\n\nnew\n\n<!-- read:end -->\nafter\n"


def test_a_second_benchmark_adds_its_own_section(tmp_path):
    page = tmp_path / "page.md"
    write_section(page, name="read", body="reading")
    write_section(page, name="write", body="writing")
    write_section(page, name="read", body="reading again")
    text = page.read_text()
    assert text.startswith("# Benchmarks\n")
    assert "reading again" in text
    assert text.count("<!-- read:begin -->") == 1
    assert text.index("reading again") < text.index("writing")


@pytest.mark.parametrize(
    "text", ["<!-- read:begin -->\n", "<!-- read:end -->\n", "<!-- read:end --><!-- read:begin -->"]
)
def test_a_page_with_broken_marks_is_left_as_it_is(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(BrokenMarks):
        write_section(page, name="read", body="new")
    assert page.read_text() == text


def test_missed_targets_of_all_sections_are_listed_where_the_page_has_marks_for_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n<!-- missed:begin -->\n<!-- missed:end -->\n")
    missed, met = at_least("a: speed", 6.0, 8.0), at_least("b: speed", 9.0, 8.0)
    write_section(page, name="read", body=checks_table([missed, met]))
    write_section(page, name="write", body=checks_table([at_most("c: cost", 0.7, 0.5)]))
    top, _, _ = page.read_text().partition("<!-- missed:end -->")
    assert [line for line in top.splitlines() if line.startswith("- ")] == [
        "- read: a: speed: 6.0, target at least 8",
        "- write: c: cost: 0.70, target at most 0.5",
    ]
    write_section(page, name="read", body=checks_table([met]))
    write_section(page, name="write", body="nothing measured")
    assert "All targets are met." in page.read_text()


def test_the_verdict_counts_only_figures_with_a_target():
    fast, slow = at_least("a", 12.0, 10.0), at_least("b", 6.0, 8.0)
    untargeted, small = at_least("c", 1.0, None), at_most("d", 0.4, 0.5)
    assert verdict([fast, untargeted, small]) == "All 2 targets are met."
    assert verdict([fast, slow, untargeted]) == "1 of 2 targets are missed."
    assert verdict([untargeted, fast.without_target()]) == "No figure is judged."
