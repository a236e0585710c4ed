"""The built page: caching, compression, and what is shown before it is built."""

import gzip

import pytest

from pulseboard.serve.http.errors import NotFound
from pulseboard.serve.http.page import Page
from pulseboard.serve.http.request import Request
from pulseboard.serve.http.responses import NotModified


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
    (tmp_path / "assets" / "notes.py").write_text("not part of the page")
    return Page(title="Mine <&>", directory=tmp_path)


def test_the_page_is_never_cached_and_has_the_title(page):
    response = page.respond(request(), "")
    assert response.headers["cache-control"] == "no-cache"
    assert b"<title>Mine &lt;&amp;&gt;</title>" in response.body


def test_only_files_with_a_hash_in_their_name_are_cached_forever(page):
    assert "immutable" in page.respond(request(), "assets/index-XoEw35jV.js").headers["cache-control"]
    assert page.respond(request(), "theme.js").headers["cache-control"] == "no-cache"


def test_files_compressed_at_build_time_are_sent_compressed(page):
    compressed = page.respond(request(accept_encoding="gzip"), "assets/index-XoEw35jV.js")
    assert compressed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(compressed.body) == page.respond(request(), "assets/index-XoEw35jV.js").body
    assert compressed.media_type.startswith("text/javascript")


def test_a_cached_file_is_not_sent_again(page):
    etag = page.respond(request(), "theme.js").headers["etag"]
    with pytest.raises(NotModified):
        page.respond(request(if_none_match=etag), "theme.js")


@pytest.mark.parametrize(
    "address", ["assets", "assets/notes.py", "index.html", "assets/index-XoEw35jV.js.gz", "x", "."]
)
def test_only_files_of_the_page_are_served(page, address):
    with pytest.raises(NotFound):
        page.respond(request(), address)


def test_before_it_is_built_the_page_says_how_to_build_it(tmp_path):
    page = Page(title="T", directory=tmp_path / "page")
    assert b"make page" in page.respond(request(), "").body
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<title>x</title>built")
    assert b"built" in page.respond(request(), "").body
