"""The Alerts tab: rules and destinations are added, changed, tested and removed; addresses never come back."""

import pytest
from alerts.webhook import Webhook
from log_directories import write_run
from servers import a_server, start_server
from web.waiting import settle, until

FILE = """\
# Rules of our team.
[[destination]]
name = "team"
webhook = "{url}"  # our channel

[[rule]]
severity = "critical"  # nights are long
"""


@pytest.fixture
def webhook():
    made = Webhook()
    yield made
    made.close()


@pytest.fixture
def alerts(tmp_path, webhook):
    logs = tmp_path / "runs"
    write_run(logs / "broken", *((step, float("nan") if step > 50 else 1.0) for step in range(200)))
    rules = tmp_path / "alerts.toml"
    rules.write_text(FILE.format(url=webhook.url), encoding="utf-8")
    with a_server(logs, tmp_path, "--alerts", str(rules)) as server:
        yield server.wait_until_diagnosed()


def test_a_rule_is_added_changed_tried_and_removed(pages, alerts, tmp_path):
    file = tmp_path / "alerts.toml"
    before = file.read_text()
    page = pages.open(alerts, "#alerts", wait="section")
    rules = page.get_by_role("region", name="Rules").get_by_role("listitem")
    assert rules.all_inner_texts()[0].split("\n")[0] == "Critical of all runs to every destination"
    page.get_by_role("button", name="Add a rule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Severity").select_option("warning")
    dialog.get_by_label("Runs whose names").fill("(")
    dialog.get_by_role("button", name="Save").click()
    assert "regular expression" in dialog.get_by_role("alert").inner_text()
    dialog.get_by_label("Runs whose names").fill("^bro")
    dialog.get_by_label("Add a finding").fill("loss-nan")
    dialog.get_by_role("button", name="Add", exact=True).click()
    dialog.get_by_role("button", name="What does it match now?").click()
    dialog.get_by_role("status").wait_for()
    settle(page)
    assert "1 run with 1 such problem" in dialog.get_by_role("status").inner_text()
    assert "broken" in dialog.get_by_role("status").inner_text()
    dialog.get_by_label("team").check()
    dialog.get_by_label("Quiet hours").fill("22:00-07:00")
    dialog.get_by_label("Also if nothing").fill("900")
    dialog.get_by_label("Also when a recorded run ends").check()
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    settle(page)
    assert rules.nth(1).locator(".text").inner_text() == (
        "Warning and worse, only loss NaN of runs that match ^bro to team; "
        "also if nothing is logged for 15m; also when a run ends; quiet from 22:00 to 07:00"
    )
    assert file.read_text().startswith(before)
    assert 'runs = "^bro"' in file.read_text()
    # Changed after a reload: the dialog has what the file says.
    page.reload()
    page.get_by_role("button", name="Edit rule 2").click()
    assert dialog.get_by_label("Quiet hours").input_value() == "22:00-07:00"
    assert dialog.get_by_label("Also if nothing").input_value() == "900"
    dialog.get_by_label("Quiet hours").fill("")
    dialog.get_by_label("Also if nothing").fill("")
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    assert "quiet" not in file.read_text()
    assert "stalled_secs" not in file.read_text()
    # Removed after a second click.
    page.get_by_role("button", name="Remove rule 2").click()
    assert "loss-nan" in file.read_text()
    page.get_by_role("button", name="Remove it").click()
    until(page, "document.querySelectorAll('section[aria-label=Rules] li').length === 1")
    assert file.read_text() == before


def test_a_destination_is_tested_and_its_address_stays_on_the_server(pages, alerts, webhook, tmp_path):
    bodies = []
    page = pages.open(alerts, "#alerts", wait="section")
    page.on("response", lambda response: "/api/alerts" in response.url and bodies.append(response.text()))
    page.reload()
    page.get_by_role("button", name="Send a test").click()
    page.get_by_text("A test message was sent to team.").wait_for()
    assert "test" in [event for event, _ in webhook.events()]
    page.get_by_role("button", name="Edit team").click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_label("Address").input_value() == ""
    assert dialog.get_by_label("Address").get_attribute("type") == "password"
    dialog.get_by_label("Name").fill("crew")
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    settle(page)
    assert f'name = "crew"\nwebhook = "{webhook.url}"  # our channel' in (tmp_path / "alerts.toml").read_text()
    page.get_by_role("button", name="Add a destination").click()
    dialog.get_by_label("Name").fill("pager")
    dialog.get_by_label("Kind").select_option("webhook")
    dialog.get_by_label("Address").fill("ftp://example.com")
    dialog.get_by_role("button", name="Save").click()
    assert "must start with http" in dialog.get_by_role("alert").inner_text()
    assert bodies
    assert not any("/hook" in body for body in bodies)


def test_who_may_only_look_sees_rules_without_buttons(pages, tmp_path):
    write_run(tmp_path / "runs/a")
    rules = tmp_path / "alerts.toml"
    rules.write_text(FILE.format(url="http://localhost:9/hook"), encoding="utf-8")
    token = "read-has-a-long-token"
    options = ("--port", "0", "--alerts", str(rules), "--read_token", token)
    server = start_server(tmp_path / "runs", *options, home=tmp_path)
    try:
        page = pages.open(server, f"?token={token}", wait="nav .tab")
        page.evaluate("location.hash = 'alerts'")
        page.wait_for_selector("main section")
        settle(page)
        assert "This link is read-only" in page.locator("main").inner_text()
        assert page.locator("main section li").count() == 2
        assert page.locator("main section button").count() == 0
    finally:
        server.stop()


def test_a_server_without_alerts_says_how_to_start_one(pages, study):
    page = pages.open(study, "#alerts", wait=".empty")
    assert "--alerts alerts.toml" in page.locator(".empty").inner_text()
    page.goto("about:blank")
    page.goto(study.url + "#scalars")
    page.wait_for_selector("nav .tab")
    assert page.locator("nav .tab", has_text="Alerts").count() == 0
