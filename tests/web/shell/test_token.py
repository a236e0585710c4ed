"""The page that asks for a token."""

import pytest
from log_directories import write_run
from servers import start_server

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def guarded(tmp_path):
    write_run(tmp_path / "runs" / "a", (0, 1.0), (1, 2.0))
    server = start_server(tmp_path / "runs", "--port", "0", "--token", TOKEN, home=tmp_path)
    yield server
    server.stop()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_wrong_token_is_named_and_the_right_one_opens_the_page(pages, guarded, theme):
    page = pages.open(guarded, "?token=not-the-token", wait="form", theme=theme)
    assert "not-the-token" not in page.url
    assert page.get_by_role("alert").inner_text().startswith("Wrong token")
    # Styled, and hidden from people who look over the shoulder.
    assert page.locator("main").evaluate("main => getComputedStyle(main).borderRadius") == "12px"
    assert page.get_by_label("Token").get_attribute("type") == "password"
    page.get_by_label("Token").fill("wrong again, sorry")
    page.get_by_role("button", name="Open").click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    page.locator("article.scalar canvas").first.wait_for()
    assert TOKEN not in page.url
    page.reload()
    page.locator("article.scalar canvas").first.wait_for()
