"""Names of runs and tags that look like code, are very long, or end alike."""

from servers import a_server
from web.charts import card, hover
from web.every_tab import TABS
from web.page_logs import HOSTILE_NAMES, HOSTILE_TAGS
from web.waiting import settle

from pulseboard import SummaryWriter

CARD = "article.scalar canvas"


def test_names_that_look_like_code_are_shown_as_text(pages, hostile):
    page = pages.open(hostile, "#scalars", wait=CARD)
    settle(page)
    listed = page.locator("aside .pick .name").all_inner_texts()
    assert HOSTILE_NAMES[0] in listed
    assert HOSTILE_NAMES[2] in listed
    tags = page.locator("article.scalar").evaluate_all("cards => cards.map(card => card.dataset.tag)")
    assert set(HOSTILE_TAGS) <= set(tags)
    for tab in TABS:
        page.evaluate("tab => location.hash = tab", tab)
        settle(page)
    page.get_by_label("Show " + HOSTILE_NAMES[1], exact=True).click()
    settle(page)
    page.reload()
    page.wait_for_selector("aside .pick")
    settle(page)
    assert not page.get_by_label("Show " + HOSTILE_NAMES[1], exact=True).is_checked()


def test_very_long_tags_and_names_stay_within_their_card(pages, hostile):
    page = pages.open(hostile, "#scalars", wait=CARD)
    long = HOSTILE_TAGS[3]
    assert len(long) == 500
    card = page.locator(f"article[data-tag='{long}']")
    card.scroll_into_view_if_needed()
    card.locator("canvas").wait_for()
    settle(page)
    box = card.bounding_box()
    for part in ("h3", "header button >> nth=-1", ".legend"):
        inner = card.locator(part).first.bounding_box()
        assert inner["x"] >= box["x"]
        assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1, part
    assert card.locator("h3").get_attribute("title") == long
    # Pinned and at full size, also after a reload.
    card.get_by_label("Pin ").click()
    pinned = page.get_by_role("region", name="Pinned cards")
    pinned.scroll_into_view_if_needed()
    pinned.locator("canvas").wait_for()
    pinned.get_by_label("Full size").click()
    page.get_by_role("dialog").locator("canvas").wait_for()
    page.reload()
    page.get_by_role("dialog").locator("canvas").wait_for()
    assert page.get_by_role("dialog").bounding_box()["width"] <= 1440
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    settle(page)
    wide = page.evaluate("document.getElementById('main').scrollWidth - document.getElementById('main').clientWidth")
    assert wide <= 1


def test_names_that_end_alike_differ_where_space_is_narrow(pages, tmp_path):
    names = [f"run_{day}-the_long_id_of_a_sweep" for day in range(3)]
    for name in names:
        with SummaryWriter(tmp_path / "runs" / name) as writer:
            writer.add_scalar("score", 1.0, 0)
            for step in range(5):
                writer.add_scalar("loss", 1.0 / (step + 1), step)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        short = sorted(f"run_{day}-…" for day in range(3))
        for tag, places in (("loss", ".legend .run-name"), ("score", "ul.single .run-name")):
            shown = card(page, tag).locator(places)
            assert sorted(shown.all_inner_texts()) == short, tag
            assert sorted(shown.evaluate_all("all => all.map((name) => name.title)")) == names
            assert shown.evaluate_all("all => all.every((name) => name.scrollWidth <= name.clientWidth)"), tag
        rows = hover(page, "loss").locator("tbody .run-name")
        assert sorted(rows.all_inner_texts()) == short
