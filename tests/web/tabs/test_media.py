"""Histograms, distributions, text, images and audio."""

import re

import numpy as np
import pytest
from builders import event_file, summary, tensor, version
from servers import a_server
from tensorboard.util import tensor_util
from web.charts import painted
from web.waiting import settle, until

from pulseboard import SummaryWriter


def test_distributions_draw_quantile_bands(pages, gallery):
    page = pages.open(gallery, "#distributions", wait="article canvas")
    settle(page)
    box = page.locator(".u-over").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".tooltip").wait_for()
    assert "median" in page.locator(".tooltip").inner_text()
    assert "6.68% to 93.32%" in page.locator(".tooltip").inner_text()


def test_histograms_are_ridges_and_show_the_bucket_under_the_pointer(pages, gallery):
    page = pages.open(gallery, "#histograms", wait="article canvas")
    assert painted(page, "article canvas")
    settle(page)
    box = page.locator("article canvas").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.8)
    until(page, "/step .*: .* between/.test(document.querySelector('.reading').innerText)")
    page.get_by_role("button", name="overlay", exact=True).click()
    page.get_by_role("button", name="wall", exact=True).click()
    assert painted(page, "article canvas")


def test_new_values_appear_in_an_open_tab(pages, tmp_path):
    with SummaryWriter(tmp_path / "runs" / "run") as writer, a_server(tmp_path / "runs", tmp_path / "home") as server:

        def write(step):
            writer.add_histogram("weights", [0.0, 1.0, float(step)], step)
            writer.add_text("note", f"word {step}", step)
            writer.flush()

        write(0)
        histograms = pages.open(server, "#histograms", wait="article canvas")
        texts = pages.open(server, "#text", wait="article .prose")
        until(histograms, "document.querySelector('.reading').innerText === '1 step'")
        until(texts, "document.querySelector('article .prose').innerText.includes('word 0')")
        write(1)
        until(histograms, "document.querySelector('.reading').innerText === '2 steps'")
        until(texts, "document.querySelector('article .prose').innerText.includes('word 1')")


def layers(addresses):
    return {int(address.partition("layer")[2][:3]) for address in addresses}


@pytest.mark.parametrize("tab", ["histograms", "distributions"])
def test_only_histograms_in_view_are_loaded(pages, tmp_path, tab):
    with SummaryWriter(tmp_path / "runs" / "run") as writer:
        for step in range(3):
            for layer in range(300):
                writer.add_histogram(f"weights/layer{layer:03}", [0.0, 1.0, float(layer + step)], step)
    with a_server(tmp_path / "runs", tmp_path / "home") as server:
        page = pages.open(server, f"#{tab}", wait="article canvas")
        requested = (
            "[...performance.getEntriesByType('resource')].filter((e) => e.name.includes('layer')).map((e) => e.name)"
        )
        settle(page)
        first = page.evaluate(requested)
        assert 0 < len(set(first)) < 30
        page.wait_for_timeout(1000)
        assert page.evaluate(requested) == first, "nothing is new, so nothing is requested again"
        page.get_by_role("button", name="Show all 300").click()
        until(page, "document.querySelectorAll('article').length === 300")
        settle(page)
        # The first rows were in view, and those around the button, which was below layer 29.
        assert all(layer < 45 for layer in layers(page.evaluate(requested)))
        page.locator("article").last.scroll_into_view_if_needed()
        until(page, f"{requested}.some((name) => name.includes('layer299'))")
        assert not layers(page.evaluate(requested)) & set(range(45, 270)), "nothing between is loaded on the way"


def test_text_is_sanitized_markdown_and_runs_share_a_step(pages, gallery):
    page = pages.open(gallery, "#text", wait="article .prose")
    settle(page)
    assert page.locator("article .prose strong").first.inner_text() == "Step 500"
    assert page.locator("article .prose script").count() == 0
    assert page.locator("article .prose table").count() == 2
    page.get_by_label(re.compile("Step of")).first.fill("0")
    until(page, "[...document.querySelectorAll('article .prose strong')].every(e => e.innerText === 'Step 0')")
    left, right = (page.locator("article").nth(i).bounding_box() for i in range(2))
    assert left["y"] == right["y"]
    page.get_by_label("Same step for all runs").uncheck()
    page.get_by_label(re.compile("Step of")).first.fill("2")
    until(page, "document.querySelector('article .prose strong').innerText === 'Step 200'")
    assert page.locator("article .prose strong").nth(1).inner_text() != "Step 200"
    page.get_by_label("Show Markdown source").check()
    settle(page)
    assert page.locator("article pre").first.inner_text().startswith("**Step 200**")


def test_words_in_a_table_are_whole_and_many_runs_are_said_to_be_cut(pages, tmp_path):
    names = [f"class_{i}" for i in range(12)]
    table = "\n".join(["| |" + "|".join(names) + "|", "|---" * 13 + "|", "|row|" + "|".join("1" * 12) + "|"])
    for run in range(13):
        with SummaryWriter(tmp_path / "runs" / f"run-{run:02}") as writer:
            writer.add_text("confusion", table, 0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#text", wait="article .prose table")
        settle(page)
        heads = (
            page.locator("article .prose")
            .first.locator("th")
            .evaluate_all("heads => heads.map((head) => head.getBoundingClientRect().height)")
        )
        assert max(heads) < 40  # one line
        card = page.locator("article").first
        assert card.locator(".prose").evaluate("body => body.scrollWidth <= body.clientWidth")  # only the table scrolls
        assert page.locator("article").count() == 12
        assert "The first 12 of 13 runs." in page.locator("main").inner_text()
        page.get_by_role("button", name="Show 1 more").click()
        until(page, "document.querySelectorAll('article').length === 13")


def test_images_have_step_zoom_brightness_and_contrast(pages, gallery):
    page = pages.open(gallery, "#images", wait="article img")
    picture = page.locator("article img").first
    picture.evaluate("image => image.decode()")
    assert picture.evaluate("image => image.naturalWidth") == 64
    before = picture.get_attribute("src")
    page.get_by_label(re.compile("Step of")).first.fill("0")
    until(page, "before => document.querySelector('article img').src !== before", arg=before)
    settle(page)
    page.get_by_label("Brightness").fill("2")
    assert "brightness(2)" in picture.evaluate("image => image.style.filter")
    page.get_by_label("Contrast").fill("0.5")
    assert "contrast(0.5)" in picture.evaluate("image => image.style.filter")
    page.get_by_role("button", name="Reset").click()
    assert "brightness(1) contrast(1)" in picture.evaluate("image => image.style.filter")
    page.get_by_label("Size", exact=True).fill("400")
    settle(page)
    assert picture.evaluate("image => image.clientHeight") == 400
    picture.click()
    dialog = page.get_by_role("dialog")
    dialog.locator("img").wait_for()
    dialog.get_by_label("Zoom").fill("8")
    until(page, "document.querySelector('dialog img').clientWidth === 8 * 64")


def test_images_of_runs_are_side_by_side_at_the_same_step_or_at_their_own(pages, gallery):
    page = pages.open(gallery, "#images&tagFilter=generated", wait="article img")
    until(page, "document.querySelectorAll('article img').length === 2")
    settle(page)
    left, right = (page.locator("article img").nth(i).bounding_box() for i in range(2))
    assert left["y"] == right["y"]
    assert left["x"] < right["x"]

    def steps():
        settle(page)
        return [alt.split()[-1] for alt in page.locator("article img").evaluate_all("all => all.map((one) => one.alt)")]

    assert steps() == ["500", "500"]
    page.get_by_label(re.compile("Step of")).first.fill("1")
    assert steps() == ["100", "100"]
    page.get_by_label("Same step for all runs").uncheck()
    page.get_by_label(re.compile("Step of")).first.fill("0")
    assert steps()[0] == "0"
    assert steps()[1] != "0"


def test_audio_plays(pages, gallery):
    page = pages.open(gallery, "#audio", wait="article audio")
    length = page.locator("audio").first.evaluate(
        """audio => new Promise((done) => {
            audio.onloadedmetadata = () => done(audio.duration);
            audio.preload = 'auto';
            audio.load();
        })"""
    )
    assert length == pytest.approx(1.0, abs=0.01)
    before = page.locator("audio").first.get_attribute("src")
    page.get_by_label(re.compile("Step of")).first.fill("0")
    until(page, "before => document.querySelector('audio').src !== before", arg=page.evaluate("s => s", before))
    settle(page)
    assert page.locator("article").first.inner_text().endswith("step 0")


def test_a_constant_histogram_is_a_peak_and_a_long_run_name_leaves_room_for_the_tag(pages, tmp_path):
    with SummaryWriter(tmp_path / "runs" / ("a-run-with-a-very-long-name-" * 6)) as writer:
        for step in range(3):
            writer.add_histogram("bias", np.zeros(1000), step)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#histograms", wait="article canvas")
        settle(page)
        run = server.api("runs").json["runs"][0]["name"]
        color = page.get_by_label(f"Show {run}", exact=True).evaluate("box => getComputedStyle(box).borderColor")
        # The newest ridge is 70 % of the run's color on the card.
        filled = page.evaluate(
            """(color) => {
                const canvas = document.querySelector("article canvas");
                const [r, g, b] = color.match(/\\d+/g).map(Number);
                const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                let count = 0;
                for (let i = 0; i < data.length; i += 4) {
                    const [x, y, z] = [data[i], data[i + 1], data[i + 2]];
                    const mix = [r, g, b].map((c) => 255 + (c - 255) * 0.7);
                    if (data[i + 3] > 200 && Math.hypot(x - mix[0], y - mix[1], z - mix[2]) < 30) count++;
                }
                return count;
            }""",
            color,
        )
        assert filled > 50
        title = page.locator("article h3")
        assert title.evaluate("h3 => h3.scrollWidth <= h3.clientWidth && h3.clientWidth > 15")
        inside = page.evaluate(
            """() => {
                const card = document.querySelector("article").getBoundingClientRect();
                return [...document.querySelectorAll("article header > *")].every(
                    (part) => part.getBoundingClientRect().right <= card.right);
            }"""
        )
        assert inside


def test_what_is_left_out_of_texts_and_histograms_is_said_and_every_clip_plays(pages, tmp_path):
    with SummaryWriter(tmp_path / "runs" / "run") as writer:
        for step in range(150):
            writer.add_text("note", f"word {step}", step)
            if step < 80:
                writer.add_histogram("weights", [0.0, 1.0, float(step)], step)
        writer.add_text("settings", '{\n  "lr": 0.1,\n  "layers": 2\n}', 0)
    clips = tensor("speech", tensor_util.make_tensor_proto([[b"RIFF", b"one"], [b"RIFF", b"two"]]), plugin="audio")
    (tmp_path / "runs/run/events.out.tfevents.1.clips").write_bytes(event_file(version(), summary(clips)))
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#text", wait="article .prose")
        notes = page.get_by_label("note/text_summary of run", exact=True)
        notes.get_by_text("The newest 100 of 150 texts.").wait_for()
        # Markdown would join the lines of JSON.
        assert (
            page.get_by_label("settings/text_summary of run", exact=True).locator("pre").inner_text().count("\n") == 3
        )
        histograms = pages.open(server, "#histograms", wait="article canvas")
        until(histograms, "document.querySelector('.reading').innerText === '60 of 80 steps'")
        sounds = pages.open(server, "#audio", wait="article audio")
        addresses = sounds.locator("article audio").evaluate_all("all => all.map((audio) => audio.src)")
        assert [re.search(r"frame=(\d)", address)[1] for address in addresses] == ["0", "1"]
