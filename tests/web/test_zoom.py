"""Zooming and moving along a card with wheel, mouse and keys."""

from web.charts import card, chart, colour_of, drag, look_for, point, read_step
from web.waiting import until

CARD = "article.scalar canvas"
COUNT = "#scalars&regexInput=alone&smoothing=0&tagFilter=count"


def steps_in_view(page, tag="count"):
    return read_step(page, tag, across=0.002), read_step(page, tag, across=0.998)


def assert_whole(page):
    first, last = steps_in_view(page)
    assert first < 5
    assert last > 995


def test_the_wheel_zooms_around_the_pointer_and_moves_with_shift(look, study):
    page = look.at(study, COUNT, wait=CARD)
    assert_whole(page)
    point(page, chart(page, "count"), 0.25)
    page.keyboard.down("Alt")
    for _ in range(4):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Alt")
    page.get_by_label("Whole range of count").wait_for()
    page.wait_for_timeout(300)
    first, last = steps_in_view(page)
    # Four times 0.8 is 0.41 of the range, and the step under the pointer stays where it was.
    assert 380 < last - first < 440
    assert abs((first + (last - first) * 0.25) - 251) < 15
    page.keyboard.down("Alt")
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 100)
    page.keyboard.up("Shift")
    page.keyboard.up("Alt")
    page.wait_for_timeout(300)
    assert abs(steps_in_view(page)[0] - first - (last - first) * 0.1) < 8


def test_without_a_key_the_wheel_scrolls_the_page_and_in_full_size_it_zooms(look, study):
    page = look.at(study, "#scalars&smoothing=0", wait=CARD, height=500)
    point(page, chart(page, "count"), 0.5)
    page.mouse.wheel(0, 300)
    until(page, "document.getElementById('main').scrollTop > 100")
    assert page.get_by_label("Whole range of count").count() == 0
    page.get_by_label("Full size: count").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("canvas").wait_for()
    point(page, dialog.locator(".u-over"), 0.5)
    page.mouse.wheel(0, -100)
    dialog.get_by_label("Whole range of count").click()
    dialog.get_by_label("Whole range of count").wait_for(state="detached")


def test_shift_and_a_drag_move_along(look, study):
    page = look.at(study, COUNT + "&syncZoom=1&zoom=400,600", wait=CARD)
    drag(page, chart(page, "count"), (0.75, 0.5), (0.25, 0.5), key="Shift")
    until(page, "!location.hash.includes('zoom=400,600')")
    page.wait_for_timeout(200)
    first, last = steps_in_view(page)
    assert abs(first - 500) <= 3
    assert abs(last - 700) <= 3


def test_a_box_zooms_both_ways_and_a_double_click_goes_back(look, study):
    page = look.at(study, COUNT, wait=CARD)
    over = chart(page, "count")
    # The curve is a line from one corner to the other: a box in the middle of it leaves such a line again.
    drag(page, over, (0.4, 0.2), (0.6, 0.8))
    page.get_by_label("Whole range of count").wait_for()
    page.wait_for_timeout(300)
    first, last = steps_in_view(page)
    assert abs(first - 400) < 20
    assert abs(last - 600) < 20
    seen = look_for(page, "count", colour_of(page, "alone"))
    # y was zoomed too, from 0.2 to 0.8 of its range, so that the middle fifth of the line rises by a third of the card.
    assert 0.2 < seen.bottom - seen.top < 0.45
    over.dblclick()
    page.get_by_label("Whole range of count").wait_for(state="detached")
    page.wait_for_timeout(200)
    assert_whole(page)
    assert look_for(page, "count", colour_of(page, "alone")).rows > 0.6


def test_a_drag_downwards_zooms_y_alone_and_can_be_taken_back(look, study):
    page = look.at(study, COUNT, wait=CARD)
    drag(page, chart(page, "count"), (0.5, 0.3), (0.502, 0.7))
    page.wait_for_timeout(300)
    assert_whole(page)
    colour = colour_of(page, "alone")
    # Only the middle of the line is within; before and after it leaves by the foot and the top.
    seen = look_for(page, "count", colour)
    assert 0.3 < seen.right - seen.left < 0.6
    page.get_by_label("Whole range of count").click()
    page.wait_for_timeout(200)
    whole = look_for(page, "count", colour)
    assert whole.right - whole.left > 0.7


def test_keys_zoom_and_move_a_card(look, study):
    page = look.at(study, COUNT, wait=CARD)
    card(page, "count").locator(".chart").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    first, last = steps_in_view(page)
    assert abs((last - first) - 700) < 15
    assert abs(first - (150 + 105)) < 15
    card(page, "count").locator(".chart").focus()
    page.keyboard.press("-")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    page.wait_for_timeout(300)
    assert_whole(page)


def test_zooming_in_ends_at_the_points_that_were_logged(look, study):
    page = look.at(study, "#scalars&regexInput=alone&smoothing=0&tagFilter=sawtooth&syncZoom=1&zoom=500,508", wait=CARD)
    page.wait_for_timeout(200)
    seen = [read_step(page, "sawtooth", across=share / 8) for share in range(1, 8)]
    assert seen == list(range(501, 508))
