"""What diagnosis and the profile say, on the cards of Scalars and in Health."""

import pytest
from servers import wait_for
from web.charts import card, faint_pixels
from web.waiting import until

CARD = "article.scalar canvas"
HEALTHY, WARNING, CRITICAL = "rgb(44, 138, 87)", "rgb(178, 106, 0)", "rgb(198, 47, 59)"
IMBALANCE = "#scalars&regexInput=experts&tagFilter=load_imbalance&smoothing=0"


@pytest.fixture
def diagnosed(study):
    """The study, once every run has its report."""
    if not study.api("status").json["findings"]:
        pytest.skip("The diagnosis is not installed")
    wait_for(lambda: not study.api("diagnosis").json["pending"], secs=60)
    return study


def test_a_hover_card_says_what_a_metric_means_and_what_would_be_wrong(look, diagnosed):
    page = look.at(diagnosed, IMBALANCE, wait=CARD)
    said = diagnosed.api("meaning?tag=moe/load_imbalance").json
    page.get_by_label("What moe/load_imbalance means").hover()
    meaning = page.get_by_role("tooltip")
    meaning.wait_for()
    text = meaning.inner_text()
    assert said["meaning"] in text
    assert f"Expected. {said['expected']}" in text
    for sign in said["warning_signs"]:
        assert sign in text
    assert "healthy: 1 to 2" in " ".join(text.split())
    assert "critical: above 3" in " ".join(text.split())
    box = meaning.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1440
    page.mouse.move(5, 5)
    meaning.wait_for(state="detached")
    # By keys too.
    page.get_by_label("What moe/load_imbalance means").focus()
    page.get_by_role("tooltip").wait_for()


def test_the_profiles_bands_and_a_findings_stretch_are_drawn_and_can_be_switched_off(look, diagnosed):
    page = look.at(diagnosed, IMBALANCE, wait=CARD)
    page.locator("article.scalar .badge.warning, article.scalar .badge.critical").first.wait_for()
    card(page, "moe/load_imbalance")

    def shaded():
        page.wait_for_timeout(300)
        return [faint_pixels(page, "moe/load_imbalance", colour) for colour in (HEALTHY, WARNING, CRITICAL)]

    healthy, warning, critical = shaded()
    assert warning > 1000  # the stretch of what diagnosis found
    assert max(healthy, critical) < 300  # no bands unless asked for
    page.keyboard.press("s")
    page.get_by_label("Shade findings").uncheck()
    assert max(shaded()) < 300
    page.get_by_label("Healthy and warning bands").check()
    assert min(shaded()) > 1000
    assert "bands=1" in page.url
    assert "findings=0" in page.url


def test_the_badge_of_a_card_leads_to_the_finding_and_its_curves_lead_back(look, diagnosed):
    page = look.at(diagnosed, IMBALANCE, wait=CARD)
    page.locator("article.scalar button.badge").first.click()
    until(page, "location.hash.startsWith('#health') && location.hash.includes('run=experts')")
    finding = page.locator(".patient article").first
    finding.locator("figure canvas").first.wait_for()
    finding.get_by_role("button", name="Curves").click()
    until(page, "location.hash.startsWith('#scalars')")
    page.locator("article.scalar canvas").first.wait_for()


def test_health_has_causes_the_next_check_what_was_not_checked_and_the_line_that_logs_it(look, gallery):
    if not gallery.api("status").json["findings"]:
        pytest.skip("The diagnosis is not installed")
    wait_for(lambda: not gallery.api("diagnosis").json["pending"], secs=60)
    page = look.at(gallery, "#health&run=diverged", wait=".patient article")
    report = next(run for run in gallery.api("diagnosis").json["runs"] if run["run"] == "diverged")
    first = page.locator(".patient").first
    text = " ".join(first.inner_text().split())
    for heading in ("Likely causes", "Next check", "Not checked", "Look first", "What to try"):
        assert heading in text
    cause = first.locator(".causes li").first
    likely = report["causes"][0]["probability"]
    assert f"{likely:.0%}" in cause.inner_text()
    width = cause.locator(".track div").evaluate("bar => bar.offsetWidth / bar.parentElement.offsetWidth")
    assert width == pytest.approx(likely, abs=0.02)
    cause.locator("summary").click()
    assert cause.locator("details li").first.inner_text()
    assert first.locator(".unchecked code").first.inner_text() == next(
        one["log"] for one in report["not_checked"] if one["log"]
    )
    # The stretch of the finding is shaded on its small chart.
    figure = first.locator("figure canvas").first
    figure.wait_for()
    page.wait_for_timeout(300)
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
    # By status, and everything again.
    page.locator(".chips .badge.critical").click()
    assert page.locator(".patient .head .badge.ok").count() == 0
    page.get_by_role("button", name="All runs").click()
    until(page, "!location.hash.includes('run=')")


def test_a_dot_of_the_list_leads_to_the_runs_health(look, diagnosed):
    page = look.at(diagnosed, "#scalars", wait=CARD)
    page.get_by_label("Health of experts:").click()
    until(page, "location.hash.startsWith('#health') && location.hash.includes('run=experts')")
    assert "experts" in page.locator(".patient").first.inner_text()
    assert page.get_by_label("Health of alone: healthy").count() == 1
