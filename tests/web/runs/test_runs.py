"""The run list."""

import re
from itertools import pairwise

import pytest
from log_directories import write_run
from servers import a_server, wait_for
from web.charts import hover
from web.page_logs import write_gallery
from web.waiting import settle, until

import pulseboard as pb
from pulseboard.rundir.run_file import RunFileWriter

CARD = "article.scalar canvas"


def shown_count(page):
    settle(page)
    return page.locator("aside[aria-label=Runs] .count").inner_text()


def names(page):
    settle(page)
    return page.locator("aside[aria-label=Runs] .row .pick .name").all_inner_texts()


def test_every_run_is_listed_and_shown(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    assert shown_count(page) == "11 of 11 runs"
    assert "base-lr0.001-seed0" in names(page)


def test_a_filter_with_a_negative_lookahead_excludes_runs(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_label("Filter runs by regular expression").fill("^(?!.*base).*")
    until(page, "document.querySelectorAll('aside .row .pick').length === 5")
    assert not any("base" in name for name in names(page))
    assert "regexInput=" in page.url


def test_an_invalid_expression_is_reported_and_hides_nothing(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_label("Filter runs by regular expression").fill("(")
    page.get_by_text("Invalid regular expression").wait_for()
    assert len(names(page)) == 11


def test_a_run_can_be_hidden_or_shown_alone(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_label("Show overfit", exact=True).click()
    until(page, "location.hash.includes('except=')")
    assert shown_count(page) == "10 of 11 runs"
    page.locator(".row", has_text="diverged").hover()
    page.get_by_label("Show only diverged").click()
    until(page, "location.hash.includes('runs=')")
    assert shown_count(page) == "1 of 11 runs"


def test_shift_selects_a_range(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_label("Show all listed runs").click()
    page.get_by_label("Show base-lr0.0003-seed0", exact=True).click()
    page.get_by_label("Show base-lr0.0003-seed2", exact=True).click(modifiers=["Shift"])
    until(page, "document.querySelector('aside .count').innerText.startsWith('3 of')")


def test_folders_of_the_tree_can_be_closed(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_label("Show runs as a tree").click()
    page.get_by_label("Close samples").click()
    page.get_by_label("Open samples").wait_for()
    assert "a" not in names(page)


def test_runs_grouped_by_seed_are_drawn_as_a_mean_with_a_band(pages, gallery):
    page = pages.open(gallery, "#scalars&groupRegex=%5E(base-lr.*)-seed", wait=CARD)
    page.locator(".folder", has_text="base-lr0.001").wait_for()
    card = page.locator("article[data-tag='train/loss']")
    card.locator(".legend li", has_text="base-lr0.001").wait_for()
    settle(page)
    assert card.locator(".legend li").count() == 2


def test_columns_show_settings_and_metrics_and_sort_the_runs(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
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
    """A server with marks that a test may change."""
    with a_server(write_gallery(tmp_path / "runs", steps=60), tmp_path) as server:
        yield server.wait_until_diagnosed()


def test_names_notes_and_hiding_apply_to_everyone(pages, own_server):
    page = pages.open(own_server, "#scalars", wait=CARD)
    page.locator(".row", has_text="overfit").hover()
    page.get_by_label("Menu of overfit").click()
    page.locator(".panel input").first.fill("my favorite")
    page.locator(".panel input").first.blur()
    page.locator(".pick .name", has_text="my favorite").wait_for()
    page.locator(".panel textarea").fill("look at step 300")
    page.locator(".panel textarea").blur()
    wait_for(lambda: "note" in own_server.api("marks").json["marks"].get("overfit", {}))
    other = pages.open(own_server, "#scalars", wait=CARD)
    row = other.locator(".row", has_text="my favorite")
    row.wait_for()
    assert "look at step 300" in row.locator(".run-name").get_attribute("title")
    row.hover()
    other.get_by_label("Menu of my favorite").click()
    other.get_by_text("Hide for everyone").click()
    other.get_by_text("1 hidden run").wait_for()
    page.get_by_text("1 hidden run").wait_for()  # the first page was notified too


def test_runs_keep_their_colors_when_filtered(pages, gallery):
    def colors(page):
        settle(page)
        script = """Object.fromEntries([...document.querySelectorAll('.pick')].map((pick) => [
            pick.innerText.trim(), getComputedStyle(pick.querySelector('input')).borderColor]))"""
        return page.evaluate(script)

    everything = colors(pages.open(gallery, "#scalars", wait=CARD))
    filtered = colors(pages.open(gallery, "#scalars&regexInput=seed1", wait=CARD))
    assert len(set(everything.values())) == 11
    assert len(filtered) == 2
    assert filtered.items() <= everything.items()


def test_the_list_can_be_sorted_by_name_start_health_and_last_step(pages, gallery):
    page = pages.open(gallery, "#scalars", wait=CARD)
    page.get_by_label("Sort runs").click()

    def order(by):
        page.locator(".panel").get_by_role("button", name=by).click()
        settle(page)
        return names(page)

    assert names(page)[0] == "samples/b"  # the newest first
    assert order("Name")[0] == "base-lr0.0003-seed0"
    assert order("Name")[0] == "samples/b"
    assert order("Start time")[0] == "samples/b"
    assert order("Start time")[0] == "base-lr0.001-seed0"
    assert order("Last step")[-1].startswith("samples/")
    until(page, "document.querySelector('.dot.critical')")
    assert order("Health")[0] == "diverged"
    until(page, "location.hash.includes('sort=-status')")


def test_runs_are_grouped_by_a_setting_and_a_group_is_selected_as_a_whole(pages, gallery):
    page = pages.open(gallery, "#scalars&tagFilter=train/loss&smoothing=0", wait=CARD)
    page.get_by_label("Group runs").click()
    page.get_by_label("Value of a setting").select_option("lr")
    group = page.locator(".folder", has_text="lr = 0.001")
    group.wait_for()
    until(page, "location.hash.includes('groupHparam=lr')")
    legend = page.locator("article[data-tag='train/loss'] .legend")
    legend.get_by_text("lr = 0.0003").first.wait_for()
    page.locator(".panel select").last.select_option("median-range")
    until(page, "location.hash.includes('statistic=median-range')")
    page.keyboard.press("Escape")
    before = shown_count(page)
    group.get_by_role("checkbox").click()
    until(page, "before => document.querySelector('aside .count').innerText !== before", before)
    assert shown_count(page) == "8 of 11 runs"
    page.get_by_label("Close lr = 0.001").click()
    assert "base-lr0.001-seed0" not in names(page)
    # Without groups there is one curve per run again.
    page.get_by_label("Group runs").click()
    page.get_by_role("button", name="No groups").click()
    page.locator(".folder").first.wait_for(state="detached")


def test_the_checkbox_and_the_key_select_every_listed_run(pages, gallery):
    page = pages.open(gallery, "#scalars&regexInput=seed", wait=CARD)
    page.get_by_label("Show all listed runs").click()
    page.get_by_text("No runs selected").first.wait_for()
    assert shown_count(page) == "0 of 6 runs"
    page.keyboard.press("a")
    page.locator(CARD).first.wait_for()
    assert shown_count(page) == "6 of 6 runs"


def test_marks_survive_responses_to_earlier_requests(pages, own_server):
    delayed = []

    def delay_first(route):
        """Delay the first list of runs after the rename until the note has been written."""
        response = route.fetch()
        if not delayed:
            delayed.append(response)
            while "note" not in own_server.api("marks").json["marks"].get("overfit", {}):
                page.wait_for_timeout(20)
        route.fulfill(response=response)

    page = pages.open(own_server, "#scalars&sort=name", wait=CARD)
    page.locator(".row", has_text="overfit").hover()
    page.get_by_label("Menu of overfit").click()
    page.route("**/api/runs", delay_first)
    # The new name moves the row to the top of the list, and its menu stays open.
    page.locator(".panel input").first.fill("a first one")
    page.locator(".panel input").first.blur()
    page.locator(".panel input").nth(1).fill("best, keep")
    page.locator(".panel textarea").fill("look at step 300")
    page.locator(".panel textarea").blur()
    page.locator(".row .tag", has_text="best +1").wait_for()
    settle(page)
    page.unroute_all(behavior="wait")
    assert names(page)[0] == "a first one"
    marks = own_server.api("marks").json["marks"]["overfit"]
    assert marks == {"name": "a first one", "tags": ["best", "keep"], "note": "look at step 300"}
    page.locator(".panel input[type=color]").fill("#ff0000")
    until(page, "getComputedStyle(document.querySelector('.pick input')).borderColor === 'rgb(255, 0, 0)'")
    page.get_by_text("Hide for everyone").click()
    page.get_by_text("1 hidden run").click()
    page.locator(".hidden-run").get_by_role("button", name="Show").click()
    page.locator(".row", has_text="a first one").wait_for()
    page.get_by_label("Filter runs by regular expression").fill("tag:keep")
    until(page, "document.querySelectorAll('aside .row .pick').length === 1")
    assert names(page) == ["a first one"]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """210 new runs and 20 old ones, which are not among the newest."""
    home = tmp_path_factory.mktemp("many")
    for number in range(230):
        kind, start = ("old", 1_000.0) if number < 20 else ("new", 1_000_000.0)
        points = ((step, float(number + step)) for step in range(3))
        write_run(home / "runs" / f"{kind}-{number:03d}", *points, tag="loss", wall_time=start)
    with a_server(home / "runs", home) as server:
        yield server


def test_a_filter_draws_what_it_keeps_of_very_many_runs(pages, many):
    page = pages.open(many, "#scalars&regexInput=old", wait="article.scalar canvas")
    settle(page)
    assert page.locator("aside .count").inner_text() == "20 of 20 runs"
    # The newest are shown again without the filter, and the address names none of them.
    page.get_by_label("Filter runs by regular expression").fill("")
    until(page, "document.querySelector('aside .count').innerText === '100 of 230 runs'")
    settle(page)
    assert "new-" not in page.url
    assert page.get_by_text("Only the 100 newest of 230 runs are shown.").count() == 1


def test_of_very_many_runs_a_choice_starts_from_what_is_drawn(pages, many):
    page = pages.open(many, "#scalars&regexInput=old", wait="article.scalar canvas")
    page.get_by_label("Show old-003", exact=True).uncheck()
    until(page, "document.querySelector('aside .count').innerText === '19 of 20 runs'")
    page.get_by_label("Filter runs by regular expression").fill("")
    until(page, "document.querySelector('aside .count').innerText === '19 of 230 runs'")


def test_smoothing_also_smooths_groups(pages, gallery):
    def roughness(smoothing):
        """How much the value in the tooltip changes from place to place."""
        group = "#scalars&groupRegex=%5E(base-lr0.001)-seed&tagFilter=train/loss"
        page = pages.open(gallery, f"{group}&smoothing={smoothing}", wait=CARD)
        values = []
        for i in range(10):
            tip = hover(page, "train/loss", across=0.5 + i / 100)
            values.append(float(tip.locator("tbody .right").first.inner_text().split()[0]))
        return sum(abs(b - a) for a, b in pairwise(values))

    assert roughness(0.95) < 0.5 * roughness(0.05)


def test_shift_and_a_click_on_a_name_select_the_runs_in_between(pages, gallery):
    page = pages.open(gallery, "#scalars&regexInput=seed", wait=CARD)
    rows = page.locator("aside[aria-label=Runs] .row .pick .name")
    rows.nth(1).click()
    rows.nth(4).click(modifiers=["Shift"])
    until(page, "document.querySelector('aside .count').innerText === '2 of 6 runs'")
    assert page.evaluate("getSelection().toString()") == ""
    rows.nth(1).click()
    until(page, "document.querySelector('aside .count').innerText === '3 of 6 runs'")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_twenty_runs_out_of_many_have_twenty_colors(pages, tmp_path, theme):
    for i in range(60):
        write_run(tmp_path / "runs" / f"ppo-{i:02}", (0, 1.0), (1, 2.0))
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars&regexInput=ppo-[24]", wait=CARD, theme=theme)
        until(page, "document.querySelector('aside .count').innerText === '20 of 20 runs'")
        settle(page)
        boxes = page.locator("aside[aria-label=Runs] .row .box")
        colors = boxes.evaluate_all("all => all.map((box) => getComputedStyle(box).borderColor)")
        assert len(set(colors)) == len(colors) == 20


def test_the_state_of_a_run_is_next_to_its_name(pages, tmp_path):
    for state in ("finished", "failed"):
        with pb.init(dir=tmp_path / "runs", run_id=state, report_to="tensorboard", telemetry_secs=0) as run:
            run.log({"loss": 1.0}, step=0)
    RunFileWriter(tmp_path / "runs" / "failed").update(status="failed")
    write_run(tmp_path / "runs" / "growing", (0, 1.0), (1, 2.0))
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        states = {
            name: page.locator(".row", has=page.get_by_label(f"Show {name}", exact=True)).locator(".state")
            for name in ("finished", "failed", "growing")
        }
        assert {name: state.get_attribute("aria-label") for name, state in states.items()} == {
            "finished": "finished",
            "failed": "failed",
            "growing": "running",
        }
        assert states["failed"].inner_text() == "failed"


def test_a_run_that_ends_without_another_point_is_no_longer_running(pages, tmp_path):
    active = pb.init(dir=tmp_path / "runs", run_id="one", report_to="tensorboard", telemetry_secs=0)
    active.log({"loss": 1.0}, step=0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        page.locator(".row .state[aria-label=running]").wait_for()
        active.finish()
        page.locator(".row .state[aria-label=finished]").wait_for(state="attached")


def test_the_newest_run_is_first_names_leave_out_what_all_share_and_a_fork_continues_its_parent(pages, tmp_path):
    directory = tmp_path / "runs/exp/7"
    options = {"dir": directory, "report_to": "tensorboard", "telemetry_secs": 0}
    with pb.init(run_id="z-parent", **options) as parent:
        for step in range(100):
            parent.log({"loss": 100.0 + step}, step=step)
    with pb.init(run_id="a-child", fork_from=parent, step=49, **options) as child:
        for step in range(50, 60):
            child.log({"loss": 7.0}, step=step)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars&smoothing=0&steps=20", wait=CARD)
        settle(page)
        assert names(page) == ["a-child", "z-parent"]
        assert page.locator(".prefix").inner_text() == "in exp/7/"
        row = page.locator(".row", has_text="a-child")
        assert "fork" in row.inner_text()
        assert "forked from exp/7/z-parent after step 49" in row.locator(".run-name").get_attribute("title")
        # Before the fork it has its parent's values, and then its own.
        cells = page.locator(".steps tbody tr", has_text="a-child").locator("td")
        assert cells.nth(1).inner_text() == "120"
        page.get_by_label("Selected step", exact=True).fill("55")
        page.get_by_label("Selected step", exact=True).press("Enter")
        until(page, "document.querySelector('.steps tbody').innerText.includes('155')")
        assert cells.nth(1).inner_text() == "7"
