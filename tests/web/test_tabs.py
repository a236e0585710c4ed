"""Each tab shows what the logs hold, and says what to do where they hold nothing."""

import re

import pytest
from servers import a_server
from web.charts import point
from web.page_logs import write_gallery, write_model, write_watched
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


def test_what_is_logged_later_appears_in_an_open_tab(look, tmp_path):
    with SummaryWriter(tmp_path / "runs" / "run") as writer, a_server(tmp_path / "runs", tmp_path / "home") as server:

        def write(step):
            writer.add_histogram("weights", [0.0, 1.0, float(step)], step)
            writer.add_text("note", f"word {step}", step)
            writer.flush()

        write(0)
        histograms = look.at(server, "#histograms", wait="article canvas")
        texts = look.at(server, "#text", wait="article .prose")
        until(histograms, "document.querySelector('.reading').innerText === '1 step'")
        until(texts, "document.querySelector('article .prose').innerText.includes('word 0')")
        write(1)
        until(histograms, "document.querySelector('.reading').innerText === '2 steps'")
        until(texts, "document.querySelector('article .prose').innerText.includes('word 1')")


@pytest.mark.parametrize("tab", ["histograms", "distributions"])
def test_of_many_histograms_only_those_in_view_are_loaded(look, tmp_path, tab):
    with SummaryWriter(tmp_path / "runs" / "run") as writer:
        for step in range(3):
            for layer in range(300):
                writer.add_histogram(f"weights/layer{layer:03}", [0.0, 1.0, float(layer + step)], step)
    with a_server(tmp_path / "runs", tmp_path / "home") as server:
        page = look.at(server, f"#{tab}", wait="article canvas")
        asked = (
            "[...performance.getEntriesByType('resource')].filter((e) => e.name.includes('layer')).map((e) => e.name)"
        )
        page.wait_for_timeout(1500)
        first = page.evaluate(asked)
        assert 0 < len(set(first)) < 20
        page.wait_for_timeout(1000)
        assert page.evaluate(asked) == first, "nothing is new, so nothing is asked for again"
        page.get_by_role("button", name="Show all 300").click()
        until(page, "document.querySelectorAll('article').length === 300")
        page.wait_for_timeout(500)
        assert len(set(page.evaluate(asked))) < 20
        page.locator("article").last.scroll_into_view_if_needed()
        until(page, f"{asked}.some((name) => name.includes('layer299'))")
        assert len(set(page.evaluate(asked))) < 50


def test_text_is_markdown_without_what_could_run_and_runs_share_a_step(look, gallery):
    page = look.at(gallery, "#text", wait="article .prose")
    assert page.locator("article .prose strong").first.inner_text() == "Step 500"
    assert page.locator("article .prose script").count() == 0
    assert page.locator("article .prose table").count() == 2
    page.get_by_label(re.compile("Step of")).first.fill("0")
    until(page, "[...document.querySelectorAll('article .prose strong')].every(e => e.innerText === 'Step 0')")
    left, right = (page.locator("article").nth(i).bounding_box() for i in range(2))
    assert left["y"] == right["y"]
    page.get_by_label("One step for all runs").uncheck()
    page.get_by_label(re.compile("Step of")).first.fill("2")
    until(page, "document.querySelector('article .prose strong').innerText === 'Step 200'")
    assert page.locator("article .prose strong").nth(1).inner_text() != "Step 200"
    page.get_by_label("As logged").check()
    assert page.locator("article pre").first.inner_text().startswith("**Step 200**")


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
    page.get_by_label("Contrast").fill("0.5")
    assert "contrast(0.5)" in picture.evaluate("image => image.style.filter")
    page.get_by_role("button", name="Reset").click()
    assert "brightness(1) contrast(1)" in picture.evaluate("image => image.style.filter")
    page.get_by_label("Size", exact=True).fill("400")
    assert picture.evaluate("image => image.clientHeight") == 400
    picture.click()
    dialog = page.get_by_role("dialog")
    dialog.locator("img").wait_for()
    dialog.get_by_label("Zoom").fill("8")
    until(page, "document.querySelector('dialog img').clientWidth === 8 * 64")


def test_images_of_runs_stand_side_by_side_at_one_step_or_each_at_its_own(look, gallery):
    page = look.at(gallery, "#images&tagFilter=generated", wait="article img")
    until(page, "document.querySelectorAll('article img').length === 2")
    left, right = (page.locator("article img").nth(i).bounding_box() for i in range(2))
    assert left["y"] == right["y"]
    assert left["x"] < right["x"]

    def steps():
        return [alt.split()[-1] for alt in page.locator("article img").evaluate_all("all => all.map((one) => one.alt)")]

    assert steps() == ["500", "500"]
    page.get_by_label(re.compile("Step of")).first.fill("1")
    assert steps() == ["100", "100"]
    page.get_by_label("One step for all runs").uncheck()
    page.get_by_label(re.compile("Step of")).first.fill("0")
    assert steps()[0] == "0"
    assert steps()[1] != "0"


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
    before = page.locator("audio").first.get_attribute("src")
    page.get_by_label(re.compile("Step of")).first.fill("0")
    until(page, "before => document.querySelector('audio').src !== before", arg=page.evaluate("s => s", before))
    assert page.locator("article").first.inner_text().endswith("step 0")


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
    # Lines of the others fade, and their place in the list is told.
    assert page.locator(".parallel path:not(.off)").count() == 1
    assert page.locator("main .count").inner_text().startswith("1 of 11 runs")
    page.get_by_role("button", name="Clear brushes").click()
    until(page, "document.querySelectorAll('tbody tr').length === 11")
    # By keys too.
    grip.focus()
    page.keyboard.press("ArrowUp")
    until(page, "document.querySelectorAll('tbody tr').length < 11")
    page.keyboard.press("Delete")
    until(page, "document.querySelectorAll('tbody tr').length === 11")


def test_a_matrix_of_scatter_plots_points_at_runs_and_follows_the_filter(look, gallery):
    page = look.at(gallery, "#hparams", wait="table tbody tr")
    page.get_by_role("button", name="Scatter matrix").click()
    assert painted(page, ".matrix canvas")
    size = page.locator(".matrix .own").count()
    assert size > 2
    assert page.locator(".matrix canvas").count() == size * (size - 1)
    plot = page.get_by_label("val/loss against lr", exact=True)
    plot.scroll_into_view_if_needed()
    point(page, plot, 0.95, 0.9)
    box = plot.bounding_box()
    # Down the right edge: the run with the greatest rate is there, and nothing else.
    for down in range(4, int(box["height"]), 6):
        page.mouse.move(box["x"] + box["width"] - 8, box["y"] + down)
        if "diverged" in page.locator("main .count").inner_text():
            break
    assert page.locator("main .count").inner_text() == "11 runs: diverged"
    before = plot.evaluate("canvas => canvas.toDataURL()")
    page.get_by_label("Filter rows").fill("overfit")
    until(page, "document.querySelectorAll('tbody tr').length === 1")
    page.mouse.move(5, 5)
    page.wait_for_timeout(200)
    assert plot.evaluate("canvas => canvas.toDataURL()") != before


def test_columns_of_the_table_are_chosen_and_saved(look, gallery):
    page = look.at(gallery, "#hparams", wait="table tbody tr")
    heads = page.locator("main thead th")
    assert "layers" not in " ".join(heads.all_inner_texts())  # the same in all runs
    page.get_by_role("button", name="Columns", exact=True).click()
    page.get_by_label("Settings that are the same in all runs").check()
    page.locator(".panel").get_by_label("train/grad_norm", exact=True).check()
    page.keyboard.press("Escape")
    until(page, "document.querySelector('main thead').innerText.includes('layers')")
    page.get_by_label("Metrics:").select_option("max")
    until(page, "document.querySelector('main thead').innerText.includes('train/grad_norm')")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0].startswith("run,")
    assert {"lr", "layers", "train/grad_norm"} <= set(lines[0].split(","))
    assert len(lines) == 12


def test_system_draws_a_run_by_rank_and_says_how_far_they_are_apart(look, study):
    page = look.at(study, "#system", wait="article canvas")
    ranks = page.get_by_label("gpu/0/utilization of parallel by rank", exact=True)
    ranks.locator("canvas").wait_for()
    assert "4 ranks" in ranks.inner_text()
    assert "rank 3 40 to rank 0 90, 57% apart" in ranks.inner_text()
    point(page, ranks.locator(".u-over"), 0.5)
    page.locator(".tooltip").wait_for()
    rows = page.locator(".tooltip tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["rank", "0", "90"],
        ["rank", "1", "88"],
        ["rank", "2", "86"],
        ["rank", "3", "40"],
    ]


def test_system_has_the_machines_side(look, gallery):
    page = look.at(gallery, "#system", wait="article.scalar canvas")
    tags = page.locator("article.scalar").evaluate_all("cards => cards.map(card => card.dataset.tag)")
    assert "gpu/0/utilization" in tags
    assert "train/loss" not in tags


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_graph_is_a_tree_of_modules_with_shapes_and_what_was_logged_about_them(look, tmp_path):
    pytest.importorskip("torch", reason="torch is missing: it makes the graph of this test")
    write_model(tmp_path / "runs")
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = look.at(server, "#graph", wait=".tree .row")
        tree = page.locator(".tree")
        assert "Sequential" in tree.inner_text()
        layer = tree.locator(".row", has=page.get_by_text("Linear[0]", exact=True)).first
        assert "1 logged" in layer.inner_text()
        assert "0.02" in layer.locator(".badge").get_attribute("title")
        layer.locator(".name").click()
        about = page.locator(".about")
        about.locator("article.scalar canvas").wait_for()
        assert "Linear[0]" in about.locator("h2").inner_text()
        layer.get_by_label("Open Linear[0]").click()
        assert "(1, 64)" in tree.inner_text()


def test_a_watched_model_shows_its_modules_with_counts_shapes_and_health_and_without_a_graph(look, tmp_path):
    pytest.importorskip("torch", reason="torch is missing: it trains the model of this test")
    write_watched(tmp_path / "runs")
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = look.at(server, "#scalars", wait="article.scalar canvas")
        page.locator("header").get_by_text("Graph", exact=True).click()  # in the bar: there is something to show
        tree = page.locator(".tree")
        tree.locator(".row").first.wait_for()
        in_all = 16 * 64 + 64 + 2 * (64 * 64 + 64) + 64 * 4
        head = page.locator(".page-head").inner_text().replace("\u202f", "")
        assert f"{in_all} parameters, {in_all - 16 * 64 - 64} trained" in head

        def row(name):
            return tree.locator(".row", has=page.get_by_text(name, exact=True)).first

        blocks = row("blocks")
        assert "8.3k" in blocks.inner_text()
        assert "logged" in blocks.inner_text()
        page.get_by_label("Open blocks").click()
        layer = row("2")
        norm, ratio = layer.locator(".column").nth(2).inner_text(), layer.locator(".column").nth(3).inner_text()
        assert float(norm) > 0
        assert ratio == ""  # update ratios are of a model's parts
        assert float(row("head").locator(".column").nth(3).inner_text().replace("−", "-")) > 0
        assert "[4, 64]" in row("head").inner_text()
        page.get_by_label("Open 2").click()
        assert "[64, 64]" in row("weight").inner_text()
        page.get_by_label("Open embedding").click()
        assert "frozen" in tree.inner_text()
        layer.locator(".name").click()
        about = page.locator(".about")
        about.locator("article.scalar canvas").first.wait_for()
        assert "4160" in about.inner_text()
        cards = about.locator("article.scalar").evaluate_all("cards => cards.map(card => card.dataset.tag)")
        assert cards == ["train/gradient_flow/blocks.2_norm"]


def test_compare_shows_what_differs_and_judges_by_seeds(look, gallery):
    hash_ = '#compare&compare=["base-lr0.001-seed0","base-lr0.0003-seed0"]'
    page = look.at(gallery, hash_, wait="table tbody tr")
    settings = page.locator("section").first.locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in settings] == ["lr"]
    results = page.locator("section").nth(1)
    results.locator("td", has_text="train/loss").wait_for()
    assert "seed noise" in results.inner_text()
    page.locator("section").nth(2).locator("canvas").first.wait_for()
    # The loss of both is the same but for noise; the learning rate is not.
    rows = {row.split("\t")[0]: row for row in results.locator("tbody tr").all_inner_texts()}
    assert "beyond seed noise" in rows["train/lr"] or "beyond seed noise" in rows["train/loss"]
    assert any("within seed noise" in row for row in rows.values())
    # A third run, and one less; settings that are the same, too.
    page.get_by_label("Add a run").select_option("overfit")
    page.get_by_label("Leave out overfit").wait_for()
    assert page.locator("section").first.locator("thead th").count() == 4
    page.get_by_label("Settings that are the same, too").check()
    until(page, "document.querySelector('section').innerText.includes('batch_size')")
    page.get_by_label("Leave out overfit").click()
    until(page, "document.querySelectorAll('section thead')[0].querySelectorAll('th').length === 3")


def test_a_run_is_added_to_compare_from_its_menu(look, gallery):
    page = look.at(gallery, "#scalars", wait="article.scalar canvas")
    for name in ("overfit", "diverged"):
        page.locator(".row", has_text=name).hover()
        page.get_by_label(f"More about {name}").click()
        page.get_by_role("button", name="Add to Compare").click()
    until(page, "location.hash.startsWith('#compare')")
    page.get_by_label("Leave out overfit").wait_for()
    page.get_by_label("Leave out diverged").wait_for()


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
        page.get_by_title("Tell me again", exact=True).click()
        until(
            page, "count => document.querySelector('.patient').querySelectorAll('article').length === count", arg=before
        )


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
