"""Comparing runs on charts: a baseline, and the values at selected steps."""

from servers import a_server
from web.charts import card, find_color, hover, theme_color
from web.waiting import settle, until

import pulseboard as pb

CARD = "article.scalar canvas"


def legend(page, tag):
    rows = card(page, tag).locator(".legend li").all_inner_texts()
    return {row.split()[0]: row.split()[1] for row in rows}


def rows(page, tag):
    """The table of a card: its header, and its cells by run."""
    table = card(page, tag).locator(".steps table")
    table.wait_for()
    settle(page)
    cells = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    head = [text.rstrip(" ↓↑") for text in table.locator("th").all_inner_texts()]
    return head, {name.strip(): values for name, *values in cells}


def test_runs_are_compared_with_a_baseline_that_is_always_drawn(pages, study):
    page = pages.open(study, "#scalars&regexInput=^[abc]$&smoothing=0&tagFilter=level", wait=CARD)
    page.locator(".row", has_text="c").first.hover()
    page.get_by_label("Menu of c", exact=True).click()
    page.get_by_role("button", name="Set as baseline").click()
    until(page, "location.hash.includes('baseline=c')")
    # It is the first of the list, with a word, and drawn whatever the filter says.
    assert "baseline" in page.locator(".row").first.inner_text()
    page.get_by_label("Filter runs by regular expression or tag").fill("^b$")
    settle(page)
    assert legend(page, "level") == {"b": "4", "c": "1"}
    # The tooltip and the legend at full size say how far the others are from it.
    tooltip = hover(page, "level", across=0.5).inner_text()
    assert "vs. baseline" in tooltip
    assert "+3" in tooltip
    card(page, "level").get_by_label("Full size: level").click()
    table = page.get_by_role("dialog").locator("table")
    table.get_by_text("+3").wait_for()
    page.keyboard.press("Escape")
    # The differences can be drawn, computed on the server.
    page.get_by_label("Differences").check()
    until(page, "location.hash.includes('difference=1')")
    settle(page)
    assert legend(page, "level") == {"b": "3", "c": "0"}
    card(page, "level").get_by_text("vs. baseline").wait_for()
    # Compare takes it as its first run.
    page.evaluate("location.hash = '#compare&baseline=c&compare=' + encodeURIComponent('[\"a\",\"b\"]')")
    page.get_by_text("vs. c").first.wait_for()
    page.evaluate("location.hash = '#scalars&baseline=c&difference=1&tagFilter=level&smoothing=0'")
    page.get_by_label("Compare with no baseline").click()
    until(page, "!location.hash.includes('baseline') && !location.hash.includes('difference')")
    settle(page)
    assert legend(page, "level")["c"] == "1"


def test_the_table_of_settings_compares_with_the_baseline_also_after_a_reload(pages, tmp_path):
    for name, level in (("a", 2.0), ("b", 4.0), ("c", 1.0)):
        settings = {"dir": tmp_path / "runs", "report_to": "tensorboard", "telemetry_secs": 0}
        with pb.init(run_id=name, config={"lr": level / 10}, **settings) as run:
            run.log({"level": level}, step=0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#hparams&baseline=c", wait="tbody tr")
        for _ in range(2):
            until(page, "document.querySelectorAll('tbody .apart').length > 0")
            settle(page)
            head = [text.rstrip(" ↓↑") for text in page.locator("thead th").all_inner_texts()]
            table = [row.locator("td").all_inner_texts() for row in page.locator("tbody tr").all()]
            assert table[0][0].split() == ["c", "baseline"]
            assert {row[0].split()[0]: row[head.index("level")] for row in table} == {"c": "1", "a": "2+1", "b": "4+3"}
            assert table[0][head.index("lr")] == "0.1"
            page.reload()
            page.wait_for_selector("tbody tr")


def test_long_names_leave_space_for_values_on_a_phone(pages, tmp_path):
    for name in "ab":
        settings = {"dir": tmp_path / "runs", "report_to": "tensorboard", "telemetry_secs": 0}
        config = {f"setting_{i}": f"{name}{i}" for i in range(8)}
        with pb.init(run_id=f"{name}-training-with-a-very-long-name-as-sweeps-give-them", config=config, **settings):
            pass
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#hparams", wait="tbody tr", width=390, height=844)
        settle(page)
        name = page.locator("tbody td").first.bounding_box()
        assert name["x"] + name["width"] < 0.6 * 390


def test_a_table_shows_the_values_at_a_step_and_between_two(pages, study):
    page = pages.open(study, "#scalars&regexInput=alone&smoothing=0&tagFilter=^(count|sawtooth)$", wait=CARD)
    page.get_by_role("button", name="Step table").click()
    until(page, "location.hash.includes('steps=1000')")
    head, cells = rows(page, "count")
    assert head == ["Run", "Value", "Step"]
    assert cells["alone"] == ["1,000", "1,000"]
    # A click on a chart selects a step, on all cards.
    plot = card(page, "count").locator(".u-over")
    box = plot.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    until(page, "!location.hash.includes('steps=1000')")
    step = int(page.get_by_label("Selected step", exact=True).input_value())
    assert 450 < step < 550
    assert rows(page, "count")[1]["alone"] == [str(step), str(step)]
    assert rows(page, "sawtooth")[1]["alone"] == [str(step % 2), str(step)]
    # Two steps: the ends, the change and the extremes of every point between them.
    page.get_by_label("Selected step", exact=True).fill("101")
    page.get_by_label("Selected step", exact=True).press("Enter")
    page.get_by_label("Last selected step").fill("200")
    page.get_by_label("Last selected step").press("Enter")
    until(page, "location.hash.includes('steps=101,200')")
    head, cells = rows(page, "count")
    assert head == ["Run", "Start", "End", "Change", "Min", "Max"]
    assert cells["alone"] == ["101", "200", "+99", "101", "200"]
    assert rows(page, "sawtooth")[1]["alone"] == ["1", "0", "−1", "0", "1"]
    # The range is marked on the chart.
    marked = find_color(page, "count", theme_color(page, "dim"), tolerance=12, min_alpha=200)
    assert marked.pixels > 50
    page.get_by_role("button", name="Step table").click()
    until(page, "!location.hash.includes('steps=')")
    card(page, "count").locator(".legend").wait_for()


def test_the_table_sorts_and_compares(pages, study):
    page = pages.open(study, "#scalars&regexInput=^[abc]$&smoothing=0&tagFilter=level&steps=50&baseline=a", wait=CARD)
    head, cells = rows(page, "level")
    assert head == ["Run", "Value", "vs. baseline", "Step"]
    assert cells == {"b": ["4", "+2", "50"], "a": ["2", "–", "50"], "c": ["1", "−1", "50"]}
    assert list(cells) == ["b", "a", "c"]
    card(page, "level").get_by_title("Sort by Run").click()
    assert list(rows(page, "level")[1]) == ["a", "b", "c"]
