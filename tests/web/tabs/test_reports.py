"""The HTML report of every tab, which needs no server and no scripts."""

import base64
import re

from web.waiting import settle

TABS = {
    "health": ".run-health .lead img.report-picture",
    "scalars": "article.scalar img.report-picture",
    "timeseries": "article.scalar img.report-picture",
    "distributions": "article img.report-picture",
    "histograms": "article img.report-picture",
    "text": "article .prose strong",
    "images": "article img",
    "audio": "article",
    "hparams": "table tbody tr",
    "system": "article.scalar img.report-picture",
    "compare": "table tbody tr",
}
CONTROLS = "button, input, select, textarea, script, canvas, .skeleton, .u-over"


def test_the_report_of_each_tab_shows_what_the_page_shows(pages, gallery, tmp_path):
    page = pages.open(gallery, "#scalars", wait="article.scalar canvas", accept_downloads=True)
    context = pages.browser.new_context(offline=True, viewport={"width": 1440, "height": 900})
    report = context.new_page()
    errors = []
    report.on("console", lambda message: message.type == "error" and errors.append(message.text))
    report.on("requestfailed", lambda request: errors.append(request.url[:100]))
    (diverged,) = (run for run in gallery.api("diagnosis").json["runs"] if run["run"] == "diverged")
    headline = diverged["incidents"][0]["headline"]
    for tab, shown in TABS.items():
        page.evaluate("tab => location.hash = tab", tab)
        live = shown.replace("img.report-picture", "canvas")
        page.locator(live).first.wait_for()
        settle(page)
        cards = page.locator("main article.scalar").count()
        with page.expect_download() as saved:
            page.get_by_label("Save this view as an HTML file").click()
        path = tmp_path / f"{tab}.html"
        saved.value.save_as(path)
        text = path.read_text()
        assert not re.search(r'(src|href)="(?!data:|http://127|#)[^"]', text), tab
        report.goto(path.as_uri())
        assert report.locator("h1").first.inner_text().replace(" ", "").lower().endswith(f":{tab}"), tab
        assert report.locator(shown).count() > 0, tab
        assert report.locator(CONTROLS).count() == 0, tab
        blank = report.locator("main img").evaluate_all("all => all.filter((one) => one.naturalWidth < 16).length")
        assert blank == 0, tab
        verdicts = report.locator(
            ".run-health .verdict" if tab == "health" else ".report-verdicts li"
        ).all_inner_texts()
        assert any(headline in verdict for verdict in verdicts), tab
        if tab in ("scalars", "system"):  # cards outside the view are in it too
            assert report.locator("article.scalar img.report-picture").count() == cards, tab
        wide = report.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, tab
    context.close()
    assert errors == []


def test_charts_in_a_report_are_whole_at_any_width(pages, gallery, tmp_path):
    page = pages.open(gallery, "#scalars", wait="article.scalar canvas", accept_downloads=True)
    with page.expect_download() as saved:
        page.get_by_label("Save this view as an HTML file").click()
    path = tmp_path / "report.html"
    saved.value.save_as(path)
    context = pages.browser.new_context(offline=True)
    report = context.new_page()
    for width in (390, 768, 1024, 1440, 2200):
        report.set_viewport_size({"width": width, "height": 900})
        report.goto(path.as_uri())
        cut = report.locator("article.scalar .report-picture").evaluate_all(
            """all => all.filter((image) => {
                const [inner, outer] = [image, image.closest('.chart')].map((one) => one.getBoundingClientRect());
                const inside = inner.right <= outer.right + 1 && inner.bottom <= outer.bottom + 1;
                return !inside || getComputedStyle(image).objectFit !== 'contain';
            }).length"""
        )
        assert cut == 0, width
    context.close()


def test_the_view_is_saved_as_one_self_contained_file(pages, gallery, tmp_path):
    page = pages.open(gallery, "#scalars&tagFilter=train", wait="article.scalar canvas")
    settle(page)
    with page.expect_download() as saved:
        page.get_by_label("Save this view as an HTML file").click()
    path = tmp_path / "report.html"
    saved.value.save_as(path)
    text = path.read_text()
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!data:|http://127|#)[^"]', text)
    report = pages.browser.new_context(offline=True).new_page()
    report.goto(path.as_uri())
    assert report.locator("img.report-picture").count() == 4
    assert report.locator("img.report-picture").first.evaluate("image => image.naturalWidth") > 100
    report.context.close()


def test_a_report_names_every_curve_and_where_it_comes_from(pages, gallery, tmp_path):
    page = pages.open(gallery, "#scalars&tagFilter=train/loss", wait="article.scalar canvas", accept_downloads=True)
    with page.expect_download() as saved:
        page.get_by_label("Save this view as an HTML file").click()
    path = tmp_path / "report.html"
    saved.value.save_as(path)
    context = pages.browser.new_context(offline=True)
    report = context.new_page()
    report.goto(path.as_uri())
    names = report.locator("article.scalar .legend li").evaluate_all("all => all.map((one) => one.innerText)")
    # Each of them is in its card, which is cut where it ends, and its chart is as wide as the card.
    cut = report.locator("article.scalar").evaluate_all(
        """cards => cards.filter((card) => {
            const { bottom, width } = card.getBoundingClientRect();
            const entries = [...card.querySelectorAll(".legend li")];
            const chart = card.querySelector(".report-picture").getBoundingClientRect();
            return entries.some((one) => one.getBoundingClientRect().bottom > bottom) || chart.width < width - 30;
        }).length"""
    )
    assert cut == 0
    (runs,) = (tag["runs"] for tag in gallery.api("tags?names=1").json["tags"] if tag["tag"] == "train/loss")
    assert len(names) == len(runs)
    for run in runs:
        assert any(run[-8:] in name.replace("\n", "") for name in names), run
    # Nobody else can open localhost, so there is no link to it.
    assert report.locator("a[href*='127.0.0.1'], a[href*='localhost']").count() == 0
    assert gallery.api("status").json["directories"][0] in report.locator(".report-head").inner_text()
    # Charts are drawings, which are sharp on paper.
    sources = report.locator("article.scalar .report-picture").evaluate_all("all => all.map((one) => one.src)")
    assert sources
    assert all(source.startswith("data:image/svg+xml") for source in sources)
    context.close()


def test_the_right_end_of_a_curve_is_in_the_report(pages, study, tmp_path):
    page = pages.open(
        study,
        "#scalars&regexInput=alone&tagFilter=count&smoothing=0",
        wait="article.scalar canvas",
        accept_downloads=True,
    )
    with page.expect_download() as saved:
        page.get_by_label("Save this view as an HTML file").click()
    path = tmp_path / "report.html"
    saved.value.save_as(path)
    source = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', path.read_text())[1]
    svg = base64.b64decode(source).decode()
    width, height = (float(part) for part in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    curve = max(re.findall(r'<path d="([^"]+)" fill="none"', svg), key=len)
    points = [tuple(map(float, pair.split())) for pair in re.findall(r"[ML]([\d. -]+)", curve)]
    assert points[0][0] < 0.25 * width
    assert 0.9 * width < points[-1][0] <= width
    # The line rises from 1 to 1000, so it ends near the top, and the highest label is not above its end.
    assert points[0][1] > 0.75 * height
    assert points[-1][1] < 0.2 * height
