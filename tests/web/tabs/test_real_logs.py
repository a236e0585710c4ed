"""Every tab with published logs of other people: no errors, and every tab with data shows it."""

from pathlib import Path

import pytest
from servers import a_server
from web.waiting import settle, until

pytestmark = pytest.mark.early
SHARED = Path(__file__).parents[3].parent / "shared"
CORPUS = SHARED / "corpus"
LOGS = {
    "AP-IT-GH+jumper-assignment-vitterb": {"Text", "Histograms", "Distributions"},
    "BullsEye268+da6401_assignment3": {"HParams"},
    "ibadrather+pytorch_learn": {"Images", "Graph"},
    "tensorflow+tensorboard": {"Images", "Histograms", "Graph"},
    "wandb+wandb": {"Histograms"},
}
DRAWN = """() => {
    const main = document.getElementById('main');
    if (main.querySelector('[data-waiting]')) return false;
    const painted = (canvas) => canvas.width > 0
        && canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
    if ([...main.querySelectorAll('canvas')].some(painted)) return 'canvas';
    if ([...main.querySelectorAll('img')].some((image) => image.naturalWidth > 0)) return 'image';
    const words = [...main.querySelectorAll('.prose, tbody tr, .tree .row, .run-health')];
    if (words.some((element) => element.innerText.trim())) return 'words';
    return main.querySelector('.empty') ? 'empty' : false;
}"""


# `make test` opens these, `make test-long` all.
QUICK = {"AP-IT-GH+jumper-assignment-vitterb", "tensorflow+tensorboard"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.long]) for n in LOGS])
def test_every_tab_shows_the_data_of_real_logs(pages, name, tmp_path):
    if not (CORPUS / name).is_dir():
        pytest.skip(f"the corpus of real logs is missing: {CORPUS / name}")
    with a_server(CORPUS / name, tmp_path) as server:
        page = pages.open(server, "", wait="nav")
        failures = []
        page.on(
            "response", lambda response: response.status >= 400 and failures.append((response.status, response.url))
        )
        page.on(
            "requestfailed",
            lambda request: (
                "ERR_ABORTED" not in (request.failure or "") and failures.append((request.failure, request.url))
            ),
        )
        settle(page)
        tabs = page.locator("nav .tab").evaluate_all("tabs => tabs.map((tab) => tab.firstChild.textContent.trim())")
        assert LOGS[name] <= set(tabs)
        shown = {}
        for tab in tabs:
            page.locator("nav .tab", has_text=tab).first.click()
            page.locator(f"nav .tab[aria-current=page]:has-text('{tab}')").wait_for()
            shown[tab] = until(page, DRAWN)
        # Tabs in the bar have data, except Guide, System and HParams, which are always there.
        may_be_empty = {"Guide", "System", "HParams"} - LOGS[name]
        assert {tab for tab, what in shown.items() if what == "empty"} <= may_be_empty, shown
        # No guide fits these trainings, which is an answer and not an error in the browser's console.
        assert failures == []
    assert pages.errors == []


@pytest.mark.parametrize("name", ["corpus", pytest.param("wild", marks=pytest.mark.long)])
def test_every_series_of_real_logs_is_drawn_on_a_logarithmic_axis(pages, name, tmp_path):
    if not (SHARED / name).is_dir():
        pytest.skip(f"the collection of real logs is missing: {SHARED / name}")
    with a_server(SHARED / name, tmp_path) as server:
        page = pages.open(server, "#scalars&logY=1&smoothing=0", wait="article.scalar canvas", height=2400)
        page.get_by_label("Show all listed runs").click()
        settle(page)
        page.evaluate(
            """[...document.querySelectorAll('main button')]
                .filter((button) => button.innerText.startsWith('Show all'))
                .forEach((button) => button.click())"""
        )
        settle(page)
        cards = page.locator("article.scalar").count()
        assert cards > 200
        height = page.evaluate("document.getElementById('main').scrollHeight")
        for top in range(0, height, 2200):
            page.evaluate("top => document.getElementById('main').scrollTo(0, top)", top)
            # A page that never finishes a drawing does not get here.
            until(page, "!document.querySelector('[data-waiting]')")
        assert page.locator("[role=alert]").count() == 0
        assert page.locator("article.scalar canvas").count() > cards / 2
    assert pages.errors == []


def test_the_graph_of_an_event_file_is_a_tree_with_details(pages, tmp_path):
    logs = CORPUS / "tensorflow+tensorboard"
    if not logs.is_dir():
        pytest.skip(f"the corpus of real logs is missing: {logs}")
    with a_server(logs, tmp_path) as server:
        page = pages.open(server, "#graph", wait=".tree .row")
        settle(page)
        assert page.locator(".page-head").inner_text().count("node") == 1
        rows = page.locator(".tree .row").count()
        page.locator(".tree .fold[aria-expanded=false]").first.click()
        until(page, "rows => document.querySelectorAll('.tree .row').length > rows", rows)
        page.locator(".tree .row .name").last.click()
        about = page.locator(".about")
        about.wait_for()
        settle(page)
        assert "Operation" in about.inner_text()
        # The graph of another run, with the sizes of its variables.
        runs = page.get_by_label("Run", exact=True).locator("option").all_inner_texts()
        assert len(runs) > 1
        page.get_by_label("Run", exact=True).select_option("log_tayo/train")
        settle(page)
        layer = page.locator(".tree .row", has=page.get_by_text("layer1", exact=True)).first
        assert "393k" in layer.inner_text()  # 784 * 500 weights and 500 biases
