"""How curves are drawn: axes, smoothers, outliers, marks, the order of the tooltip."""

import pytest
from servers import read_columns
from web.charts import card, colour_of, faint_pixels, hover, look_for, read_step, read_x
from web.waiting import until

CARD = "article.scalar canvas"
ALONE = "#scalars&regexInput=alone"


def settings(page):
    page.keyboard.press("s")
    page.locator(".settings").wait_for()
    return page.locator(".settings")


def test_x_is_the_step_the_time_since_the_start_or_the_clock(look, study):
    page = look.at(study, "#scalars&regexInput=%5Ea%24&smoothing=0", wait=CARD, timezone_id="UTC")
    assert read_x(page, "level", across=0.5) == "50"
    choice = page.locator(".toolbar")
    choice.get_by_role("button", name="Relative").click()
    until(page, "location.hash.includes('x=relative')")
    page.wait_for_timeout(300)
    assert read_x(page, "level", across=0.5) == "8m 20s"
    assert read_x(page, "level", across=0.999) == "16m 40s"
    choice.get_by_role("button", name="Wall").click()
    until(page, "location.hash.includes('x=wall')")
    page.wait_for_timeout(300)
    assert read_x(page, "level", across=0.5) == "2023-11-14 22:21:40"


def test_x_is_logarithmic_on_request(look, study):
    page = look.at(study, ALONE + "&smoothing=0&tagFilter=count", wait=CARD)
    assert abs(read_step(page, "count", across=2 / 3) - 667) < 8
    settings(page).get_by_label("Logarithmic x").check()
    until(page, "location.hash.includes('logX=1')")
    page.wait_for_timeout(400)
    assert 9 <= read_step(page, "count", across=1 / 3) <= 11
    assert 92 <= read_step(page, "count", across=2 / 3) <= 108


def test_y_is_logarithmic_on_request(look, study):
    page = look.at(study, "#scalars&smoothing=0&tagFilter=level", wait=CARD)
    card(page, "level")

    def place(run):
        return look_for(page, "level", colour_of(page, run), far=24, faintest=100).top

    assert place("a") - place("b") > 1.5 * (place("c") - place("a"))  # 4, 2 and 1
    page.keyboard.press("l")
    page.wait_for_timeout(400)
    assert place("a") - place("b") == pytest.approx(place("c") - place("a"), abs=0.02)


def test_the_tooltip_is_in_the_order_of_the_nearest_of_values_or_of_names(look, study):
    page = look.at(study, "#scalars&smoothing=0&tagFilter=level", wait=CARD)
    order = settings(page).get_by_role("group", name="Tooltip order")

    def names():
        return hover(page, "level", across=0.5, down=0.95).locator("tbody .name").all_inner_texts()

    order.get_by_role("button", name="nearest").click()
    assert names() == ["c", "a", "b"]
    order.get_by_role("button", name="value").click()
    assert names() == ["b", "a", "c"]
    order.get_by_role("button", name="name").click()
    assert names() == ["a", "b", "c"]


def test_each_smoother_flattens_a_sawtooth_and_leaves_it_faint_behind(look, study):
    page = look.at(study, ALONE + "&smoothing=0&tagFilter=sawtooth", wait=CARD)
    assert hover(page, "sawtooth").locator("th").all_inner_texts()[-1] == "value"
    colour = colour_of(page, "alone")
    panel = settings(page)
    panel.get_by_label("Smoothing as a number").fill("0.95")
    for smoother in ("time-weighted", "gaussian", "running-mean", "debiased"):
        panel.get_by_label("Smoother", exact=True).select_option(smoother)
        page.wait_for_timeout(400)
        row = hover(page, "sawtooth").locator("tbody tr").locator(".right")
        assert float(row.nth(0).inner_text()) == pytest.approx(0.5, abs=0.06), smoother
        assert look_for(page, "sawtooth", colour, faintest=220).rows < 0.35, smoother  # the smoothed curve
        assert faint_pixels(page, "sawtooth", colour) > 5000, smoother  # the raw one behind it
        assert (f"smoother={smoother}" in page.url) == (smoother != "debiased")


def test_outliers_are_ignored_on_request(look, study):
    page = look.at(study, ALONE + "&smoothing=0&tagFilter=outlier", wait=CARD)
    colour = colour_of(page, "alone")
    card(page, "outlier")
    # A spike a thousand times the rest flattens it into one line along the foot.
    assert look_for(page, "outlier", colour, faintest=200).pixels < 2500
    before = look_for(page, "outlier", colour, faintest=200).pixels
    settings(page).get_by_label("Ignore outliers").check()
    page.wait_for_timeout(400)
    after = look_for(page, "outlier", colour, faintest=200)
    assert after.pixels > 1.5 * before
    page.keyboard.press("o")
    until(page, "!location.hash.includes('ignoreOutliers=1')")


def test_infinities_and_nan_stand_at_the_edges_where_they_left(look, study):
    page = look.at(study, ALONE + "&smoothing=0&tagFilter=edges", wait=CARD)
    card(page, "edges")
    assert page.locator(".badge", has_text="NaN").inner_text() == "3 NaN/inf"
    seen = look_for(page, "edges", colour_of(page, "alone"))
    # The curve itself is a line across the middle: what is above and below it are the marks.
    assert seen.top < 0.12
    assert seen.bottom > 0.8


@pytest.mark.parametrize(("zoom", "said", "above"), [("290,310", "∞", True), ("590,610", "−∞", False)])
def test_an_infinity_among_its_neighbours_says_which_way_it_went(look, study, zoom, said, above):
    page = look.at(study, ALONE + f"&smoothing=0&tagFilter=edges&syncZoom=1&zoom={zoom}", wait=CARD)
    assert said in hover(page, "edges").inner_text().split()
    seen = look_for(page, "edges", colour_of(page, "alone"))
    assert (seen.top < 0.12) == above
    assert (seen.bottom > 0.8) != above
    page.get_by_label("Download or overlay edges").click()
    with page.expect_download() as saved:
        page.locator(".panel").get_by_role("button", name="CSV", exact=True).click()
    assert f",{'' if above else '-'}inf," in saved.value.path().read_text()


@pytest.mark.parametrize(("zoom", "above"), [("1,590", True), ("310,890", False)])
def test_an_infinity_among_many_points_says_which_way_it_went_too(look, study, zoom, above):
    page = look.at(study, "#scalars&tagFilter=nothing", width=1100)
    with page.expect_response("**/api/window") as answer:
        page.goto(f"{study.url}{ALONE}&smoothing=0&tagFilter=edges&syncZoom=1&zoom={zoom}")
    ((about, _),) = read_columns(answer.value.body()).values()
    assert not about["exact"]  # a column of pixels holds several points
    card(page, "edges")
    seen = look_for(page, "edges", colour_of(page, "alone"))
    assert (seen.top < 0.12) == above
    assert (seen.bottom > 0.8) != above


def test_a_restart_is_a_dotted_line(look, gallery):
    def grey(hash_):
        page = look.at(gallery, hash_, wait=CARD)
        page.wait_for_timeout(600)
        box = card(page).locator("canvas").evaluate("c => [c.width, c.height]")
        # The columns between the grid's that have many dark pixels: the dotted line.
        return page.evaluate(
            """([width, height]) => {
                const canvas = document.querySelector("article[data-tag='train/loss'] canvas");
                const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
                const tall = [];
                for (let x = 0; x < width; x++) {
                    let dark = 0;
                    for (let y = 0; y < height; y++) {
                        const i = 4 * (y * width + x);
                        const colour = data.slice(i, i + 3);
                        const spread = Math.max(...colour) - Math.min(...colour);
                        if (data[i + 3] > 90 && data[i] < 150 && spread < 40) dark++;
                    }
                    if (dark > height / 6) tall.push(x / width);
                }
                return tall;
            }""",
            box,
        )

    marked = grey("#scalars&regexInput=resumed&smoothing=0&findings=0")
    assert any(0.4 < place < 0.65 for place in marked), marked
    assert not any(0.4 < place < 0.65 for place in grey("#scalars&regexInput=overfit&smoothing=0&findings=0"))


def test_the_legend_has_the_last_point_and_lifts_its_curve(look, study):
    page = look.at(study, ALONE + "&smoothing=0.9&tagFilter=count", wait=CARD)
    value = card(page, "count").locator(".legend .value")
    assert value.inner_text() == "1000"  # as logged, however much the curve is smoothed
    page.goto("about:blank")
    page = look.at(study, "#scalars&smoothing=0&tagFilter=level", wait=CARD)
    legend = card(page, "level").locator(".legend li")
    assert [row.split() for row in legend.all_inner_texts()] == [["b", "4"], ["a", "2"], ["c", "1"]]
    colour = colour_of(page, "a")
    before = look_for(page, "level", colour, faintest=200).pixels
    legend.first.hover()
    page.wait_for_timeout(300)
    assert look_for(page, "level", colour, faintest=200).pixels < before / 2  # the others fade
    page.mouse.move(5, 5)


def test_cards_are_as_wide_as_wished(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    before = card(page).bounding_box()["width"]
    settings(page).get_by_label("Card width").fill("880")
    until(page, "before => document.querySelector('article.scalar').clientWidth > before * 1.4", before)
