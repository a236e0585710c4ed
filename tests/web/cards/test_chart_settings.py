"""Chart settings: axes, smoothing, outliers, marks and the order of the tooltip."""

import pytest
from servers import a_server, read_columns
from web.charts import card, color_of_run, faint_pixels, find_color, hover, read_step, read_x
from web.waiting import settle, until

from pulseboard import SummaryWriter

CARD = "article.scalar canvas"
ALONE = "#scalars&regexInput=alone"


def settings(page):
    page.keyboard.press("s")
    page.locator(".settings").wait_for()
    return page.locator(".settings")


def test_the_x_axis_shows_steps_relative_time_or_wall_time(pages, study):
    page = pages.open(study, "#scalars&regexInput=%5Ea%24&smoothing=0", wait=CARD, timezone_id="UTC")
    assert read_x(page, "level", across=0.5) == "50"
    choice = page.locator(".toolbar")
    choice.get_by_role("button", name="Relative").click()
    until(page, "location.hash.includes('x=relative')")
    settle(page)
    assert read_x(page, "level", across=0.5) == "8m 20s"
    assert read_x(page, "level", across=0.999) == "16m 40s"
    choice.get_by_role("button", name="Wall").click()
    until(page, "location.hash.includes('x=wall')")
    settle(page)
    assert read_x(page, "level", across=0.5) == "2023-11-14 22:21:40"


def test_the_x_axis_can_be_logarithmic(pages, study):
    page = pages.open(study, ALONE + "&smoothing=0&tagFilter=count", wait=CARD)
    assert abs(read_step(page, "count", across=2 / 3) - 667) < 8
    settings(page).get_by_label("Log x").check()
    until(page, "location.hash.includes('logX=1')")
    settle(page)
    assert 9 <= read_step(page, "count", across=1 / 3) <= 11
    assert 92 <= read_step(page, "count", across=2 / 3) <= 108


def test_the_y_axis_can_be_logarithmic(pages, study):
    page = pages.open(study, "#scalars&smoothing=0&tagFilter=level", wait=CARD)
    card(page, "level")

    def top_of(run):
        return find_color(page, "level", color_of_run(page, run), tolerance=24, min_alpha=100).top

    assert top_of("a") - top_of("b") > 1.5 * (top_of("c") - top_of("a"))  # 4, 2 and 1
    page.keyboard.press("l")
    settle(page)
    assert top_of("a") - top_of("b") == pytest.approx(top_of("c") - top_of("a"), abs=0.02)


def test_the_tooltip_is_sorted_by_distance_value_or_name(pages, study):
    page = pages.open(study, "#scalars&smoothing=0&tagFilter=level", wait=CARD)
    order = settings(page).get_by_role("group", name="Tooltip order")

    def names():
        return hover(page, "level", across=0.5, down=0.95).locator("tbody .name").all_inner_texts()

    order.get_by_role("button", name="nearest").click()
    assert names() == ["c", "a", "b"]
    order.get_by_role("button", name="value").click()
    assert names() == ["b", "a", "c"]
    order.get_by_role("button", name="name").click()
    assert names() == ["a", "b", "c"]


def test_each_smoother_flattens_a_sawtooth_and_keeps_the_raw_curve_faint_behind_it(pages, study):
    page = pages.open(study, ALONE + "&smoothing=0&tagFilter=sawtooth", wait=CARD)
    assert hover(page, "sawtooth").locator("th").all_inner_texts()[-1] == "value"
    color = color_of_run(page, "alone")
    panel = settings(page)
    panel.get_by_label("Smoothing as a number").fill("0.95")
    for smoother in ("time-weighted", "gaussian", "running-mean", "debiased"):
        panel.get_by_label("Smoother", exact=True).select_option(smoother)
        settle(page)
        row = hover(page, "sawtooth").locator("tbody tr").locator(".right")
        assert float(row.nth(0).inner_text()) == pytest.approx(0.5, abs=0.06), smoother
        assert find_color(page, "sawtooth", color, min_alpha=220).rows < 0.35, smoother  # the smoothed curve
        assert faint_pixels(page, "sawtooth", color) > 5000, smoother  # the raw one behind it
        assert (f"smoother={smoother}" in page.url) == (smoother != "debiased")


def test_outliers_can_be_ignored(pages, study):
    page = pages.open(study, ALONE + "&smoothing=0&tagFilter=outlier&ignoreOutliers=0", wait=CARD)
    color = color_of_run(page, "alone")
    card(page, "outlier")
    # A spike of a thousand times the other values flattens them into a line at the bottom.
    assert find_color(page, "outlier", color, min_alpha=200).pixels < 2500
    before = find_color(page, "outlier", color, min_alpha=200).pixels
    settings(page).get_by_label("Ignore outliers").check()
    settle(page)
    after = find_color(page, "outlier", color, min_alpha=200)
    assert after.pixels > 1.5 * before
    page.keyboard.press("o")
    until(page, "location.hash.includes('ignoreOutliers=0')")


def test_outliers_are_ignored_at_first_and_their_number_is_a_button_that_shows_them(pages, study):
    page = pages.open(study, ALONE + "&smoothing=0&tagFilter=outlier", wait=CARD)
    color = color_of_run(page, "alone")
    found = card(page, "outlier")
    before = find_color(page, "outlier", color, min_alpha=200).pixels
    found.get_by_role("button", name="1 outlier").click()
    found.get_by_role("button", name="1 outlier").wait_for(state="detached")
    settle(page)
    assert before > 1.5 * find_color(page, "outlier", color, min_alpha=200).pixels
    until(page, """decodeURIComponent(location.hash).includes('cards={"outlier":{"outliers":true}}')""")


def test_one_card_can_have_a_logarithmic_y(pages, study):
    page = pages.open(study, ALONE + "&smoothing=0&tagFilter=count|sawtooth", wait=CARD)
    linear = find_color(page, "count", color_of_run(page, "alone"))
    card(page, "count").get_by_label("Save or overlay count").click()
    page.get_by_label("Log y on this card").check()
    page.keyboard.press("Escape")
    until(page, """decodeURIComponent(location.hash).includes('cards={"count":{"logY":true}}')""")
    settle(page)

    def middle(of):
        return page.evaluate(
            """([tag]) => {
                const canvas = document.querySelector(`article.scalar[data-tag='${tag}'] canvas`);
                return canvas.toDataURL();
            }""",
            [of],
        )

    logarithmic = find_color(page, "count", color_of_run(page, "alone"))
    # A straight line from corner to corner became a curve that is near the top for most of its way.
    assert logarithmic.pixels != linear.pixels
    drawn = middle("count")
    page.reload()
    page.locator(CARD).first.wait_for()
    card(page, "count")
    assert middle("count") == drawn


def test_infinities_and_nans_are_marked_at_the_edges(pages, study):
    page = pages.open(study, ALONE + "&smoothing=0&tagFilter=edges", wait=CARD)
    card(page, "edges")
    assert page.locator(".badge", has_text="NaN").inner_text() == "3 NaN/inf"
    found = find_color(page, "edges", color_of_run(page, "alone"))
    # The curve is a line across the middle, so everything above and below it is a mark.
    assert found.top < 0.12
    assert found.bottom > 0.8


@pytest.mark.parametrize(("zoom", "value", "above"), [("290,310", "∞", True), ("590,610", "−∞", False)])
def test_the_mark_of_an_infinity_shows_its_sign(pages, study, zoom, value, above):
    page = pages.open(study, ALONE + f"&smoothing=0&tagFilter=edges&syncZoom=1&zoom={zoom}", wait=CARD)
    assert value in hover(page, "edges").inner_text().split()
    found = find_color(page, "edges", color_of_run(page, "alone"))
    assert (found.top < 0.12) == above
    assert (found.bottom > 0.8) != above
    page.get_by_label("Save or overlay edges").click()
    with page.expect_download() as saved:
        page.locator(".panel").get_by_role("button", name="CSV", exact=True).click()
    assert f",{'' if above else '-'}inf," in saved.value.path().read_text()


@pytest.mark.parametrize(("zoom", "above"), [("1,590", True), ("310,890", False)])
def test_the_mark_of_an_infinity_in_a_pixel_column_shows_its_sign_too(pages, study, zoom, above):
    page = pages.open(study, "#scalars&tagFilter=nothing", width=1100)
    with page.expect_response("**/api/window") as response:
        page.goto(f"{study.url}{ALONE}&smoothing=0&tagFilter=edges&syncZoom=1&zoom={zoom}")
    ((header, _),) = read_columns(response.value.body()).values()
    assert not header["exact"]  # a pixel column has several points
    card(page, "edges")
    found = find_color(page, "edges", color_of_run(page, "alone"))
    assert (found.top < 0.12) == above
    assert (found.bottom > 0.8) != above


def test_a_restart_is_a_dotted_line(pages, gallery):
    def dotted_columns(hash_):
        page = pages.open(gallery, hash_, wait=CARD)
        settle(page)
        box = card(page).locator("canvas").evaluate("c => [c.width, c.height]")
        # Pixel columns with many dark pixels, apart from the grid, are the dotted line.
        return page.evaluate(
            """([width, height]) => {
                const canvas = document.querySelector("article[data-tag='train/loss'] canvas");
                const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
                const tall = [];
                for (let x = 0; x < width; x++) {
                    let dark = 0;
                    for (let y = 0; y < height; y++) {
                        const i = 4 * (y * width + x);
                        const color = data.slice(i, i + 3);
                        const spread = Math.max(...color) - Math.min(...color);
                        if (data[i + 3] > 90 && data[i] < 150 && spread < 40) dark++;
                    }
                    if (dark > height / 6) tall.push(x / width);
                }
                return tall;
            }""",
            box,
        )

    marked = dotted_columns("#scalars&regexInput=resumed&smoothing=0&findings=0")
    assert any(0.4 < x < 0.65 for x in marked), marked
    assert not any(0.4 < x < 0.65 for x in dotted_columns("#scalars&regexInput=overfit&smoothing=0&findings=0"))


def test_the_legend_shows_the_last_value_and_highlights_its_curve(pages, study):
    page = pages.open(study, ALONE + "&smoothing=0.9&tagFilter=count", wait=CARD)
    value = card(page, "count").locator(".legend .value")
    assert value.inner_text() == "1,000"  # the logged value, however much the curve is smoothed
    page.goto("about:blank")
    page = pages.open(study, "#scalars&smoothing=0&tagFilter=level", wait=CARD)
    legend = card(page, "level").locator(".legend li")
    assert [row.split() for row in legend.all_inner_texts()] == [["b", "4"], ["a", "2"], ["c", "1"]]
    color = color_of_run(page, "a")
    before = find_color(page, "level", color, min_alpha=200).pixels
    legend.first.hover()
    settle(page)
    assert find_color(page, "level", color, min_alpha=200).pixels < before / 2  # the other curves fade
    page.mouse.move(5, 5)


def test_the_width_of_cards_can_be_changed(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    before = card(page).bounding_box()["width"]
    settings(page).get_by_label("Card width").fill("880")
    until(page, "before => document.querySelector('article.scalar').clientWidth > before * 1.4", before)


def test_restarts_of_very_many_runs_are_said_to_be_left_out(pages, tmp_path):
    for number in range(10):
        for first in (0, 5):
            with SummaryWriter(tmp_path / "runs" / f"run-{number}", purge_step=first or None) as writer:
                for step in range(first, 10):
                    writer.add_scalar("loss", 1.0, step)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        settle(page)
        assert card(page, "loss").get_by_text("restarts of 8 of 10 runs").count() == 1
        page.get_by_label("Show run-0", exact=True).uncheck()
        page.get_by_label("Show run-1", exact=True).uncheck()
        settle(page)
        assert card(page, "loss").get_by_text("restarts of").count() == 0
