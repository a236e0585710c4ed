"""Rules for alerts over HTTP: seen, changed and tested, with rights, and without secrets."""

import pytest
from alerts.webhook import Webhook, wait_for
from log_directories import write_run

FULL, READ = "full-has-a-long-token", "read-has-a-long-token"
RULE = {
    "to": [],
    "severity": "warning",
    "findings": [],
    "runs": "",
    "quiet": None,
    "stalled_secs": None,
    "ended": False,
}
SECRET = "hooks-secret-path"
FILE = f"""\
# Rules of our team. Ask Anna before you change them.
link = "http://gpu1:6006"

[[destination]]
name = "team"
webhook = "http://localhost:9/{SECRET}"  # the channel of our team

[[rule]]
# At night nobody is there.
quiet = "22:00-07:00"   # local time
severity = "critical"
to = "team"
"""


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "alerts.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture
def board(serve, tmp_path, rules):
    write_run(tmp_path / "logs" / "a")
    return serve(tmp_path / "logs", "--alerts", rules)


def change(server, index, rule, **more):
    body = {"version": server.api("alerts").json["version"], "index": index, "rule": rule, **more}
    return server.api("alerts/rule", body, method="PUT")


def change_destination(server, index, destination):
    body = {"version": server.api("alerts").json["version"], "index": index, "destination": destination}
    return server.api("alerts/destination", body, method="PUT")


def test_rules_are_shown_without_the_addresses(board):
    response = board.api("alerts")
    shown = response.json
    assert shown["destinations"] == [{"name": "team", "kind": "webhook", "shown": "http://localhost/…"}]
    assert shown["rules"] == [{**RULE, "to": ["team"], "severity": "critical", "quiet": "22:00-07:00"}]
    assert (shown["file"], shown["problem"], shown["link"]) == ("alerts.toml", None, "http://gpu1:6006")
    assert "loss-nan" in shown["findings"]
    assert SECRET.encode() not in response.body


def test_a_change_keeps_comments_and_everything_else(board, rules):
    assert change(board, 0, {**RULE, "to": ["team"], "quiet": "23:00-06:00", "ended": True}).status == 200
    expected = FILE.replace('"22:00-07:00"   # local', '"23:00-06:00"  # local')
    expected = expected.replace('"critical"', '"warning"') + "ended = true\n"
    assert rules.read_text() == expected.replace('to = "team"\nended', 'to = "team"\nended')
    added = {**RULE, "findings": ["loss-nan"], "runs": "^prod/", "stalled_secs": 900.0}
    assert change(board, None, added).json["rules"][1] == added
    added_text = '\n[[rule]]\nseverity = "warning"\nfindings = ["loss-nan"]\nruns = "^prod/"\nstalled_secs = 900\n'
    assert rules.read_text() == expected + added_text
    assert len(change(board, 1, None).json["rules"]) == 1
    assert rules.read_text() == expected


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({**RULE, "runs": "("}, "regular expression"),
        ({**RULE, "quiet": "late"}, "quiet of rule 2 is 'late'; write hours as \"22:00-07:00\""),
        ({**RULE, "findings": ["loss-nann"]}, "Did you mean 'loss-nan'?"),
        ({**RULE, "to": ["nobody"]}, "'nobody', which does not exist"),
        ({**RULE, "stalled_secs": -1}, "must be a positive number"),
    ],
)
def test_a_wrong_rule_is_refused_and_nothing_is_written(board, rules, rule, says):
    response = change(board, None, rule)
    assert response.status == 400
    assert says in response.json["error"]["what"]
    assert rules.read_text() == FILE


def test_two_people_do_not_overwrite_each_other(board, rules):
    rules.write_text(FILE + "ended = true\n")
    assert change(board, 0, RULE, version="of an hour ago").status == 409
    assert rules.read_text() == FILE + "ended = true\n"


def test_what_cannot_be_kept_is_not_touched(board, rules):
    text = 'rule = [{severity = "info"}]\n[[destination]]\nwebhook = "http://localhost:9"\n'
    rules.write_text(text)
    response = change(board, 0, {**RULE, "ended": True})
    assert response.status == 409
    assert "Change it in an editor" in response.json["error"]["what"]
    assert rules.read_text() == text


def test_a_file_that_does_not_parse_is_explained(board, rules):
    rules.write_text("[[rule]]\nseverty = 1\n")
    shown = board.api("alerts").json
    assert shown["rules"] == []
    assert "There is no destination" in shown["problem"]


def test_a_destination_keeps_its_address_and_takes_no_variables(board, rules):
    renamed = {"name": "crew", "kind": "webhook", "address": None}
    assert "'team', which does not exist" in change_destination(board, 0, renamed).json["error"]["what"]
    assert change(board, 0, {**RULE, "severity": "critical", "quiet": "22:00-07:00"}).status == 200
    assert change_destination(board, 0, renamed).json["destinations"][0]["name"] == "crew"
    assert f'webhook = "http://localhost:9/{SECRET}"  # the channel of our team' in rules.read_text()
    thief = {"name": "thief", "kind": "webhook", "address": "http://example.com/?$PATH"}
    assert "Environment variables" in change_destination(board, None, thief).json["error"]["what"]
    assert change_destination(board, None, {**thief, "address": None}).status == 400
    assert "need a destination" in change_destination(board, 0, None).json["error"]["what"]


def test_a_read_only_token_sees_rules_and_changes_nothing(serve, tmp_path, rules):
    write_run(tmp_path / "logs" / "a")
    server = serve(
        *(tmp_path / "logs", "--alerts", rules, "--token", FULL, "--read_token", READ),
        loaded=False,
    )
    version = server.api("alerts", token=READ).json["version"]
    bodies = {
        "alerts/rule": {"version": version, "index": 0, "rule": None},
        "alerts/destination": {"version": version, "index": 0, "destination": None},
        "alerts/test": {"destination": "team"},
        "alerts/matches": {"rule": RULE},
    }
    for path, body in bodies.items():
        method = "POST" if path in ("alerts/test", "alerts/matches") else "PUT"
        assert server.api(path, body, method=method, token=READ).status == 403, path
    assert rules.read_text() == FILE
    assert server.api("alerts/rule", bodies["alerts/rule"], method="PUT", token=FULL).json["rules"] == []


def test_without_a_file_the_page_says_how_to_name_one(server):
    assert server.api("alerts").json["file"] is None
    response = server.api("alerts/test", {"destination": "x"})
    assert response.status == 409
    assert "--alerts" in response.json["error"]["do"]


def test_a_file_made_on_the_page_sends_messages_without_a_restart(serve, tmp_path):
    logs = tmp_path / "logs"
    write_run(logs / "broken", *((step, float("nan") if step > 50 else 1.0) for step in range(200)))
    path = tmp_path / "new.toml"
    server = serve(logs, "--alerts", path).wait_until_diagnosed()
    webhook = Webhook()
    try:
        pager = {"name": "pager", "kind": "webhook", "address": webhook.url}
        assert change_destination(server, None, pager).json["destinations"][0]["shown"] == "http://127.0.0.1/…"
        assert path.stat().st_mode & 0o077 == 0
        assert server.api("alerts/test", {"destination": "pager"}).json == {"error": None}
        found = server.api("alerts/matches", {"rule": {**RULE, "severity": "critical"}}).json
        assert (found["runs"], [one["run"] for one in found["incidents"]]) == (1, ["broken"])
        assert server.api("alerts/matches", {"rule": {**RULE, "runs": "^other"}}).json["incidents"] == []
        write_run(logs / "later", *((step, float("nan") if step > 50 else 1.0) for step in range(200)))
        wait_for(lambda: ("opened", "later") in webhook.events(), "the message about the new run")
        webhook.failing = 1
        assert "503" in server.api("alerts/test", {"destination": "pager"}).json["error"]
    finally:
        webhook.close()
