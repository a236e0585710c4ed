"""Two reports side by side."""

import pytest
from benchmarks.compare import compare, read_rows

BEFORE = """\
## Reading

| what                                          | measured | owed          |  holds |
| --------------------------------------------- | -------: | ------------: | -----: |
| a: times as fast as the Rust loader, call     |     10.0 | at least 10.0 |    yes |
| a: of the speed of scan.c with 1 thread, call |     0.40 | at least 0.50 | **no** |
| a: of the Rust loader's memory                |     0.10 |  at most 0.50 |    yes |
| old figure                                    |        1 |             - |      - |

| set | MB | s | ms |
| --- | -: | -: | -: |
| a   | 1  | 2  | 3  |

## Serving

| what                                                     | measured | owed | holds |
| -------------------------------------------------------- | -------: | ---: | ----: |
| 100 live runs: a point is in the stream, median of 5,800 |   200 ms |  1 s |   yes |
"""
AFTER = """\
## Reading

| what                                             | measured | target       | met |
| ------------------------------------------------ | -------: | -----------: | --: |
| a: times as fast as the Rust loader, call        |     10.5 |  at least 10 | yes |
| a: share of the scanner's speed, 1 thread, call  |     0.60 | at least 0.5 | yes |
| a: share of the Rust loader's memory             |     0.20 |  at most 0.5 | yes |
| new figure                                       |        2 |            - |   - |

## Serving

| what                                                                 | measured |    target | met |
| -------------------------------------------------------------------- | -------: | --------: | --: |
| 100 live runs: delay until a point is in the stream, median of 5,900 |   100 ms | under 1 s | yes |
"""


@pytest.fixture
def lines():
    text = compare(read_rows(BEFORE), read_rows(AFTER))
    return {
        cells[0]: cells[1:]
        for cells in (
            [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
        )
    }


def test_tables_of_other_kinds_are_left_out():
    assert [row.section for row in read_rows(BEFORE)] == ["Reading"] * 4 + ["Serving"]


def test_a_small_change_is_noise(lines):
    line = lines["Reading: a: times as fast as the Rust loader, call"]
    assert line == ["10.0", "10.5", "+5%", "same", "at least 10", "yes"]


def test_an_old_label_is_found_under_its_new_name_and_more_speed_is_better(lines):
    line = lines["Reading: a: share of the scanner's speed, 1 thread, call"]
    assert line == ["0.40", "0.60", "+50%", "better", "at least 0.5", "no -> yes"]


def test_more_memory_is_worse(lines):
    assert lines["Reading: a: share of the Rust loader's memory"][2:4] == ["+100%", "worse"]


def test_a_count_that_differs_from_run_to_run_is_left_out_of_the_label(lines):
    line = lines["Serving: 100 live runs: delay until a point is in the stream, median of 5,900"]
    assert line[:4] == ["200 ms", "100 ms", "-50%", "better"]


def test_figures_of_one_report_alone_are_listed(lines):
    assert lines["Reading: new figure"][3] == "new"
    assert lines["Reading: old figure"][3] == "gone"


def test_the_command_prints_the_table_and_keeps_it_where_asked(run_benchmark, tmp_path):
    before, after, page = (tmp_path / name for name in ("before.md", "after.md", "page.md"))
    before.write_text(BEFORE)
    after.write_text(AFTER)
    done = run_benchmark("benchmarks.compare", str(before), str(after), "--write", str(page))
    assert done.returncode == 0, done.stderr
    assert "4 figures in both reports: 2 better, 1 worse, 1 within 10%." in done.stdout
    assert "Missed targets: 1 before, 0 after." in page.read_text()


def test_a_report_without_targets_is_an_error(run_benchmark, tmp_path):
    before, after = tmp_path / "before.md", tmp_path / "after.md"
    before.write_text(BEFORE)
    after.write_text("# Nothing\n")
    done = run_benchmark("benchmarks.compare", str(before), str(after))
    assert done.returncode == 1
    assert "after.md" in done.stderr
