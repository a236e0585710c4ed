"""A list of thousands of runs."""

from servers import a_server
from web.page_cost import PageCost
from web.waiting import settle, until

from pulseboard import SummaryWriter

CARD = "article.scalar canvas"


def test_of_two_thousand_runs_only_the_rows_in_view_are_rendered(pages, tmp_path):
    for number in range(2000):
        with SummaryWriter(tmp_path / "runs" / f"run-{number:04d}") as writer:
            writer.add_scalar("loss", number, 0)
    with a_server(tmp_path / "runs", tmp_path) as server:
        page = pages.open(server, "#scalars", wait=CARD)
        settle(page)
        assert page.locator("aside .count").inner_text() == "100 of 2,000 runs"
        assert page.locator("aside .row").count() < 80
        page.locator("aside .list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
        page.locator("aside .row", has_text="run-0000").wait_for()  # the newest come first
        # While scrolling through all of them, every frame shows rows and costs little.
        cost = PageCost(page)
        before = cost.processor_secs()
        frames = page.locator("aside .list").evaluate(
            """list => new Promise((done) => {
                const gaps = [];
                let count = 0;
                const box = list.getBoundingClientRect();
                const middle = [box.left + box.width / 2, box.top + box.height / 2];
                list.scrollTo(0, 0);
                const frame = () => {
                    count++;
                    const there = document.elementFromPoint(...middle)?.closest('.row');
                    if (count > 1 && !there) gaps.push(list.scrollTop);
                    list.scrollTop += 450;
                    if (list.scrollTop + list.clientHeight < list.scrollHeight - 1) requestAnimationFrame(frame);
                    else done({ count, gaps, rows: list.querySelectorAll('.row').length });
                };
                requestAnimationFrame(frame);
            })"""
        )
        assert frames["rows"] < 80
        assert frames["count"] > 100
        assert len(frames["gaps"]) <= 2, frames["gaps"]
        assert (cost.processor_secs() - before) / frames["count"] < 0.05
        assert cost.heap_mb() < 60
        # The filter works while typing.
        page.get_by_label("Filter runs by regular expression").fill("17.7$")
        until(page, "document.querySelector('aside .count').innerText.endsWith('of 10 runs')")
