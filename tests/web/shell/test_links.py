"""The URL: a link to the view restores it."""

from web.waiting import settle, until

CARD = "article.scalar canvas"


def test_a_link_to_the_view_is_copied(pages, study):
    page = pages.open(
        study, "#scalars&regexInput=alone&smoothing=0.25", wait=CARD, permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_label("Copy a link to this view").click()
    page.get_by_text("Link to this view copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(study.url)
    assert "regexInput=alone" in copied
    assert "smoothing=0.25" in copied
    other = pages.open(study, "#" + copied.split("#")[1], wait=CARD)
    settle(other)
    assert other.locator("aside .count").inner_text() == "1 of 1 run"


def test_the_url_restores_the_whole_view(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_label("Filter tags by regular expression").fill("loss")
    page.get_by_label("Filter runs by regular expression").fill("seed")
    page.get_by_role("button", name="Wall").first.click()
    page.keyboard.press("Escape")
    until(page, "location.hash.includes('x=wall') && location.hash.includes('tagFilter=loss')")
    other = pages.open(gallery, "#" + page.url.split("#")[1], wait=CARD)
    assert other.get_by_label("Filter tags by regular expression").input_value() == "loss"
    settle(other)
    assert other.locator("aside .count").inner_text() == "6 of 6 runs"
    assert other.get_by_role("button", name="Wall").first.get_attribute("aria-pressed") == "true"


def test_a_link_of_todays_tensorboard_works(pages, gallery):
    page = pages.open(gallery, "?tagFilter=val%2Floss&runFilter=seed0&smoothing=0.25#timeseries", wait=CARD)
    assert page.get_by_label("Filter tags by regular expression").input_value() == "val/loss"
    assert page.locator("aside .count").inner_text() == "2 of 2 runs"
    until(page, "location.hash.startsWith('#timeseries') && location.hash.includes('smoothing=0.25')")
    assert page.evaluate("location.search") == ""
    # The query is gone, so going back and forth does not bring its values back.
    page.get_by_label("Filter tags by regular expression").fill("accuracy")
    until(page, "location.hash.includes('tagFilter=accuracy')")


def test_a_link_does_not_change_what_the_page_remembers(pages, study):
    page = pages.open(study, "#scalars", wait=CARD)
    page.get_by_title("Settings (s)").click()
    page.get_by_label("Smoothing as a number").fill("0.9")
    page.locator(".settings").get_by_role("button", name="name", exact=True).click()
    until(page, "JSON.parse(localStorage['pulseboard.settings']).view.smoothing === 0.9")
    page.goto("about:blank")
    page.goto(study.url + "#scalars&smoothing=0.1&logY=1&tooltip=value")
    page.locator(CARD).first.wait_for()
    assert page.locator(".smoothing output").inner_text() == "0.10"
    # What the user changes is remembered, and what the link said is not.
    page.get_by_label("Log x").check()
    until(page, "JSON.parse(localStorage['pulseboard.settings']).view.logX")
    remembered = page.evaluate("JSON.parse(localStorage['pulseboard.settings']).view")
    assert [remembered[key] for key in ("smoothing", "logY", "tooltipSort")] == [0.9, False, "name"]
    page.goto("about:blank")
    page.goto(study.url)
    page.locator("nav").wait_for()
    until(page, "location.hash.includes('smoothing=0.9') && !location.hash.includes('logY')")


def test_back_leaves_a_card_at_full_size_and_not_the_tab(pages, study):
    page = pages.open(study, "#scalars&regexInput=alone&tagFilter=count", wait=CARD)
    page.get_by_label("Full size: count").click()
    page.get_by_role("dialog").locator("canvas").wait_for()
    until(page, "location.hash.includes('full=count')")
    page.go_back()
    page.get_by_role("dialog").wait_for(state="detached")
    assert page.url.split("#")[1].startswith("scalars&regexInput=alone")
    page.locator(CARD).first.wait_for()
