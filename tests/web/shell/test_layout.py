"""Screen sizes, and what axe finds on every tab."""

from pathlib import Path

import pytest
from servers import a_server
from web.charts import card, color_of_run, find_color, theme_color
from web.every_tab import TABS
from web.waiting import settle, until

import pulseboard as pb

CARD = "article.scalar canvas"
EVERYTHING = (
    "scalars&baseline=overfit&difference=1&steps=100,300&tagFilter=loss&"
    'panels=[{"text": "# Title"}, {"tags": ["train/loss"], "title": "Mine"}]'
)
"""A baseline, selected steps, and cards of the user's own."""
AXE = Path(__file__).parents[3] / "web/node_modules/axe-core/axe.min.js"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180), (1440, 900), (2560, 1440)])
def test_nothing_overflows_at_any_screen_size(pages, gallery, width, height):
    page = pages.open(gallery, "#scalars", wait=CARD, width=width, height=height)
    for tab in [*TABS, EVERYTHING]:
        page.evaluate("tab => location.hash = tab", tab)
        settle(page)
        wide = page.evaluate(
            """[document.documentElement, document.getElementById('main')].map((e) => e.scrollWidth - e.clientWidth)"""
        )
        assert max(wide) <= 1, f"{tab} is {wide} pixels too wide"


def test_on_a_phone_the_runs_are_a_drawer(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD, width=390, height=844)
    assert not page.locator("aside[aria-label=Runs]").is_visible()
    page.get_by_label("Show or hide the runs").click()
    page.get_by_label("Show overfit", exact=True).click()
    page.get_by_label("Close the runs").click(position={"x": 380, "y": 400})
    until(page, "location.hash.includes('except=')")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_violation_on_any_tab(pages, gallery, theme):
    page = open_with_axe(pages, gallery, theme=theme)
    found = {}
    for tab in [*TABS, EVERYTHING]:
        page.evaluate("tab => location.hash = tab", tab)
        settle(page)
        found[tab] = violations(page)
    assert {tab: what for tab, what in found.items() if what} == {}


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180), (1100, 760)])
def test_axe_finds_no_serious_violation_where_things_must_scroll(pages, crowded, width, height):
    page = open_with_axe(pages, crowded, width=width, height=height)
    found = {"scalars": violations(page)}
    page.get_by_label("Full size").first.click()
    settle(page)
    found["full size"] = violations(page)
    page.keyboard.press("Escape")
    for tab in ("text", "audio", "compare", "hparams"):
        page.evaluate("tab => location.hash = tab", tab)
        settle(page)
        found[tab] = violations(page)
    assert {what: found for what, found in found.items() if found} == {}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """Runs with long names, long settings and long texts, which do not fit on a small screen."""
    directory = tmp_path_factory.mktemp("crowded")
    words = "a long setting " * 12
    for number in range(30):
        config = {f"setting_{i}": f"{words}{i + number}" for i in range(30)}
        run_id = f"a-run-with-a-rather-long-name-{number}"
        with pb.init(dir=directory, run_id=run_id, config=config, report_to="tensorboard", telemetry_secs=0) as run:
            run.text("settings", "```\n" + "x" * 400 + "\n```\n\n" + "word " * 2000, step=0)
            for step in range(5):
                run.log({"train/loss": 1 / (step + 1), "val/loss": 2 / (step + 1)}, step=step)
    with a_server(directory, tmp_path_factory.mktemp("crowded-home")) as server:
        yield server.wait_until_diagnosed()


def open_with_axe(pages, server, **options):
    if not AXE.exists():
        pytest.skip("axe-core is missing: run npm ci in web/")
    page = pages.open(server, "#scalars", wait=CARD, bypass_csp=True, **options)
    page.evaluate(AXE.read_text())
    settle(page)
    return page


def violations(page):
    result = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    serious = [one for one in result["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"]) for one in serious]


def test_on_a_phone_the_open_tab_is_in_view(pages, gallery):
    page = pages.open(gallery, "#compare", width=390, height=844)
    tab = page.locator("nav .tab[aria-current]")
    tab.wait_for()
    in_view = """() => {
        const box = (selector) => document.querySelector(selector).getBoundingClientRect();
        const [tab, nav] = [box("nav .tab[aria-current]"), box("nav")];
        return tab.left >= nav.left - 1 && tab.right <= Math.min(nav.right, innerWidth) + 1;
    }"""
    until(page, in_view)
    page.evaluate("location.hash = '#health'")
    until(page, "document.querySelector('nav .tab[aria-current]').innerText.startsWith('Health')")
    until(page, in_view)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_canvases_have_the_colors_of_the_style_sheet(pages, study, theme):
    page = pages.open(study, "#scalars&regexInput=alone&tagFilter=count&smoothing=0", wait="canvas", theme=theme)
    card(page, "count")
    assert find_color(page, "count", theme_color(page, "grid"), tolerance=3, min_alpha=250).pixels > 500
    assert find_color(page, "count", color_of_run(page, "alone"), tolerance=3, min_alpha=250).pixels > 100
