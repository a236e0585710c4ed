"""Fingers: reading values, zooming and panning, through the events of a real touch screen."""

import pytest
from web.charts import card, read_step
from web.waiting import settle, until

CARD = "article.scalar canvas"
COUNT = "#scalars&regexInput=alone&smoothing=0&tagFilter=count&syncZoom=1"


class Fingers:
    """Touches a page through Chromium's own input events."""

    def __init__(self, page):
        self.page = page
        self.session = page.context.new_cdp_session(page)

    def send(self, kind, *points):
        touches = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def tap(self, point):
        self.send("touchStart", point)
        self.send("touchEnd")


@pytest.fixture
def phone(pages, study):
    page = pages.open(study, COUNT, wait=CARD, width=390, height=844, has_touch=True, is_mobile=True)
    card(page, "count")
    return page


def place(page, across, down=0.5):
    box = card(page, "count").locator(".u-over").bounding_box()
    return box["x"] + box["width"] * across, box["y"] + box["height"] * down


def test_a_finger_reads_values_next_to_the_chart_and_not_over_it(phone):
    fingers = Fingers(phone)
    fingers.send("touchStart", place(phone, 0.2))
    for across in (0.3, 0.5, 0.7):
        fingers.send("touchMove", place(phone, across))
    tooltip = phone.locator(".tooltip")
    tooltip.wait_for()
    until(phone, "Math.abs(parseInt(document.querySelector('.tooltip th.name').innerText) - 700) < 25")
    box, plot = tooltip.bounding_box(), card(phone, "count").locator(".u-over").bounding_box()
    assert box["y"] + box["height"] <= plot["y"] or box["y"] >= plot["y"] + plot["height"]
    fingers.send("touchEnd")


def test_a_tap_shows_values_until_the_next_tap_elsewhere(phone):
    fingers = Fingers(phone)
    fingers.tap(place(phone, 0.5))
    phone.locator(".tooltip").wait_for()
    settle(phone)
    assert phone.locator(".tooltip").count() == 1
    fingers.tap((200, 20))
    phone.locator(".tooltip").wait_for(state="detached")


def test_two_fingers_zoom_and_the_values_stay_under_them(phone):
    fingers = Fingers(phone)
    fingers.send("touchStart", place(phone, 0.4), place(phone, 0.6))
    for spread in (0.15, 0.2, 0.25):
        fingers.send("touchMove", place(phone, 0.5 - spread), place(phone, 0.5 + spread))
    fingers.send("touchEnd")
    until(phone, "location.hash.includes('zoom=')")
    settle(phone)
    first, last = (float(part) for part in phone.evaluate("location.hash.match(/zoom=([^&]*)/)[1]").split(","))
    # The values at 0.4 and 0.6 of 1 to 1000 are now at 0.25 and 0.75.
    assert abs(first - 301) < 12
    assert abs(last - 700) < 12
    fingers.send("touchStart", place(phone, 0.3), place(phone, 0.7))
    for spread in (0.1, 0.02):
        fingers.send("touchMove", place(phone, 0.5 - spread), place(phone, 0.5 + spread))
    fingers.send("touchEnd")
    until(phone, "!location.hash.includes('zoom=')")  # no further out than everything


def test_moving_up_scrolls_the_page(phone):
    phone.evaluate("document.querySelector('main').firstElementChild.style.minHeight = '3000px'")
    fingers = Fingers(phone)
    x, y = place(phone, 0.5)
    fingers.send("touchStart", (x, y))
    for moved in range(20, 220, 20):
        fingers.send("touchMove", (x, y - moved))
    fingers.send("touchEnd")
    until(phone, "document.getElementById('main').scrollTop > 50")


def test_a_mouse_still_hovers(pages, study):
    page = pages.open(study, COUNT, wait=CARD)
    assert abs(read_step(page, "count", across=0.5) - 500) < 5
