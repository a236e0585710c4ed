"""What the page requests: little at first, nothing from other hosts, and nothing while it is idle."""

from servers import start_server
from web.every_tab import TABS
from web.page_logs import write_gallery
from web.waiting import until

CARD = "article.scalar canvas"


def test_the_first_load_is_small(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    script = """performance.getEntriesByType('resource')
        .filter((entry) => !entry.name.includes('/api/'))
        .reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""
    assert page.evaluate(script) < 250_000


def test_the_page_has_no_inline_code_and_requests_nothing_from_other_hosts(pages, gallery):
    requested = []
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.on("request", lambda request: requested.append(request.url))
    page.reload()
    page.wait_for_selector(CARD)
    assert {url for url in requested if not url.startswith(gallery.url)} == set()
    assert page.evaluate("document.querySelectorAll('script:not([src]), style').length") == 0


def test_the_page_works_behind_a_path_prefix(pages, tmp_path):
    logs = write_gallery(tmp_path / "runs", steps=60)
    server = start_server(logs, "--port", "0", "--path_prefix", "/boards/mine", home=tmp_path).wait_until_loaded()
    try:
        page = pages.open(server, "#scalars", wait=CARD)
        assert "/boards/mine" in page.url
    finally:
        server.stop()


def test_the_first_chart_does_not_wait_for_a_frame(pages, gallery):
    page = pages.open(gallery, "#health", wait="#main")
    # A browser that is slow to draw says late what is in view: here it never does.
    page.add_init_script("window.IntersectionObserver = class { observe() {} unobserve() {} disconnect() {} }")
    page.goto("about:blank")
    with page.expect_request("**/api/window") as first:
        page.goto(gallery.url + "#scalars")
    assert len(first.value.post_data_json["tags"]) == 1


def test_cards_out_of_view_wait_until_the_first_chart_is_drawn(pages, gallery):
    page = pages.open(gallery, "#health", wait="#main")
    # Frames come late, as on a busy machine.
    page.add_init_script("""
        const { requestAnimationFrame } = window;
        window.requestAnimationFrame = (run) => setTimeout(() => requestAnimationFrame(run), 200);
        const { stroke } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.stroke = function (...path) {
            window.cardsAtFirst ??= document.querySelectorAll('article.scalar').length;
            return stroke.apply(this, path);
        };
    """)
    page.goto("about:blank")
    page.goto(gallery.url + "#scalars")
    until(page, "window.cardsAtFirst > 0")
    assert page.evaluate("window.cardsAtFirst") == 9
    until(page, "document.querySelectorAll('article.scalar').length > 9")


def test_an_idle_page_sends_no_requests(pages, gallery):
    page = pages.open(gallery, "#health", wait="#main")
    page.evaluate("performance.setResourceTimingBufferSize(10_000)")
    requested = "performance.getEntriesByType('resource').map((one) => one.name)"
    for tab in TABS:
        page.evaluate("tab => location.hash = '#' + tab", tab)
        for _ in range(20):  # until the tab has everything it needs
            before = len(page.evaluate(requested))
            page.wait_for_timeout(600)
            later = page.evaluate(requested)
            if len(later) == before:
                break
        else:
            raise AssertionError(f"{tab} keeps requesting {later[-1]}")
