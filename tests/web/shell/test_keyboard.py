"""The command palette, the shortcuts and the theme."""

import pytest
from web.waiting import settle, until

CARD = "article.scalar canvas"


def test_the_palette_finds_runs_tags_and_actions(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.keyboard.press("Control+k")
    find = page.get_by_label("Find a run, tag or action").last
    find.fill("valloss")
    page.keyboard.press("Enter")
    until(page, "location.hash.includes('tagFilter=')")
    settle(page)
    assert page.locator("article.scalar").count() == 1
    page.keyboard.press("Control+k")
    page.get_by_label("Find a run, tag or action").last.fill("go to images")
    page.keyboard.press("Enter")
    until(page, "location.hash.startsWith('#images')")
    page.keyboard.press("Control+k")
    page.get_by_label("Find a run, tag or action").last.fill("overfit")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('aside .count').innerText.startsWith('1 of')")


def test_ctrl_f_finds_runs_and_leaves_the_second_one_to_the_browser(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.evaluate("addEventListener('keydown', (event) => setTimeout(() => (window.taken = event.defaultPrevented)))")
    page.keyboard.press("Control+f")
    find = page.get_by_label("Find a run, tag or action").last
    find.fill("overfit")
    assert page.evaluate("window.taken") is True
    page.keyboard.press("Control+f")
    settle(page)
    assert page.evaluate("window.taken") is False
    page.keyboard.press("Enter")
    until(page, "document.querySelector('aside .count').innerText.startsWith('1 of')")


def test_keyboard_shortcuts_do_what_the_help_says(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.keyboard.press("?")
    assert "find a run, tag or action" in page.get_by_role("dialog").inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("l")
    until(page, "location.hash.includes('logY=1')")
    page.keyboard.press("x")
    until(page, "location.hash.includes('x=relative')")
    page.keyboard.press("/")
    page.keyboard.type("loss")
    until(page, "location.hash.includes('tagFilter=loss')")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("]")
    until(page, "location.hash.startsWith('#timeseries')")
    page.keyboard.press("[")
    until(page, "location.hash.startsWith('#scalars')")
    page.keyboard.press("g")
    page.keyboard.press("1")
    until(page, "location.hash.startsWith('#health')")
    page.keyboard.press("g")
    page.keyboard.press("2")
    until(page, "location.hash.startsWith('#scalars')")
    page.keyboard.press(".")
    until(page, "location.hash.includes('smoothing=0.7')")
    page.keyboard.press(",")
    until(page, "!location.hash.includes('smoothing=')")
    page.keyboard.press("o")
    until(page, "location.hash.includes('ignoreOutliers=0')")
    page.keyboard.press("b")
    page.locator("aside[aria-label=Runs]").wait_for(state="detached")
    page.keyboard.press("r")
    page.keyboard.type("seed")
    until(page, "location.hash.includes('regexInput=seed')")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_system_and_can_be_chosen(pages, gallery, theme):
    page = pages.open(gallery, "#scalars", wait=CARD, theme=theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.keyboard.press("t")
    page.keyboard.press("t")
    settle(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.wait_for_selector(CARD)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
