"""The current view as one file: every tab, with nothing that needs a server or a script."""

import re

TABS = {
    "health": ".patient article img.report-picture",
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
NOTHING_DEAD = "button, input, select, textarea, script, canvas, .skeleton, .u-over"


def test_each_tab_is_saved_as_a_file_that_shows_what_the_page_showed(look, gallery, tmp_path):
    page = look.at(gallery, "#scalars", wait="article.scalar canvas", accept_downloads=True)
    context = look.browser.new_context(offline=True, viewport={"width": 1440, "height": 900})
    report = context.new_page()
    said = []
    report.on("console", lambda message: message.type == "error" and said.append(message.text))
    report.on("requestfailed", lambda request: said.append(request.url[:100]))
    for tab, shown in TABS.items():
        page.evaluate("tab => location.hash = tab", tab)
        live = shown.replace("img.report-picture", "canvas")
        page.locator(live).first.wait_for(timeout=20_000)
        cards = page.locator("main article.scalar").count()
        with page.expect_download() as saved:
            page.get_by_label("Save this view as one HTML file").click()
        path = tmp_path / f"{tab}.html"
        saved.value.save_as(path)
        text = path.read_text()
        assert not re.search(r'(src|href)="(?!data:|http://127|#)[^"]', text), tab
        report.goto(path.as_uri())
        assert report.locator("h1").first.inner_text().lower().endswith(tab), tab
        assert report.locator(shown).count() > 0, tab
        assert report.locator(NOTHING_DEAD).count() == 0, tab
        blank = report.locator("main img").evaluate_all("all => all.filter((one) => one.naturalWidth < 16).length")
        assert blank == 0, tab
        if tab in ("scalars", "system"):  # those out of view too
            assert report.locator("article.scalar img.report-picture").count() == cards, tab
        wide = report.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, tab
    context.close()
    assert said == []
