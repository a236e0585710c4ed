"""A real Chromium before a real server.

Debian's `chromium` package and Python's `playwright` are needed, and the built page (`make page`). Where one of them is
missing the tests are skipped and say which.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from servers import a_server
from web.page_logs import write_gallery, write_hostile, write_study

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PAGE = Path(__file__).parents[2] / "src/pulseboard/serve/page/index.html"


def chromium_path() -> str | None:
    """Where Chromium is: `$PULSEBOARD_CHROMIUM`, or what the PATH has."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("PULSEBOARD_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    path = chromium_path()
    if path is None:
        pytest.skip("Chromium is missing: apt-get install chromium, or name it in PULSEBOARD_CHROMIUM")
    if not PAGE.exists():
        pytest.skip("The page is not built: make page")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Look:
    """Opens pages and collects what they complain of."""

    def __init__(self, browser):
        self.browser = browser
        self.contexts = []
        self.complaints: list[str] = []

    def at(self, server, hash_="", *, width=1440, height=900, theme="light", wait="#main", **options):
        """A page of a server at a place, once `wait` is in sight."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, **options)
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda said: said.type == "error" and self.complaints.append(f"console: {said.text}"))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(server.url + hash_)
        page.wait_for_selector(wait)
        return page


@pytest.fixture
def look(browser):
    """Open pages. A test during which a page threw an error or opened a dialog fails."""
    look = Look(browser)
    yield look
    for context in look.contexts:
        context.close()
    # A server that is gone is told by the browser itself; the page says it in its own words.
    ours = [said for said in look.complaints if "net::ERR_" not in said and "Failed to load resource" not in said]
    assert ours == []


@pytest.fixture(scope="session")
def gallery(tmp_path_factory):
    """One server over runs with every kind of value, for tests that only look."""
    logs = write_gallery(tmp_path_factory.mktemp("gallery") / "runs")
    with a_server(logs, tmp_path_factory.mktemp("gallery-home")) as server:
        yield server


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """One server over curves of which every value is known."""
    logs = write_study(tmp_path_factory.mktemp("study") / "runs")
    with a_server(logs, tmp_path_factory.mktemp("study-home")) as server:
        yield server


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """One server over names that look like code."""
    logs = write_hostile(tmp_path_factory.mktemp("hostile") / "runs")
    with a_server(logs, tmp_path_factory.mktemp("hostile-home")) as server:
        yield server
