"""The Health tab."""

import pytest
from log_directories import write_run
from servers import a_server
from web.charts import theme_color
from web.page_logs import write_gallery
from web.waiting import settle, until


def test_health_shows_the_worst_run_first_with_evidence_and_a_guide(pages, gallery):
    page = pages.open(gallery, "#health", wait=".run-health .badge.critical")
    settle(page)
    first = page.locator(".run-health").first
    assert "diverged" in first.inner_text()
    first.locator("figure canvas").first.wait_for()
    # Folded at first: the verdict and one chart.
    assert first.locator("article").count() == 0
    assert first.locator("figure").count() == 1
    first.get_by_text("Details:").click()
    assert first.locator("article").first.inner_text()
    first.get_by_role("button", name="Guide").first.click()
    dialog = page.get_by_role("dialog")
    dialog.locator("h2, h1").first.wait_for()
    page.keyboard.press("Escape")
    # The finding is on the card too.
    first.get_by_role("button", name="Curves").first.click()
    page.wait_for_selector("article.scalar canvas")
    page.locator("article.scalar .badge.critical").first.wait_for()


def test_a_finding_can_be_marked_as_expected_and_back(pages, tmp_path):
    with a_server(write_gallery(tmp_path / "runs", steps=300), tmp_path) as server:
        server.wait_until_diagnosed()
        page = pages.open(server, "#health&run=diverged", wait=".run-health article")
        settle(page)
        before = page.locator(".run-health").first.locator("article").count()
        page.locator(".run-health").first.get_by_role("button", name="Expected").first.click()
        until(
            page,
            "count => document.querySelector('.run-health').querySelectorAll('article').length < count",
            arg=before,
        )
        page.get_by_text("Marked as expected:").wait_for()
        page.get_by_title("Undo “expected”", exact=True).click()
        until(
            page,
            "count => document.querySelector('.run-health').querySelectorAll('article').length === count",
            arg=before,
        )


def test_the_page_opens_on_health_when_something_is_wrong(pages, gallery):
    page = pages.open(gallery, "", wait="nav")
    until(page, "location.hash.length > 1")
    assert page.url.split("#")[1].split("&")[0] == "health"


def test_the_verdict_says_what_since_when_at_what_cost_why_and_what_to_do(pages, gallery):
    page = pages.open(gallery, "#health", wait=".run-health .badge.critical")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    settle(page)
    reports = {run["run"]: run for run in gallery.api("diagnosis").json["runs"]}
    incident = reports["diverged"]["incidents"][0]
    verdict = page.get_by_label("Health of diverged").locator(".verdict")
    text = " ".join(verdict.inner_text().split())
    assert incident["headline"] in text
    assert f"{incident['cost']['value']:.0%} of the run" in text
    assert f"({incident['causes'][0]['probability']:.0%})" in text
    check = incident["next_check"]["do"]
    assert f"Next: {check.replace('`', '')}" in text
    # The check is a button; this one has nothing to draw, so it is copied.
    verdict.get_by_role("button", name="Next:").click()
    page.get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") in check


def test_every_run_counts_drawn_or_not_and_each_status_has_a_word(pages, tmp_path):
    logs = write_gallery(tmp_path / "runs", steps=300)
    write_run(logs / "short", (0, 2.0), (1, 1.9), tag="zzzz")
    with a_server(logs, tmp_path) as server:
        server.wait_until_diagnosed()
        page = pages.open(server, "#health", wait=".run-health")
        settle(page)
        statuses = [run["status"] for run in server.api("runs").json["runs"]]
        words = {"critical": "Critical", "warning": "Warning", "info": "Note", "ok": "Healthy"}
        words["unknown"] = "Not enough data"
        counts = [f"{statuses.count(status)} {word}" for status, word in words.items() if status in statuses]
        assert sorted(page.locator(".chips .badge").all_inner_texts()) == sorted(counts)
        assert page.locator(".run-health").count() == len(statuses)
        # Clearing every box on the left changes nothing here.
        page.get_by_label("Show diverged", exact=True).uncheck()
        settle(page)
        assert page.locator(".run-health").count() == len(statuses)
        # A run with too little to judge is gray, with its own shape and words.
        short = page.get_by_label("Health of short", exact=True)
        assert "Not enough data" in short.inner_text()
        assert "Too little was logged to judge this run" in short.inner_text()
        dots = page.locator(".row .status .dot")
        assert page.get_by_title("Not enough data: open in Health").count() == statuses.count("unknown")
        looks = dots.evaluate_all(
            """all => Object.fromEntries(all.map((dot) => {
                const style = getComputedStyle(dot);
                const shape = [style.width, style.height, style.borderRadius, style.clipPath].join();
                return [dot.className, [shape, style.backgroundColor]];
            }))"""
        )
        assert len({shape for shape, _ in looks.values()}) == len(set(statuses))
        (unknown,) = (color for name, (_, color) in looks.items() if "unknown" in name)
        assert unknown == theme_color(page, "dim")


def test_health_shows_causes_and_coverage_under_a_fold(pages, gallery):
    page = pages.open(gallery, "#health&run=diverged", wait=".run-health article")
    report = next(run for run in gallery.api("diagnosis").json["runs"] if run["run"] == "diverged")
    settle(page)
    first = page.locator(".run-health").first
    text = " ".join(first.inner_text().split())
    for heading in ("Likely causes", "Next:", "Look first", "What to try"):
        assert heading in text
    cause = first.locator(".causes li").first
    likely = report["causes"][0]["probability"]
    assert f"{likely:.0%}" in cause.inner_text()
    first_cause = report["incidents"][0]["causes"][0]
    assert first_cause["signs"]
    for sign in first_cause["signs"]:
        assert sign.replace("`", "") in " ".join(cause.inner_text().split())
    width = cause.locator(".track div").evaluate("bar => bar.offsetWidth / bar.parentElement.offsetWidth")
    assert width == pytest.approx(likely, abs=0.02)
    cause.locator("summary").click()
    assert cause.locator("details li").first.inner_text()
    # What did not run is one line, with what to log.
    coverage = report["coverage"]
    fold = first.locator(".coverage > summary")
    assert fold.inner_text() == f"{coverage['ran']} of {coverage['of']} checks ran"
    assert not first.locator(".enable").is_visible()
    fold.click()
    settle(page)
    assert first.locator(".enable code").all_inner_texts() == [one["log"] for one in coverage["enable"]]
    # The range of the finding is shaded on its small chart.
    figure = first.locator("figure canvas").first
    figure.wait_for()
    settle(page)
    red = figure.evaluate(
        """canvas => {
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            let count = 0;
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3] > 12 && data[i + 3] < 90 && data[i] > data[i + 1] + 60) count++;
            return count;
        }"""
    )
    assert red > 500
    # Filter by status, then show all runs again.
    page.locator(".chips .badge.critical").click()
    settle(page)
    assert page.locator(".run-health h2 .badge.ok").count() == 0
    page.get_by_role("button", name="All runs").click()
    until(page, "!location.hash.includes('run=')")


def test_a_limit_is_drawn_only_on_the_metric_it_limits(pages, gallery, study):
    def critical_pixels(server, run):
        page = pages.open(server, f"#health&run={run}", wait=".run-health .lead canvas")
        settle(page)
        assert page.locator(".run-health").first.locator("h2 .badge").first.inner_text() == "Warning"
        return page.locator(".run-health .lead canvas").first.evaluate(
            """(canvas, color) => {
                const wanted = color.match(/\\d+/g).map(Number);
                const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                let count = 0;
                for (let i = 0; i < data.length; i += 4)
                    if (data[i + 3] > 200 && wanted.every((value, k) => Math.abs(data[i + k] - value) < 12)) count++;
                return count;
            }""",
            theme_color(page, "critical"),
        )

    # The load of the busiest expert is compared with a load; the rise of the validation loss with a share.
    assert critical_pixels(study, "experts") > 50
    assert critical_pixels(gallery, "overfit") == 0


def test_an_exploding_run_is_drawn_on_a_logarithmic_axis(pages, tmp_path):
    logs = tmp_path / "runs"
    rising = [(step, 1 + step % 3 * 0.1 if step < 300 else 1.06 ** (step - 300)) for step in range(500)]
    write_run(logs / "exploded", *rising, tag="train/grad_norm")
    write_run(logs / "steady", *((step, 1 + step % 3 * 0.1) for step in range(500)), tag="train/grad_norm")
    with a_server(logs, tmp_path) as server:
        page = pages.open(server.wait_until_diagnosed(), "#health&run=exploded", wait=".run-health .lead canvas")
        settle(page)
        caption = page.get_by_label("Health of exploded", exact=True).locator(".lead figcaption")
        assert caption.inner_text() == "train/grad_norm, logarithmic"
