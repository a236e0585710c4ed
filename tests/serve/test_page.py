"""The built page: what a browser keeps, what travels compressed, and what there is before it is built."""

import gzip

import pytest

from pulseboard.serve.answers import NotModified
from pulseboard.serve.errors import NotFound
from pulseboard.serve.page import Page
from pulseboard.serve.request import Request


def request(**headers):
    scope = {
        "method": "GET",
        "path": "/",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    return Request(scope, None)


@pytest.fixture
def page(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<html><title>Pulseboard</title></html>")
    (tmp_path / "theme.js").write_text("1")
    (tmp_path / "assets" / "index-XoEw35jV.js").write_text("let x = 1;" * 100)
    (tmp_path / "assets" / "index-XoEw35jV.js.gz").write_bytes(gzip.compress(b"let x = 1;" * 100))
    (tmp_path / "assets" / "notes.py").write_text("not of the page")
    return Page(title="Mine <&>", directory=tmp_path)


def test_the_page_is_asked_for_every_time_and_has_its_title(page):
    answer = page.answer(request(), "")
    assert answer.headers["cache-control"] == "no-cache"
    assert b"<title>Mine &lt;&amp;&gt;</title>" in answer.body


def test_a_file_with_a_hash_in_its_name_is_kept_for_ever_and_others_are_not(page):
    assert "immutable" in page.answer(request(), "assets/index-XoEw35jV.js").headers["cache-control"]
    assert page.answer(request(), "theme.js").headers["cache-control"] == "no-cache"


def test_what_was_compressed_when_the_page_was_built_is_sent_so(page):
    packed = page.answer(request(accept_encoding="gzip"), "assets/index-XoEw35jV.js")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == page.answer(request(), "assets/index-XoEw35jV.js").body
    assert packed.media_type.startswith("text/javascript")


def test_a_file_that_the_browser_has_is_not_sent_again(page):
    tag = page.answer(request(), "theme.js").headers["etag"]
    with pytest.raises(NotModified):
        page.answer(request(if_none_match=tag), "theme.js")


@pytest.mark.parametrize(
    "address", ["assets", "assets/notes.py", "index.html", "assets/index-XoEw35jV.js.gz", "x", "."]
)
def test_only_the_files_of_the_page_are_there(page, address):
    with pytest.raises(NotFound):
        page.answer(request(), address)


def test_before_it_is_built_the_page_says_how_to_build_it_and_then_it_is_there(tmp_path):
    page = Page(title="T", directory=tmp_path / "page")
    assert b"make page" in page.answer(request(), "").body
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<title>x</title>built")
    assert b"built" in page.answer(request(), "").body
