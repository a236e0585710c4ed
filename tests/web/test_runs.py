"""The list of runs at the left."""

import re

import pytest
from servers import a_server, wait_for
from web.page_logs import write_gallery
from web.waiting import until

CARD = "article.scalar canvas"


def drawn(page):
    return page.locator("aside[aria-label=Runs] .count").inner_text()


def names(page):
    return page.locator("aside[aria-label=Runs] .row .pick .name").all_inner_texts()


def test_every_run_is_listed_and_drawn(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    assert drawn(page) == "11 of 11 runs"
    assert "base-lr0.001-seed0" in names(page)


def test_a_filter_with_a_negative_look_ahead_leaves_runs_out(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    page.get_by_label("Filter runs by a regular expression").fill("^(?!.*base).*")
    until(page, "document.querySelectorAll('aside .row .pick').length === 5")
    assert not any("base" in name for name in names(page))
    assert "regexInput=" in page.url


def test_a_broken_expression_says_so_and_hides_nothing(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    page.get_by_label("Filter runs by a regular expression").fill("(")
    page.get_by_text("Not a regular expression").wait_for()
    assert len(names(page)) == 11


def test_a_run_is_switched_off_and_drawn_alone(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    page.get_by_label("Draw overfit", exact=True).click()
    until(page, "location.hash.includes('except=')")
    assert drawn(page) == "10 of 11 runs"
    page.locator(".row", has_text="diverged").hover()
    page.get_by_label("Draw only diverged").click()
    until(page, "location.hash.includes('runs=')")
    assert drawn(page) == "1 of 11 runs"


def test_shift_chooses_a_range(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    page.get_by_label("Draw all listed runs").click()
    page.get_by_label("Draw base-lr0.0003-seed0", exact=True).click()
    page.get_by_label("Draw base-lr0.0003-seed2", exact=True).click(modifiers=["Shift"])
    until(page, "document.querySelector('aside .count').innerText.startsWith('3 of')")


def test_the_tree_folds(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    page.get_by_label("Show runs as a tree").click()
    page.get_by_label("Close samples").click()
    page.get_by_label("Open samples").wait_for()
    assert "a" not in names(page)


def test_runs_are_grouped_by_seed_and_drawn_as_a_mean_with_a_band(look, gallery):
    page = look.at(gallery, "#scalars&groupRegex=%5E(base-lr.*)-seed", wait=CARD)
    page.locator(".folder", has_text="base-lr0.001").wait_for()
    card = page.locator("article[data-tag='train/loss']")
    card.locator(".legend li", has_text="base-lr0.001").wait_for()
    assert card.locator(".legend li").count() == 2


def test_columns_of_settings_and_metrics_are_shown_and_sort(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    page.get_by_label("Columns of settings and metrics").click()
    page.locator(".panel .item", has_text=re.compile("^ *lr$")).click()
    page.keyboard.press("Escape")
    row = page.locator(".row", has_text="diverged")
    assert "0.1" in row.locator(".cell").inner_text()
    page.get_by_title("Sort by lr").click()
    until(page, "location.hash.includes('sort=-column:lr')")
    assert names(page)[0] == "diverged"


@pytest.fixture
def own_server(tmp_path):
    """A server whose marks a test may change."""
    with a_server(write_gallery(tmp_path / "runs", steps=60), tmp_path) as server:
        yield server


def test_a_run_is_renamed_noted_tagged_and_hidden_for_everybody(look, own_server):
    page = look.at(own_server, "#scalars", wait=CARD)
    page.locator(".row", has_text="overfit").hover()
    page.get_by_label("More about overfit").click()
    page.locator(".panel input").first.fill("my favourite")
    page.locator(".panel input").first.blur()
    page.locator(".pick .name", has_text="my favourite").wait_for()
    page.locator(".panel textarea").fill("look at step 300")
    page.locator(".panel textarea").blur()
    wait_for(lambda: "note" in own_server.api("marks").json["marks"].get("overfit", {}))
    other = look.at(own_server, "#scalars", wait=CARD)
    row = other.locator(".row", has_text="my favourite")
    row.wait_for()
    assert "look at step 300" in row.locator(".run-name").get_attribute("title")
    row.hover()
    other.get_by_label("More about my favourite").click()
    other.get_by_text("Hide everywhere").click()
    other.get_by_text("1 hidden run").wait_for()
    page.get_by_text("1 hidden run").wait_for()  # the stream told the first page too


def test_colours_stay_with_runs(look, gallery):
    def colours(page):
        page.locator(".pick").first.wait_for()
        script = """Object.fromEntries([...document.querySelectorAll('.pick')].map((pick) => [
            pick.innerText.trim(), getComputedStyle(pick.querySelector('input')).borderColor]))"""
        return page.evaluate(script)

    everything = colours(look.at(gallery, "#scalars", wait=CARD))
    filtered = colours(look.at(gallery, "#scalars&regexInput=seed1", wait=CARD))
    assert len(set(everything.values())) == 11
    assert len(filtered) == 2
    assert filtered.items() <= everything.items()


def test_the_list_is_sorted_by_name_start_health_and_last_step(look, gallery):
    page = look.at(gallery, "#scalars", wait=CARD)
    page.get_by_label("Sort runs").click()

    def order(by):
        page.locator(".panel").get_by_role("button", name=by).click()
        page.wait_for_timeout(50)
        return names(page)

    assert order("Name")[0] == "samples/b"  # by name it was; again turns it round
    assert order("Name")[0] == "base-lr0.0003-seed0"
    assert order("Start")[0] == "samples/b"
    assert order("Start")[0] == "base-lr0.001-seed0"
    assert order("Last step")[-1].startswith("samples/")
    until(page, "document.querySelector('.dot.critical')", secs=60)
    assert order("Health")[0] == "diverged"
    until(page, "location.hash.includes('sort=-status')")


def test_runs_are_grouped_by_a_setting_and_a_group_is_chosen_as_a_whole(look, gallery):
    page = look.at(gallery, "#scalars&tagFilter=train/loss&smoothing=0", wait=CARD)
    page.get_by_label("Group runs").click()
    page.get_by_label("A setting's value").select_option("lr")
    group = page.locator(".folder", has_text="lr = 0.001")
    group.wait_for()
    until(page, "location.hash.includes('groupHparam=lr')")
    legend = page.locator("article[data-tag='train/loss'] .legend")
    legend.get_by_text("lr = 0.0003").first.wait_for()
    page.locator(".panel select").last.select_option("median-range")
    until(page, "location.hash.includes('statistic=median-range')")
    page.keyboard.press("Escape")
    before = drawn(page)
    group.get_by_role("checkbox").click()
    until(page, "before => document.querySelector('aside .count').innerText !== before", before)
    assert drawn(page) == "8 of 11 runs"
    page.get_by_label("Close lr = 0.001").click()
    assert "base-lr0.001-seed0" not in names(page)
    # No groups again: a curve a run.
    page.get_by_label("Group runs").click()
    page.get_by_role("button", name="No groups").click()
    page.locator(".folder").first.wait_for(state="detached")


def test_all_or_none_and_the_key_choose_every_listed_run(look, gallery):
    page = look.at(gallery, "#scalars&regexInput=seed", wait=CARD)
    page.get_by_label("Draw all listed runs").click()
    page.get_by_text("No run is chosen").first.wait_for()
    assert drawn(page) == "0 of 6 runs"
    page.keyboard.press("a")
    page.locator(CARD).first.wait_for()
    assert drawn(page) == "6 of 6 runs"


def test_marks_survive_answers_that_were_asked_for_before_them(look, own_server):
    held = []

    def slowly(route):
        """The first list of runs that is asked for after the rename comes when the note is written."""
        answer = route.fetch()
        if not held:
            held.append(answer)
            page.wait_for_timeout(1200)
        route.fulfill(response=answer)

    page = look.at(own_server, "#scalars", wait=CARD)
    page.locator(".row", has_text="overfit").hover()
    page.get_by_label("More about overfit").click()
    page.route("**/api/runs", slowly)
    # The row moves to the top of the list under its new name, and its menu stays open.
    page.locator(".panel input").first.fill("a first one")
    page.locator(".panel input").first.blur()
    page.locator(".panel input").nth(1).fill("best, keep")
    page.locator(".panel textarea").fill("look at step 300")
    page.locator(".panel textarea").blur()
    page.locator(".row .tag", has_text="best +1").wait_for()
    page.wait_for_timeout(1500)
    assert names(page)[0] == "a first one"
    marks = own_server.api("marks").json["marks"]["overfit"]
    assert marks == {"name": "a first one", "tags": ["best", "keep"], "note": "look at step 300"}
    page.locator(".panel input[type=color]").fill("#ff0000")
    until(page, "getComputedStyle(document.querySelector('.pick input')).borderColor === 'rgb(255, 0, 0)'")
    page.get_by_text("Hide everywhere").click()
    page.get_by_text("1 hidden run").click()
    page.locator(".hidden-run").get_by_role("button", name="Show").click()
    page.locator(".row", has_text="a first one").wait_for()
    page.get_by_label("Filter runs by a regular expression").fill("tag:keep")
    until(page, "document.querySelectorAll('aside .row .pick').length === 1")
    assert names(page) == ["a first one"]
