"""Zooming and panning with the wheel, the mouse and the keyboard."""

from web.charts import card, chart, color_of_run, drag, find_color, point, read_step
from web.waiting import settle, until

CARD = "article.scalar canvas"
COUNT = "#scalars&regexInput=alone&smoothing=0&tagFilter=count"


def steps_in_view(page, tag="count"):
    return read_step(page, tag, across=0.002), read_step(page, tag, across=0.998)


def assert_whole(page):
    first, last = steps_in_view(page)
    assert first < 5
    assert last > 995


def test_the_wheel_zooms_around_the_pointer_and_pans_with_shift(pages, study):
    page = pages.open(study, COUNT, wait=CARD)
    assert_whole(page)
    point(page, chart(page, "count"), 0.25)
    page.keyboard.down("Alt")
    for _ in range(4):
        page.mouse.wheel(0, -100)
        settle(page)  # a busy browser merges events of the wheel
    page.keyboard.up("Alt")
    page.get_by_label("Reset zoom of count").wait_for()
    settle(page)
    first, last = steps_in_view(page)
    # 0.8 to the fourth power is 0.41 of the range, and the step under the pointer stays in place.
    assert 380 < last - first < 440
    assert abs((first + (last - first) * 0.25) - 251) < 15
    page.keyboard.down("Alt")
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 100)
    settle(page)
    page.keyboard.up("Shift")
    page.keyboard.up("Alt")
    settle(page)
    assert abs(steps_in_view(page)[0] - first - (last - first) * 0.1) < 8


def test_the_wheel_alone_scrolls_the_page_but_zooms_at_full_size(pages, study):
    page = pages.open(study, "#scalars&smoothing=0", wait=CARD, height=500)
    point(page, chart(page, "count"), 0.5)
    page.mouse.wheel(0, 300)
    until(page, "document.getElementById('main').scrollTop > 100")
    assert page.get_by_label("Reset zoom of count").count() == 0
    page.get_by_label("Full size: count").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("canvas").wait_for()
    point(page, dialog.locator(".u-over"), 0.5)
    page.mouse.wheel(0, -100)
    dialog.get_by_label("Reset zoom of count").click()
    dialog.get_by_label("Reset zoom of count").wait_for(state="detached")


def test_dragging_with_shift_pans(pages, study):
    page = pages.open(study, COUNT + "&syncZoom=1&zoom=400,600", wait=CARD)
    drag(page, chart(page, "count"), (0.75, 0.5), (0.25, 0.5), key="Shift")
    until(page, "!location.hash.includes('zoom=400,600')")
    settle(page)
    first, last = steps_in_view(page)
    assert abs(first - 500) <= 3
    assert abs(last - 700) <= 3


def test_a_box_zooms_both_axes_and_a_double_click_resets(pages, study):
    page = pages.open(study, COUNT, wait=CARD)
    over = chart(page, "count")
    # The curve is a diagonal, and so is the part of it inside a box in the middle.
    drag(page, over, (0.4, 0.2), (0.6, 0.8))
    page.get_by_label("Reset zoom of count").wait_for()
    settle(page)
    first, last = steps_in_view(page)
    assert abs(first - 400) < 20
    assert abs(last - 600) < 20
    found = find_color(page, "count", color_of_run(page, "alone"))
    # y is zoomed too, from 0.2 to 0.8 of its range, so the middle fifth of the line covers a third of the height.
    assert 0.2 < found.bottom - found.top < 0.45
    over.dblclick()
    page.get_by_label("Reset zoom of count").wait_for(state="detached")
    settle(page)
    assert_whole(page)
    assert find_color(page, "count", color_of_run(page, "alone")).rows > 0.6


def test_a_vertical_drag_zooms_only_y_and_can_be_reset(pages, study):
    page = pages.open(study, COUNT, wait=CARD)
    drag(page, chart(page, "count"), (0.5, 0.3), (0.502, 0.7))
    settle(page)
    assert_whole(page)
    color = color_of_run(page, "alone")
    # Only the middle of the line is visible; the rest is below or above.
    found = find_color(page, "count", color)
    assert 0.3 < found.right - found.left < 0.6
    page.get_by_label("Reset zoom of count").click()
    settle(page)
    whole = find_color(page, "count", color)
    assert whole.right - whole.left > 0.7


def test_keys_zoom_and_pan_a_card(pages, study):
    page = pages.open(study, COUNT, wait=CARD)
    card(page, "count").locator(".chart").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    settle(page)
    first, last = steps_in_view(page)
    assert abs((last - first) - 700) < 15
    assert abs(first - (150 + 105)) < 15
    card(page, "count").locator(".chart").focus()
    page.keyboard.press("-")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    settle(page)
    assert_whole(page)


def test_zooming_in_shows_the_logged_points(pages, study):
    page = pages.open(
        study, "#scalars&regexInput=alone&smoothing=0&tagFilter=sawtooth&syncZoom=1&zoom=500,508", wait=CARD
    )
    settle(page)
    steps = [read_step(page, "sawtooth", across=eighth / 8) for eighth in range(1, 8)]
    assert steps == list(range(501, 508))


def test_between_two_points_the_line_is_drawn_and_the_legend_has_the_last_value(pages, study):
    page = pages.open(study, COUNT + "&syncZoom=1&zoom=500.2,500.8", wait=CARD)
    found = find_color(page, "count", color_of_run(page, "alone"))
    card(page, "count")
    assert found.right - found.left > 0.7  # from edge to edge
    assert found.rows > 0.5
    assert card(page, "count").locator(".legend .value").inner_text() == "500"


def test_a_curve_reaches_the_edges_of_a_zoomed_chart(pages, study):
    page = pages.open(study, COUNT + "&syncZoom=1&zoom=499.4,502.6", wait=CARD)
    card(page, "count")
    whole = find_color(page, "count", color_of_run(page, "alone"))
    box = page.evaluate(
        """() => {
            const canvas = document.querySelector("article.scalar canvas").getBoundingClientRect();
            const over = document.querySelector("article.scalar .u-over").getBoundingClientRect();
            return [(over.left - canvas.left) / canvas.width, (over.right - canvas.left) / canvas.width];
        }"""
    )
    assert abs(whole.left - box[0]) < 0.01
    assert abs(whole.right - box[1]) < 0.01


def test_zooming_out_ends_at_the_whole_curve(pages, study):
    page = pages.open(study, COUNT + "&syncZoom=1&zoom=400,600", wait=CARD)
    card(page, "count").locator(".chart").focus()
    for _ in range(12):
        page.keyboard.press("-")
    until(page, "!location.hash.includes('zoom=')")
    settle(page)
    assert_whole(page)


def test_the_zoom_of_one_card_is_in_the_address(pages, study):
    page = pages.open(study, "#scalars&regexInput=alone&smoothing=0&tagFilter=count|sawtooth", wait=CARD)
    drag(page, chart(page, "count"), (0.25, 0.2), (0.5, 0.8))
    until(page, "location.hash.includes('cards=')")
    settle(page)
    before = steps_in_view(page)
    picture = find_color(page, "count", color_of_run(page, "alone"))
    page.goto("about:blank")
    page.go_back()
    page.locator(CARD).first.wait_for()
    settle(page)
    assert steps_in_view(page) == before
    assert find_color(page, "count", color_of_run(page, "alone")) == picture  # y too
    assert_only_zoomed(page, "count")


def assert_only_zoomed(page, tag):
    assert page.get_by_label(f"Reset zoom of {tag}").count() == 1
    assert page.get_by_label("Reset zoom of", exact=False).count() == 1
