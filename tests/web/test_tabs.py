"""Each tab shows what the logs hold, and says what to do where they hold nothing."""

import re

import pytest
from servers import a_server
from web.page_logs import write_gallery
from web.waiting import until

from pulseboard import SummaryWriter


def painted(page, selector):
    """Whether a canvas has anything on it."""
    page.wait_for_selector(selector)
    until(
        page,
        """(selector) => {
            const canvas = document.querySelector(selector);
            if (!canvas || !canvas.width) return false;
            return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v > 0);
        }""",
        arg=selector,
    )
    return True


def test_time_series_has_scalars_histograms_and_images_of_a_prefix(look, gallery):
    page = look.at(gallery, "#timeseries", wait="article img")
    assert page.locator("article.scalar").count() > 3
    page.get_by_role("button", name="histograms", exact=True).click()
    assert painted(page, "article canvas")
    assert page.locator("article.scalar").count() == 0


def test_distributions_draw_quantile_bands(look, gallery):
    page = look.at(gallery, "#distributions", wait="article canvas")
    box = page.locator(".u-over").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".tooltip").wait_for()
    assert "median" in page.locator(".tooltip").inner_text()
    assert "6.68% to 93.32%" in page.locator(".tooltip").inner_text()


def test_histograms_are_ridges_and_the_pointer_reads_a_bucket(look, gallery):
    page = look.at(gallery, "#histograms", wait="article canvas")
    assert painted(page, "article canvas")
    box = page.locator("article canvas").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.8)
    until(page, "/step .*: .* between/.test(document.querySelector('.reading').innerText)")
    page.get_by_role("button", name="overlay", exact=True).click()
    page.get_by_role("button", name="wall", exact=True).click()
    assert painted(page, "article canvas")


def test_text_is_markdown_without_what_could_run_and_runs_share_a_step(look, gallery):
    page = look.at(gallery, "#text", wait="article .prose")
    assert page.locator("article .prose strong").first.inner_text() == "Step 500"
    assert page.locator("article .prose script").count() == 0
    assert page.locator("article .prose table").count() == 2
    page.get_by_label(re.compile("Step of")).first.fill("0")
    until(page, "[...document.querySelectorAll('article .prose strong')].every(e => e.innerText === 'Step 0')")


def test_images_have_a_step_zoom_and_brightness(look, gallery):
    page = look.at(gallery, "#images", wait="article img")
    picture = page.locator("article img").first
    picture.evaluate("image => image.decode()")
    assert picture.evaluate("image => image.naturalWidth") == 64
    before = picture.get_attribute("src")
    page.get_by_label(re.compile("Step of")).first.fill("0")
    until(page, "before => document.querySelector('article img').src !== before", arg=before)
    page.get_by_label("Brightness").fill("2")
    assert "brightness(2)" in picture.evaluate("image => image.style.filter")
    picture.click()
    page.get_by_role("dialog").locator("img").wait_for()


def test_audio_plays(look, gallery):
    page = look.at(gallery, "#audio", wait="article audio")
    length = page.locator("audio").first.evaluate(
        """audio => new Promise((done) => {
            audio.onloadedmetadata = () => done(audio.duration);
            audio.preload = 'auto';
            audio.load();
        })"""
    )
    assert length == pytest.approx(1.0, abs=0.01)


def test_hparams_sort_filter_and_brush(look, gallery):
    page = look.at(gallery, "#hparams", wait="table tbody tr")
    page.locator("th button", has_text=re.compile("^lr")).click()
    page.locator("th button", has_text=re.compile("^lr")).click()
    assert page.locator("tbody tr").first.inner_text().startswith("diverged")
    page.get_by_label("Filter rows").fill("seed1")
    until(page, "document.querySelectorAll('tbody tr').length === 2")
    page.get_by_label("Filter rows").fill("")
    page.get_by_role("button", name="Parallel coordinates").click()
    grip = page.get_by_label(re.compile("^Keep runs by lr"))
    box = grip.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.3, steps=4)
    page.mouse.up()
    until(page, "document.querySelectorAll('tbody tr').length === 1")
    assert page.locator("tbody tr").inner_text().startswith("diverged")
    page.get_by_role("button", name="Clear brushes").click()
    page.get_by_role("button", name="Scatter matrix").click()
    assert painted(page, ".matrix canvas")


def test_system_has_the_machines_side(look, gallery):
    page = look.at(gallery, "#system", wait="article.scalar canvas")
    tags = page.locator("article.scalar").evaluate_all("cards => cards.map(card => card.dataset.tag)")
    assert "gpu/0/utilization" in tags
    assert "train/loss" not in tags


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_graph_is_a_tree_of_modules(look, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is missing: it makes the graph of this test")
    with SummaryWriter(tmp_path / "runs" / "model") as writer:
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        writer.add_graph(model, torch.zeros(1, 4))
        writer.add_scalar("loss", 1.0, 0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = look.at(server, "#graph", wait=".tree .row")
        assert "Sequential" in page.locator(".tree").inner_text()


def test_compare_shows_what_differs_and_judges_by_seeds(look, gallery):
    hash_ = '#compare&compare=["base-lr0.001-seed0","base-lr0.0003-seed0"]'
    page = look.at(gallery, hash_, wait="table tbody tr")
    settings = page.locator("section").first.locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in settings] == ["lr"]
    results = page.locator("section").nth(1)
    results.locator("td", has_text="train/loss").wait_for()
    assert "seed noise" in results.inner_text()
    page.locator("section").nth(2).locator("canvas").first.wait_for()


def test_health_tells_the_worst_first_with_evidence_and_the_guide(look, gallery):
    page = look.at(gallery, "#health", wait=".patient .badge.critical")
    if not gallery.api("status").json["findings"]:
        pytest.skip("The diagnosis is not installed")
    first = page.locator(".patient").first
    assert "diverged" in first.inner_text()
    first.locator("figure canvas").first.wait_for()
    assert first.locator("article").first.inner_text()
    first.get_by_role("button", name="Guide").first.click()
    dialog = page.get_by_role("dialog")
    dialog.locator("h2, h1").first.wait_for()
    page.keyboard.press("Escape")
    # What diagnosis found is shaded on the card too.
    first.get_by_role("button", name="Curves").first.click()
    page.wait_for_selector("article.scalar canvas")
    page.locator("article.scalar .badge.critical").first.wait_for()


def test_what_is_expected_is_not_told_again(look, tmp_path):
    with a_server(write_gallery(tmp_path / "runs", steps=300), tmp_path) as server:
        page = look.at(server, "#health&run=diverged", wait=".patient article")
        before = page.locator(".patient").first.locator("article").count()
        page.locator(".patient").first.get_by_role("button", name="Expected").first.click()
        until(
            page, "count => document.querySelector('.patient').querySelectorAll('article').length < count", arg=before
        )
        page.get_by_text("Expected here:").wait_for()


def test_the_page_opens_on_health_when_something_is_wrong(look, gallery):
    page = look.at(gallery, "", wait="nav")
    until(page, "location.hash.length > 1")
    assert page.url.split("#")[1].split("&")[0] == "health"


@pytest.mark.parametrize("tab", ["histograms", "distributions", "text", "images", "audio", "graph", "hparams"])
def test_an_empty_tab_says_how_to_fill_it(look, tmp_path, tab):
    with SummaryWriter(tmp_path / "runs" / "one") as writer:
        writer.add_scalar("loss", 1.0, 0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = look.at(server, f"#{tab}", wait=".empty")
        assert page.locator(".empty pre").inner_text()
