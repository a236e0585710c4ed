"""Where cards and their parts are: columns, rows, titles, heatmaps, bars for single values, and buttons on a card."""

import pytest
from servers import a_server
from web.charts import card, color_of_run, find_color
from web.waiting import settle

from pulseboard import SummaryWriter

CARD = "article.scalar canvas"
SCORES = {"a": 3.0, "b": -1.0, "c": 1.5}


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    logs = tmp_path_factory.mktemp("layout")
    for name, score in SCORES.items():
        with SummaryWriter(logs / "runs" / name) as writer:
            writer.add_scalar("final/score", score, 10 * ord(name))
            writer.add_scalar("alone/lr", 0.1, 0)
            writer.add_scalar("alone/lr", 0.1, 1)
            for step in range(3):
                writer.add_scalar("acc", step, step)
                for layer in range(6):
                    writer.add_scalar(f"zz_norm_{layer}", layer, step)
    with SummaryWriter(logs / "runs" / "a") as writer:
        writer.add_scalar("dots", 1.0, 0)
    with SummaryWriter(logs / "runs" / "b") as writer:
        writer.add_scalar("dots", 2.0, 50)
        writer.add_scalar("dots", 2.0, 50)
    with a_server(logs / "runs", logs) as server:
        yield server


def test_a_desktop_shows_three_columns(pages, layout):
    page = pages.open(layout, "#scalars", wait=CARD, width=1366, height=768)
    settle(page)
    lefts = page.locator("article").evaluate_all("cards => cards.map((card) => card.getBoundingClientRect().left)")
    assert len(set(lefts)) == 3


def test_groups_of_one_card_share_a_row(pages, layout):
    page = pages.open(layout, "#scalars", wait=CARD)
    tops = [card(page, tag).bounding_box()["y"] for tag in ("alone/lr", "final/score")]
    assert tops[0] == tops[1]


def test_a_heatmap_is_in_front_of_the_cards_it_sums_up_and_not_of_all(pages, layout):
    page = pages.open(layout, "#scalars", wait=CARD)
    settle(page)
    titles = (
        page.locator("section").first.locator("article").evaluate_all("cards => cards.map((card) => card.ariaLabel)")
    )
    heatmap = next(i for i, title in enumerate(titles) if "{i}" in title)
    assert titles[0] == "acc"
    assert titles[heatmap + 1] == "zz_norm_0"


def test_single_values_are_bars_from_zero_with_their_numbers(pages, layout):
    page = pages.open(layout, "#scalars&tagFilter=final", wait=CARD)
    settle(page)
    bars = page.get_by_label("score: one value per run")
    assert [row.split() for row in bars.locator("li").all_inner_texts()] == [["a", "3"], ["c", "1.5"], ["b", "−1"]]
    track = bars.locator(".track").first.bounding_box()
    a, c, b = (bars.locator(".bar").nth(i).bounding_box() for i in range(3))
    zero = track["x"] + track["width"] / 4
    assert a["x"] == pytest.approx(zero, abs=1.5)
    assert b["x"] + b["width"] == pytest.approx(zero, abs=1.5)
    assert c["width"] == pytest.approx(a["width"] / 2, abs=1.5)
    # Full size shows them where they were logged.
    page.get_by_label("Full size: score").click()
    assert page.locator("dialog canvas").count() == 1


def test_a_dot_at_the_edge_of_a_chart_is_whole(pages, layout):
    page = pages.open(layout, "#scalars&tagFilter=dots", wait=CARD)
    card(page, "dots")
    left, right = (find_color(page, "dots", color_of_run(page, run), min_alpha=200) for run in "ab")
    assert left.pixels == pytest.approx(right.pixels, rel=0.35)
    assert left.pixels > 12  # a circle of 2.6 pixels has 21; half of it 10


def test_the_meaning_of_a_metric_is_next_to_its_short_name(pages, layout):
    page = pages.open(layout, "#scalars&tagFilter=acc", wait=CARD)
    info = card(page, "acc").locator(".heading button")
    info.wait_for()
    end = (
        card(page, "acc")
        .locator("h3")
        .evaluate(
            "title => { const range = document.createRange(); range.selectNodeContents(title);"
            " return range.getBoundingClientRect().right; }"
        )
    )
    assert info.bounding_box()["x"] - end < 8


def test_every_axis_can_be_chosen_in_the_settings(pages, layout):
    page = pages.open(layout, "#scalars", wait=CARD)
    page.keyboard.press("s")
    group = page.locator(".settings").get_by_role("group", name="Horizontal axis")
    edge = group.bounding_box()
    for name in ("Step", "Relative", "Wall"):
        box = group.get_by_role("button", name=name).bounding_box()
        assert box["width"] > 30
        assert box["x"] + box["width"] <= edge["x"] + edge["width"] + 1


def test_a_card_has_a_camera_and_a_download_button(pages, layout):
    page = pages.open(layout, "#scalars&tagFilter=acc", wait=CARD)
    chart = card(page, "acc")
    chart.hover()
    with page.expect_download() as saved:
        chart.get_by_label("Save a picture of this chart").click()
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
    download = chart.get_by_label("Download the points of this chart")
    edges, button = chart.bounding_box(), download.bounding_box()
    assert button["x"] > edges["x"] + edges["width"] - 40
    assert button["y"] > edges["y"] + edges["height"] - 40
    with page.expect_download() as saved:
        download.click()
    assert len(saved.value.path().read_text().splitlines()) == 1 + 3 * len(SCORES)
