"""Findings, meanings and bands on the cards of Scalars."""

import pytest
from web.charts import card, faint_pixels, find_color, theme_color
from web.waiting import settle, until

CARD = "article.scalar canvas"
IMBALANCE = "#scalars&regexInput=experts&tagFilter=load_imbalance&smoothing=0"


def test_a_popover_says_what_a_metric_means_and_what_its_warning_signs_are(pages, study):
    page = pages.open(study, IMBALANCE, wait=CARD)
    expected = study.api("meaning?tag=moe/load_imbalance").json
    page.get_by_label("What moe/load_imbalance means").hover()
    meaning = page.get_by_role("tooltip")
    meaning.wait_for()
    settle(page)
    text = meaning.inner_text()
    assert expected["meaning"] in text
    assert f"Expected. {expected['expected']}" in text
    for sign in expected["warning_signs"]:
        assert sign in text
    assert "healthy: 1 to 2" in " ".join(text.split())
    assert "critical: above 3" in " ".join(text.split())
    box = meaning.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1440
    page.mouse.move(5, 5)
    meaning.wait_for(state="detached")
    # The keyboard opens it too.
    page.get_by_label("What moe/load_imbalance means").focus()
    page.get_by_role("tooltip").wait_for()


def test_bands_and_shaded_findings_are_drawn_and_can_be_switched_off(pages, study):
    page = pages.open(study, IMBALANCE, wait=CARD)
    page.locator("article.scalar .badge.warning, article.scalar .badge.critical").first.wait_for()
    card(page, "moe/load_imbalance")

    # Canvases take their colors from the style sheet.
    colors = [theme_color(page, name) for name in ("ok", "warning", "critical")]

    def shaded():
        settle(page)
        return [faint_pixels(page, "moe/load_imbalance", color, tolerance=30) for color in colors]

    healthy, warning, critical = shaded()
    assert warning > 1000  # the range of the finding
    assert max(healthy, critical) < 300  # no bands by default
    page.keyboard.press("s")
    page.get_by_label("Shade findings").uncheck()
    assert max(shaded()) < 300
    page.get_by_label("Healthy and warning bands").check()
    assert min(shaded()) > 1000
    assert "bands=1" in page.url
    assert "findings=0" in page.url


def test_the_badge_of_a_card_opens_the_finding_and_its_curves_button_goes_back(pages, study):
    page = pages.open(study, IMBALANCE, wait=CARD)
    settle(page)
    page.locator("article.scalar button.badge").first.click()
    until(page, "location.hash.startsWith('#health') && location.hash.includes('run=experts')")
    # Its details are open.
    finding = page.locator(".run-health article").first
    finding.locator("figure canvas").first.wait_for()
    finding.get_by_role("button", name="Curves").click()
    until(page, "location.hash.startsWith('#scalars')")
    page.locator("article.scalar canvas").first.wait_for()


def test_the_dot_in_the_run_list_opens_the_health_of_the_run(pages, study):
    page = pages.open(study, "#scalars", wait=CARD)
    page.get_by_label("Health of experts:").click()
    until(page, "location.hash.startsWith('#health') && location.hash.includes('run=experts')")
    settle(page)
    assert "experts" in page.locator(".run-health").first.inner_text()
    assert page.get_by_label("Health of alone: Not enough data").count() == 1


@pytest.mark.parametrize("axis", ["relative", "wall"])
def test_findings_are_shaded_on_other_axes_too(pages, study, axis):
    page = pages.open(study, IMBALANCE, wait=CARD)
    page.locator("article.scalar .badge.warning, article.scalar .badge.critical").first.wait_for()
    card(page, "moe/load_imbalance")
    color = theme_color(page, "warning")
    by_step = find_color(page, "moe/load_imbalance", color, tolerance=30, min_alpha=12)
    page.get_by_role("button", name=axis.capitalize()).first.click()
    until(page, f"location.hash.includes('x={axis}')")
    settle(page)
    found = find_color(page, "moe/load_imbalance", color, tolerance=30, min_alpha=12)
    assert found.pixels > 1000
    # Its steps were logged one after the other, so the finding begins and ends at about the same place.
    assert abs(found.right - by_step.right) < 0.06


def test_above_five_runs_a_strip_names_the_runs_with_findings_instead_of_shading(pages, gallery):
    page = pages.open(gallery, "#scalars&tagFilter=train/loss&smoothing=0", wait=CARD)
    strip = card(page, "train/loss").get_by_label("Runs with findings")
    strip.wait_for()
    assert "diverged" in strip.inner_text()
    settle(page)
    critical = theme_color(page, "critical")
    unshaded = faint_pixels(page, "train/loss", critical, tolerance=30)
    strip.get_by_text("diverged").first.hover()
    settle(page)
    assert faint_pixels(page, "train/loss", critical, tolerance=30) > unshaded + 1000
    strip.get_by_text("diverged").first.click()
    until(page, "location.hash.startsWith('#health') && location.hash.includes('run=diverged')")
