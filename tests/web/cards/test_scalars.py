"""Scalar cards: drawing, zooming, tooltips, pinning and saving."""

import json
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from log_directories import write_run
from servers import a_server
from web.charts import chart, color_of_run, find_color, hover
from web.waiting import settle, until

from pulseboard import SummaryWriter

CARD = "article.scalar canvas"
LOSS = "article[data-tag='train/loss']"


def test_cards_are_grouped_by_prefix(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    assert page.locator("main h2 .group").first.inner_text().startswith("train")
    page.locator("main h2 .group", has_text="train").click()
    page.locator(LOSS).wait_for(state="detached")


def test_one_tooltip_shows_all_runs(pages, gallery):
    page = pages.open(gallery, "#scalars&regexInput=seed", wait=CARD)
    tooltip = hover(page)
    assert tooltip.locator("tbody tr").count() == 6
    assert "smoothed" in tooltip.inner_text()


def test_the_tooltip_shows_the_logged_value(pages, tmp_path):
    with SummaryWriter(tmp_path / "runs" / "one") as writer:
        for step in range(11):
            writer.add_scalar("loss", 2.0**step, step)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars&smoothing=0", wait=CARD)
        text = hover(page, "loss", across=0.5).inner_text()
    assert "5" in text.split()
    assert "32" in text.split()


def test_dragging_zooms_and_a_double_click_resets(pages, gallery):
    page = pages.open(gallery, "#scalars&syncZoom=1", wait=CARD)
    box = chart(page).bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=5)
    page.mouse.up()
    until(page, "location.hash.includes('zoom=')")
    start, end = (float(v) for v in page.url.split("zoom=")[1].split("&")[0].split(","))
    assert 140 < start < 160
    assert 290 < end < 310
    page.mouse.dblclick(box["x"] + 50, y)
    until(page, "!location.hash.includes('zoom=')")


def test_keys_zoom_the_focused_chart_and_the_zoom_can_be_shared(pages, gallery):
    page = pages.open(gallery, "#scalars&syncZoom=1", wait=CARD)
    chart(page)
    page.locator(f"{LOSS} .chart").focus()
    page.keyboard.press("+")
    until(page, "location.hash.includes('zoom=')")
    # The other cards have the same zoom.
    tooltip = hover(page, "train/lr", across=0.01)
    assert int(tooltip.locator("th.name").inner_text()) > 50
    page.locator(f"{LOSS} .chart").focus()
    page.keyboard.press("0")
    until(page, "!location.hash.includes('zoom=')")


def test_a_spike_of_one_step_among_a_hundred_thousand_is_drawn(pages, tmp_path):
    with SummaryWriter(tmp_path / "runs" / "one") as writer:
        values = np.zeros(100_000)
        values[61_803] = 100.0
        for step, value in enumerate(values.tolist()):
            writer.add_scalar("loss", value, step)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars&smoothing=0", wait=CARD)
        settle(page)
        spike = find_color(page, "loss", color_of_run(page, "one"), tolerance=60, min_alpha=60)
    assert spike.rows > 0.6


def test_smoothing_and_axes_are_in_the_url_and_remembered(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_title("Settings (s)").click()
    page.get_by_label("Smoothing as a number").fill("0.9")
    page.get_by_label("Log y").check()
    page.get_by_label("Ignore outliers").uncheck()
    page.locator(".settings").get_by_role("button", name="Relative").click()
    until(
        page,
        "['smoothing=0.9', 'logY=1', 'ignoreOutliers=0', 'x=relative'].every(part => location.hash.includes(part))",
    )
    page.goto("about:blank")
    page.goto(gallery.url)
    page.wait_for_selector("nav")
    until(page, "location.hash.includes('smoothing=0.9')")


def test_a_tensorboard_url_works(pages, gallery):
    page = pages.open(gallery, "#scalars&regexInput=seed0&_smoothingWeight=0.25&tagFilter=loss", wait=CARD)
    settle(page)
    assert page.locator(".smoothing output").inner_text() == "0.25"
    assert page.locator("aside .count").inner_text() == "2 of 2 runs"
    tags = page.locator("article.scalar").evaluate_all("cards => cards.map(card => card.dataset.tag)")
    assert tags == ["train/loss", "val/loss"]


def test_nan_is_marked_and_counted(pages, gallery):
    page = pages.open(gallery, "#scalars&regexInput=diverged&tagFilter=train/loss", wait=CARD)
    page.locator(".badge", has_text="NaN").wait_for()
    assert page.locator(".badge", has_text="NaN").inner_text() == "179 NaN/inf"


def test_a_single_point_is_visible(pages, tmp_path):
    with SummaryWriter(tmp_path / "runs" / "one") as writer:
        writer.add_scalar("loss", 0.5, 7)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        settle(page)
        assert find_color(page, "loss", color_of_run(page, "one")).pixels > 8


def test_points_replaced_by_a_restart_can_be_drawn(pages, gallery):
    def colored(hash_):
        page = pages.open(gallery, hash_, wait=CARD)
        settle(page)
        return find_color(page, "train/loss", color_of_run(page, "resumed")).pixels

    hash_ = "#scalars&regexInput=resumed&smoothing=0"
    assert colored(hash_ + "&orphans=1") > colored(hash_)


def test_cards_can_be_pinned_and_overlaid(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.locator(LOSS).hover()
    page.get_by_label("Pin loss").first.click()
    page.get_by_role("region", name="Pinned cards").wait_for()
    page.get_by_role("button", name="Overlay", exact=True).click()
    page.get_by_text("train/loss and val/loss").click()
    overlay = page.get_by_role("region", name="Pinned cards").locator("article[aria-label='train/loss + val/loss']")
    overlay.locator("canvas").wait_for()
    settle(page)
    assert overlay.locator(".legend .run-name").first.inner_text().count("·") == 1
    assert "pinned=" in page.url
    assert "overlays=" in page.url
    # Overlay another tag on a card, overlay all tags that contain a text, and remove the card.
    pins = page.get_by_role("region", name="Pinned cards")
    page.locator(LOSS).last.hover()
    page.get_by_label("Save or overlay loss").first.click()
    page.locator(".panel select").select_option("train/accuracy")
    pins.get_by_label("train/loss + train/accuracy", exact=True).locator("canvas").wait_for()
    page.get_by_role("button", name="Overlay", exact=True).click()
    page.get_by_label("Overlay all tags that contain this text").fill("accuracy")
    page.keyboard.press("Enter")
    pins.get_by_label("train/accuracy + val/accuracy", exact=True).locator("canvas").wait_for()
    page.get_by_label("Remove the card train/accuracy + val/accuracy").click()
    pins.get_by_label("train/accuracy + val/accuracy", exact=True).wait_for(state="detached")
    pins.get_by_label("Pin train/loss").click()
    until(page, "!location.hash.includes('pinned=')")


def test_the_legend_at_full_size_lists_every_run(pages, gallery):
    page = pages.open(gallery, "#scalars&regexInput=seed", wait=CARD)
    page.get_by_label("Full size: loss").first.click()
    dialog = page.get_by_role("dialog")
    dialog.locator("canvas").wait_for()
    settle(page)
    assert dialog.locator("tbody tr").count() == 6
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


@pytest.mark.parametrize("kind", ["CSV", "JSON", "PNG", "SVG"])
def test_a_card_is_saved_as_a_file(pages, gallery, kind, tmp_path):
    page = pages.open(gallery, "#scalars&tagFilter=train/loss", wait=CARD)
    settle(page)
    page.get_by_label("Save or overlay loss").click()
    with page.expect_download() as saved:
        page.locator(".panel").get_by_role("button", name=kind, exact=True).click()
    path = tmp_path / "saved"
    saved.value.save_as(path)
    data = path.read_bytes()
    assert saved.value.suggested_filename == f"train_loss.{kind.lower()}"
    match kind:
        case "CSV":
            lines = data.decode().splitlines()
            assert lines[0] == "run,tag,step,value,min,max,smoothed"
            assert any(line.startswith("diverged,train/loss,") and ",nan," in line for line in lines)
        case "JSON":
            assert {curve["run"] for curve in json.loads(data)} >= {"overfit", "diverged"}
        case "PNG":
            assert data.startswith(b"\x89PNG")
            width, height = struct.unpack(">II", data[16:24])
            # The plot at twice the size of a screen's pixels, with a legend of several rows below it.
            assert width == 1920
            assert height > 900
        case "SVG":
            drawing = ElementTree.fromstring(data)
            texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
            assert "train/loss" in texts
            assert {"overfit", "diverged"} <= set(texts)
            assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) > 15


@pytest.mark.parametrize("kind", ["CSV", "JSON"])
def test_a_saved_card_has_every_point_and_not_only_the_drawn_ones(pages, study, kind):
    page = pages.open(study, "#scalars&regexInput=alone&tagFilter=count&smoothing=0", wait=CARD, width=700)
    page.get_by_label("Save or overlay count").click()
    with page.expect_download() as saved:
        page.locator(".panel").get_by_role("button", name=kind, exact=True).click()
    text = saved.value.path().read_text()
    values = json.loads(text)[0]["value"] if kind == "JSON" else [line.split(",")[3] for line in text.splitlines()[1:]]
    assert [float(value) for value in values] == list(range(1, 1001))


def test_every_run_of_a_card_is_exported_however_many_there_are(pages, tmp_path):
    for i in range(150):
        write_run(tmp_path / "runs" / f"r{i}", (0, 1.0), (1, 2.0))
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        page.get_by_label("Save or overlay loss").click()
        with page.expect_download() as saved:
            page.get_by_text("CSV from the server").click()
        lines = saved.value.path().read_text().splitlines()
        assert len({line.split(",")[0] for line in lines[1:]}) == 150


def test_every_point_of_a_card_can_be_exported(pages, study):
    page = pages.open(study, "#scalars&regexInput=alone&tagFilter=count", wait=CARD)
    page.get_by_label("Save or overlay count").click()
    with page.expect_download() as saved:
        page.get_by_text("CSV from the server").click()
    assert len(saved.value.path().read_text().splitlines()) == 1001


def test_cards_outside_the_view_send_no_requests(pages, gallery):
    requested = []
    page = pages.open(gallery, "#text", width=1200, height=400)
    settle(page)
    page.on("request", lambda request: "api/window" in request.url and requested.append(request.post_data_json["tags"]))
    page.get_by_role("button", name="Scalars").click()
    page.wait_for_selector(CARD)
    settle(page)
    tags = {tag for tags in requested for tag in tags}
    assert "train/accuracy" in tags
    assert "perf/step_time" not in tags
    assert len(requested) <= 3


@pytest.mark.parametrize("smoothing", ["0", "0.6"])
def test_points_that_share_a_step_and_a_value_are_drawn_as_a_dot(pages, tmp_path, smoothing):
    with SummaryWriter(tmp_path / "logs" / "start") as writer:
        for _ in range(2):
            writer.add_scalar("loss", 2.5, 0)
    with a_server(tmp_path / "logs", tmp_path / "home") as server:
        page = pages.open(server, f"#scalars&smoothing={smoothing}", wait="article.scalar canvas")
        settle(page)
        found = find_color(page, "loss", color_of_run(page, "start"), min_alpha=200)
        assert found.pixels >= 12  # a disk with a radius of 2.6 pixels
