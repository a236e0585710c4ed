"""The Files tab: what runs kept with `run.artifact`."""

import pytest
from servers import a_server
from web.waiting import settle

import pulseboard as pb


def write_run(directory, name, *kept):
    with pb.init(dir=directory / "runs", run_id=name, telemetry_secs=0, strict=True) as run:
        run.log({"loss": 1.0}, step=0)
        for file, content in kept:
            (directory / file).write_text(content)
            run.artifact(directory / file)


@pytest.fixture
def server(tmp_path):
    write_run(tmp_path, "first", ("model.pt", "weights" * 1000))
    write_run(tmp_path, "second", ("vocabulary.txt", "a b c"), ("merges.txt", "d"))
    write_run(tmp_path, "third")
    with a_server(tmp_path / "runs", tmp_path) as found:
        yield found


def test_the_files_of_a_run_are_listed_and_downloaded(pages, server, tmp_path):
    page = pages.open(server, '#files&run="first"', wait="table tbody tr")
    settle(page)
    assert page.get_by_label("Run", exact=True).locator("option").count() == 2
    page.get_by_label("Run", exact=True).select_option("second")
    page.get_by_role("link", name="vocabulary.txt").wait_for()
    assert page.locator("table tbody tr").count() == 2
    page.get_by_label("Run", exact=True).select_option("first")
    with page.expect_download() as download:
        page.get_by_role("link", name="model.pt").click()
    assert download.value.suggested_filename == "model.pt"
    download.value.save_as(tmp_path / "downloaded")
    assert (tmp_path / "downloaded").read_text() == "weights" * 1000
