"""Time series, System, Compare, and tabs without data."""

import json

import pytest
from servers import a_server
from web.charts import painted, point
from web.waiting import settle, until

from pulseboard import SummaryWriter


def test_time_series_shows_scalars_histograms_and_images_together(pages, gallery):
    page = pages.open(gallery, "#timeseries", wait="article img")
    until(page, "document.querySelectorAll('article.scalar').length > 3")
    page.get_by_role("button", name="histograms", exact=True).click()
    until(page, "document.querySelectorAll('article.scalar').length === 0")
    assert painted(page, "article canvas")


def test_system_compares_the_ranks_of_a_run(pages, study):
    page = pages.open(study, "#system", wait="article canvas")
    ranks = page.get_by_label("gpu/0/utilization of parallel by rank", exact=True)
    ranks.locator("canvas").wait_for()
    settle(page)
    assert "4 ranks" in ranks.inner_text()
    assert "rank 3 40 to rank 0 90, 57% apart" in ranks.inner_text()
    point(page, ranks.locator(".u-over"), 0.5)
    page.locator(".tooltip").wait_for()
    settle(page)
    rows = page.locator(".tooltip tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["rank", "0", "90"],
        ["rank", "1", "88"],
        ["rank", "2", "86"],
        ["rank", "3", "40"],
    ]


def test_system_shows_only_tags_about_the_machine(pages, gallery):
    page = pages.open(gallery, "#system", wait="article.scalar canvas")
    settle(page)
    tags = page.locator("article.scalar").evaluate_all("cards => cards.map(card => card.dataset.tag)")
    assert "gpu/0/utilization" in tags
    assert "train/loss" not in tags


def test_compare_shows_differences_and_judges_them_by_seed_noise(pages, gallery):
    hash_ = '#compare&compare=["base-lr0.001-seed0","base-lr0.0003-seed0"]'
    page = pages.open(gallery, hash_, wait="table tbody tr")
    settle(page)
    settings = page.locator("section").first.locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in settings] == ["lr"]
    results = page.locator("section").nth(1)
    results.locator("td", has_text="train/loss").wait_for()
    assert "seed noise" in results.inner_text()
    page.locator("section").nth(2).locator("canvas").first.wait_for()
    settle(page)
    # The losses differ only by noise, the learning rates do not.
    rows = {row.split("\t")[0]: row for row in results.locator("tbody tr").all_inner_texts()}
    assert "beyond seed noise" in rows["train/lr"] or "beyond seed noise" in rows["train/loss"]
    assert any("within seed noise" in row for row in rows.values())
    # Add a third run, show all settings, and remove the run.
    page.get_by_label("Add a run").select_option("overfit")
    page.get_by_label("Remove overfit").wait_for()
    settle(page)
    assert page.locator("section").first.locator("thead th").count() == 4
    page.get_by_label("Show settings that are the same").check()
    until(page, "document.querySelector('section').innerText.includes('batch_size')")
    page.get_by_label("Remove overfit").click()
    until(page, "document.querySelectorAll('section thead')[0].querySelectorAll('th').length === 3")


def test_a_run_is_added_to_compare_from_its_menu(pages, gallery):
    page = pages.open(gallery, "#scalars", wait="article.scalar canvas")
    for name in ("overfit", "diverged"):
        page.locator(".row", has_text=name).hover()
        page.get_by_label(f"Menu of {name}").click()
        page.get_by_role("button", name="Add to Compare").click()
    until(page, "location.hash.startsWith('#compare')")
    page.get_by_label("Remove overfit").wait_for()
    page.get_by_label("Remove diverged").wait_for()


@pytest.fixture(scope="module")
def one_scalar(tmp_path_factory):
    home = tmp_path_factory.mktemp("one-scalar")
    with SummaryWriter(home / "runs" / "one") as writer:
        writer.add_scalar("loss", 1.0, 0)
    with a_server(home / "runs", home) as server:
        yield server


@pytest.mark.parametrize("tab", ["histograms", "distributions", "text", "images", "audio", "graph", "hparams"])
def test_an_empty_tab_says_how_to_log_something(pages, one_scalar, tab):
    page = pages.open(one_scalar, f"#{tab}", wait=".empty")
    assert page.locator(".empty pre").inner_text()


def test_back_closes_an_open_menu(pages, gallery):
    page = pages.open(gallery, "#text", wait="article .prose")
    panels = page.locator("[popover]")

    def open_scalars():
        page.locator("nav button.tab", has_text="Scalars").click()
        page.locator("article.scalar canvas").first.wait_for()
        until(page, "location.hash.startsWith('#scalars')")

    # A menu of a card, which goes with its tab.
    open_scalars()
    page.locator("article.scalar").first.hover()
    page.get_by_title("Save or overlay").first.click()
    panels.first.wait_for()
    page.go_back()
    page.locator("article .prose").first.wait_for()
    panels.first.wait_for(state="detached")
    # A menu of the list of runs, which stays.
    open_scalars()
    page.locator(".row", has_text="diverged").hover()
    page.get_by_label("Menu of diverged").click()
    panels.first.wait_for()
    page.go_back()
    page.locator("article .prose").first.wait_for()
    panels.first.wait_for(state="detached")


def test_compare_shows_a_metric_that_only_one_of_many_runs_has(pages, tmp_path):
    names = [f"run-{number}" for number in range(5)]
    for name in names:
        with SummaryWriter(tmp_path / "runs" / name) as writer:
            writer.add_scalar("loss", 1.0, 0)
            if name == "run-3":
                writer.add_scalar("own", 2.0, 0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, f"#compare&compare={json.dumps(names)}", wait="table tbody tr")
        settle(page)
        tags = page.locator("section").nth(1).locator("tbody td.name").all_inner_texts()
        assert tags == ["loss", "own"]
