"""A real Chromium connected to a real server.

The tests need Debian's `chromium` package, Python's `playwright` and the built page (`make page`). If one of them is
missing, the tests are skipped with a message that names it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from servers import a_server
from web.page_logs import write_gallery, write_hostile, write_study
from web.waiting import track_work

# The browser's own address bar renders two pages for each page that opens, with three quarters of the time of a short
# test. The last --disable-features counts, so those that Playwright switches off are here too.
DISABLED = """
WebUIOmniboxPopup WebUIOmniboxAimPopup AimEnabled AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose
HttpsUpgrades HttpsFirstBalancedModeAutoEnable LensOverlay MediaRouter NetworkTimeServiceQuerying OptimizationHints
PaintHolding PreconnectToSearch ThirdPartyStoragePartitioning
""".split()
FLAGS = [
    f"--disable-features={','.join(DISABLED)}",
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PAGE = Path(__file__).parents[2] / "src/pulseboard/serve/page/index.html"


def chromium_path() -> str | None:
    """The path of Chromium: `$PULSEBOARD_CHROMIUM`, or the one on the PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("PULSEBOARD_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    path = chromium_path()
    if path is None:
        pytest.skip("Chromium is missing: apt-get install chromium, or set PULSEBOARD_CHROMIUM")
    if not PAGE.exists():
        pytest.skip("The page is not built: make page")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Pages:
    """Opens pages and collects their errors."""

    def __init__(self, browser):
        self.browser = browser
        self.contexts = []
        self.errors: list[str] = []

    def open(self, server, hash_="", *, width=1440, height=900, theme="light", wait="#main", **options):
        """Open a page of a server and wait for the selector `wait`."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            reduced_motion="reduce",  # endless animations keep a processor busy
            **options,
        )
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        track_work(page)
        page.on("pageerror", lambda error: self.errors.append(f"error: {error}"))
        page.on(
            "console",
            lambda entry: entry.type in ("error", "warning") and self.errors.append(f"console: {entry.text}"),
        )
        page.on("dialog", lambda dialog: (self.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(server.url + hash_)
        page.wait_for_selector(wait)
        return page


@pytest.fixture
def pages(browser):
    """Opens pages. A test fails if a page threw an error or opened a dialog."""
    pages = Pages(browser)
    yield pages
    for context in pages.contexts:
        context.close()
    # The browser itself logs an error when the server is gone, and a warning when a test reads many pixels; neither is
    # the page's fault.
    expected = ("net::ERR_", "Failed to load resource", "willReadFrequently")
    assert [error for error in pages.errors if not any(text in error for text in expected)] == []


@pytest.fixture(scope="session")
def gallery(tmp_path_factory):
    """A server with diagnosed runs of every kind of value, for tests that change nothing."""
    logs = write_gallery(tmp_path_factory.mktemp("gallery") / "runs")
    with a_server(logs, tmp_path_factory.mktemp("gallery-home")) as server:
        yield server.wait_until_diagnosed()


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A server with diagnosed curves whose values are all known."""
    logs = write_study(tmp_path_factory.mktemp("study") / "runs")
    with a_server(logs, tmp_path_factory.mktemp("study-home")) as server:
        yield server.wait_until_diagnosed()


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A server with names that look like code."""
    logs = write_hostile(tmp_path_factory.mktemp("hostile") / "runs")
    with a_server(logs, tmp_path_factory.mktemp("hostile-home")) as server:
        yield server
