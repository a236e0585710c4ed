"""Cards of the user's own, text blocks, and views saved on the server."""

import json

import pytest
from servers import a_server
from web.charts import card
from web.page_logs import write_study
from web.waiting import settle, until

CARD = "article.scalar canvas"


@pytest.fixture
def own_server(tmp_path):
    """A server whose saved views a test may change."""
    with a_server(write_study(tmp_path / "runs"), tmp_path) as server:
        yield server


def menu(page, title):
    page.get_by_label(f"Save or overlay {title}").first.click()
    return page.locator(".panel")


def panels(page):
    return page.evaluate(
        """JSON.parse(new URLSearchParams(location.hash.slice(1)).get('panels')
            ?? new URLSearchParams(location.hash.slice(1)).get('overlays') ?? '[]')"""
    )


def test_a_card_has_its_own_tags_axis_groups_title_and_place(pages, study):
    page = pages.open(study, "#scalars&regexInput=alone&smoothing=0&tagFilter=^(count|sawtooth)$", wait=CARD)
    menu(page, "count").get_by_role("button", name="Create a custom card").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Add a tag or an expression").fill("sawtooth")
    dialog.get_by_role("button", name="Add").click()
    dialog.get_by_label("Title").fill("Mine")
    dialog.get_by_label("Title").blur()
    dialog.get_by_label("Horizontal axis").select_option("relative")
    dialog.get_by_label("Groups").select_option("regex")
    dialog.get_by_label("Regular expression").fill("(al)")
    dialog.get_by_label("Regular expression").blur()
    page.keyboard.press("Escape")
    own = {
        "tags": ["count", "sawtooth"],
        "title": "Mine",
        "x": "relative",
        "groupBy": {"kind": "regex", "value": "(al)"},
    }
    settle(page)
    assert panels(page) == [own]
    mine = page.locator("section[aria-label='Pinned cards'] article")
    assert mine.locator("h3").inner_text() == "Mine"
    assert sorted(mine.locator(".legend li").all_inner_texts()[0].split()[:1]) == ["al"]
    assert mine.locator(".legend li").count() == 2
    # The other cards are as they were.
    assert page.locator("article[data-tag='count'] .legend li").first.inner_text().startswith("alone")
    # A second card goes in front of it.
    page.get_by_role("button", name="Overlay", exact=True).click()
    page.get_by_label("Draw an expression over tags").fill("count * 2")
    page.get_by_role("button", name="Draw", exact=True).click()
    menu(page, "count * 2").get_by_role("button", name="Move to the front").click()
    until(page, "JSON.parse(new URLSearchParams(location.hash.slice(1)).get('panels'))[0].tags[0] === '=count * 2'")
    assert mine.first.locator("h3").inner_text() == "count * 2"
    # A link has them all.
    other = pages.open(study, "#" + page.url.split("#")[1], wait=CARD)
    settle(other)
    assert other.locator("section[aria-label='Pinned cards'] article h3").all_inner_texts() == ["count * 2", "Mine"]


def test_text_blocks_are_rendered_saved_in_the_link_and_part_of_the_report(pages, study, tmp_path):
    page = pages.open(study, "#scalars&regexInput=alone&tagFilter=count", wait=CARD, accept_downloads=True)
    page.get_by_role("button", name="Overlay", exact=True).click()
    page.get_by_role("button", name="Add a text block").click()
    page.get_by_label("Text in Markdown").fill("# Result\n\nIt **works** <script>alert(1)</script>")
    page.get_by_role("button", name="Done").click()
    block = page.get_by_label("Text block")
    block.locator("h1", has_text="Result").wait_for()
    assert block.locator("strong").inner_text() == "works"
    assert panels(page)[0]["text"].startswith("# Result")
    for tab in ("scalars", "system"):  # a report of another tab begins with the text
        page.evaluate("tab => location.hash = location.hash.replace(/^#[a-z]+/, '#' + tab)", tab)
        settle(page)
        with page.expect_download() as saved:
            page.get_by_label("Save this view as an HTML file").click()
        html = saved.value.path().read_text()
        assert html.count(">Result</h1>") == 1, tab
        assert "<strong>works</strong>" in html, tab
        assert "<script" not in html, tab


def test_views_are_saved_by_name_for_everyone_and_as_a_file(pages, own_server, tmp_path):
    page = pages.open(own_server, "#scalars&regexInput=alone&smoothing=0.3&tagFilter=count", wait=CARD)
    settle(page)
    page.get_by_label("Saved views").click()
    page.get_by_label("Name of this view").fill("counting")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".panel .item", has_text="counting").wait_for()
    (view,) = own_server.api("views").json["views"]
    assert (view["name"], "smoothing=0.3" in view["hash"]) == ("counting", True)
    # Someone else opens it. What they prefer stays theirs.
    other = pages.open(own_server, "#scalars&regexInput=experts", wait=CARD)
    other.keyboard.press("l")
    until(other, "location.hash.includes('logY=1')")
    settle(other)
    other.get_by_label("Saved views").click()
    other.locator(".panel").get_by_role("button", name="counting", exact=True).click()
    until(other, "location.hash.includes('smoothing=0.3') && location.hash.includes('regexInput=alone')")
    card(other, "count")
    settle(other)
    remembered = other.evaluate("JSON.parse(localStorage.getItem('pulseboard.settings')).view")
    assert (remembered["smoothing"], remembered["logY"]) == (0.6, True)
    # A file moves views to another server.
    page.get_by_label("Remove the view counting").click()
    page.get_by_text("None yet.").wait_for()
    file = tmp_path / "views.json"
    file.write_text(json.dumps({"views": [view]}))
    page.locator(".panel input[type=file]").set_input_files(file)
    page.locator(".panel .item", has_text="counting").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save all as a file").click()
    assert [one["hash"] for one in json.loads(saved.value.path().read_text())["views"]] == [view["hash"]]
