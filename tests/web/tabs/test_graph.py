"""The Graph tab."""

import pytest
from servers import a_server
from web.page_logs import write_model, write_watched
from web.waiting import settle


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_graph_is_a_tree_of_modules_with_shapes_and_logged_tags(pages, tmp_path):
    pytest.importorskip("torch", reason="torch is missing: it makes the graph of this test")
    write_model(tmp_path / "runs")
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#graph", wait=".tree .row")
        settle(page)
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
        settle(page)
        assert "(1, 64)" in tree.inner_text()
        # On a phone, the heads of the columns do not run into each other.
        page.set_viewport_size({"width": 390, "height": 844})
        settle(page)
        heads = tree.locator(".heads span:not(.spacer)")
        assert heads.count() == 3
        assert heads.evaluate_all("all => all.filter((head) => head.scrollWidth > head.clientWidth).length") == 0


def test_a_watched_model_shows_its_modules_without_a_graph(pages, tmp_path):
    pytest.importorskip("torch", reason="torch is missing: it trains the model of this test")
    write_watched(tmp_path / "runs")
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait="article.scalar canvas")
        page.locator("header").get_by_text(
            "Graph", exact=True
        ).click()  # the tab is in the bar because there is something to show
        tree = page.locator(".tree")
        tree.locator(".row").first.wait_for()
        settle(page)
        total = 16 * 64 + 64 + 2 * (64 * 64 + 64) + 64 * 4
        head = page.locator(".page-head").inner_text()
        assert f"{total:,} parameters, {total - 16 * 64 - 64:,} trained" in head

        def row(name):
            return tree.locator(".row", has=page.get_by_text(name, exact=True)).first

        blocks = row("blocks")
        assert "8.3k" in blocks.inner_text()
        assert "logged" in blocks.inner_text()
        page.get_by_label("Open blocks").click()
        layer = row("2")
        norm, ratio = layer.locator(".column").nth(2).inner_text(), layer.locator(".column").nth(3).inner_text()
        assert float(norm) > 0
        assert ratio == ""  # update ratios are logged for top-level modules only
        assert float(row("head").locator(".column").nth(3).inner_text().replace("−", "-")) > 0
        assert "[4, 64]" in row("head").inner_text()
        page.get_by_label("Open 2").click()
        assert "[64, 64]" in row("weight").inner_text()
        page.get_by_label("Open embedding").click()
        settle(page)
        assert "frozen" in tree.inner_text()
        layer.locator(".name").click()
        about = page.locator(".about")
        about.locator("article.scalar canvas").first.wait_for()
        settle(page)
        assert "4,160" in about.inner_text()
        cards = about.locator("article.scalar").evaluate_all("cards => cards.map(card => card.dataset.tag)")
        assert cards == ["train/gradient_flow/blocks.2_norm"]
