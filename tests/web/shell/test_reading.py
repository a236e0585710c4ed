"""The page while the server reads a large directory for the first time."""

from log_directories import write_run
from servers import install_waiting_reader, start_server, wait_for

CARD = "article.scalar canvas"


def test_the_page_says_that_logs_are_being_read_and_then_shows_the_runs(pages, tmp_path):
    logs = tmp_path / "logs"
    write_run(logs / "first")
    (logs / "slow.waiting").write_text("")
    server = start_server(logs, "--port", "0", home=tmp_path, env=install_waiting_reader(tmp_path / "site"))
    try:
        wait_for(lambda: server.api("status").json["loading"] == {"done": 1, "total": 2})
        page = pages.open(server, "#scalars", wait=".empty")
        text = page.locator(".empty").inner_text()
        assert "Reading logs" in text
        assert "1 of 2 files read" in text
        assert "No runs found" not in text
        (logs / "slow.waiting.go").touch()
        page.wait_for_selector(CARD)
        page.locator(".loading").wait_for(state="detached")
    finally:
        server.stop()
