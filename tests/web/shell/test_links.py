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
