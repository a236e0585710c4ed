"""Live data: what is logged while the page is open, and what happens while the server is gone."""

from servers import a_server, start_server, wait_for
from web.waiting import until

from pulseboard import SummaryWriter

CARD = "article.scalar canvas"


def last_value(page):
    return page.locator(".legend .value").first.inner_text()


def test_new_points_appear_automatically_until_paused(pages, tmp_path):
    writer = SummaryWriter(tmp_path / "runs" / "one")
    writer.add_scalar("loss", 1.0, 0)
    writer.flush()
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars&smoothing=0", wait=CARD)
        page.locator(".live", has_text="Live").wait_for()
        writer.add_scalar("loss", 0.125, 1)
        writer.flush()
        until(page, "document.querySelector('.legend .value').innerText === '0.125'")
        page.keyboard.press("p")
        page.locator(".live", has_text="Paused").wait_for()
        writer.add_scalar("loss", 0.5, 2)
        writer.flush()
        wait_for(lambda: server.window(["one"], ["loss"])["one", "loss"][1]["y"][-1] == 0.5)
        page.wait_for_timeout(1500)  # a page that is not paused shows news within a second
        assert last_value(page) == "0.125"
        # Once, on request.
        page.get_by_label("Load what is new now").click()
        until(page, "document.querySelector('.legend .value').innerText === '0.5'")
        writer.add_scalar("loss", 0.75, 3)
        writer.flush()
        page.locator("button.live").click()
        page.locator(".live", has_text="Live").wait_for()
        until(page, "document.querySelector('.legend .value').innerText === '0.75'")
    writer.close()


def test_a_new_run_and_a_new_tag_appear_automatically(pages, tmp_path):
    with SummaryWriter(tmp_path / "runs" / "one") as writer:
        writer.add_scalar("loss", 1.0, 0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        with SummaryWriter(tmp_path / "runs" / "two") as writer:
            writer.add_scalar("accuracy", 0.5, 0)
        page.locator(".pick .name", has_text="two").wait_for()
        page.locator("article[data-tag='accuracy'] canvas").wait_for()


def test_an_empty_directory_says_what_to_do_and_shows_the_first_run(pages, tmp_path):
    (tmp_path / "runs").mkdir()
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "", wait=".empty")
        assert "No runs found" in page.locator(".empty").inner_text()
        assert str(tmp_path / "runs") in page.locator(".empty").inner_text()
        with SummaryWriter(tmp_path / "runs" / "one") as writer:
            writer.add_scalar("loss", 1.0, 0)
        page.wait_for_selector(CARD)


def test_the_page_catches_up_after_the_server_was_gone(pages, tmp_path):
    writer = SummaryWriter(tmp_path / "runs" / "one")
    writer.add_scalar("loss", 1.0, 0)
    writer.flush()
    server = start_server(tmp_path / "runs", "--port", "0", home=tmp_path).wait_until_loaded()
    again = None
    try:
        page = pages.open(server, "#scalars&smoothing=0", wait=CARD)
        page.locator(".live", has_text="Live").wait_for()
        server.stop()
        page.locator(".live", has_text="Reconnecting").wait_for()
        assert page.locator(CARD).count() == 1  # what was loaded stays visible
        writer.add_scalar("loss", 0.25, 1)
        writer.flush()
        again = start_server(tmp_path / "runs", "--port", str(server.port), home=tmp_path).wait_until_loaded()
        page.locator(".live", has_text="Live").wait_for()
        until(page, "document.querySelector('.legend .value').innerText === '0.25'")
    finally:
        writer.close()
        server.stop()
        if again:
            again.stop()


# In the page and not in a route: a card also loads again when its layout settles, and between the end of a route and
# the click it would recover by itself.
FAIL_WINDOWS_UNTIL_RETRY = """() => {
  const fetch = window.fetch;
  let retried = false;
  const isRetry = (event) => event.target.closest("button")?.innerText === "Try again";
  document.addEventListener("click", (event) => { retried ||= isRetry(event); }, true);
  window.fetch = (url, options) => String(url).includes("/api/window") && !retried
    ? Promise.reject(new TypeError("Failed to fetch")) : fetch(url, options);
}"""


def test_a_card_that_could_not_load_says_so_and_can_retry(pages, study):
    page = pages.open(study, "#text")
    page.evaluate(FAIL_WINDOWS_UNTIL_RETRY)
    page.get_by_role("button", name="Scalars").click()
    card = page.locator("article[data-tag='count']")
    card.get_by_role("alert").wait_for()
    assert "not responding" in card.inner_text()
    card.get_by_role("button", name="Try again").click()
    card.locator("canvas").wait_for()


def test_a_page_without_a_server_says_what_to_do(pages, study):
    page = pages.open(study, "#scalars", wait=CARD)
    page.route("**/api/**", lambda route: route.abort())
    page.route("**/api/stream*", lambda route: route.abort())  # to the end: the page must not recover by itself
    page.reload()
    page.locator(".empty").wait_for()
    assert "Is pulseboard still running?" in page.locator(".empty").inner_text()
    page.unroute("**/api/**")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(CARD)
