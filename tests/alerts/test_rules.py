"""alerts.toml: what is understood, and errors that say what is wrong and where."""

import datetime

import pytest

from pulseboard.alerts.rules import BadRules, QuietHours, read_rules

HOOK = '[[destination]]\nname = "team"\nwebhook = "http://localhost:1/x"\n'


def parsed(tmp_path, text):
    path = tmp_path / "alerts.toml"
    path.write_text(text, encoding="utf-8")
    return read_rules(path)


def test_a_destination_alone_is_enough(tmp_path):
    found = parsed(tmp_path, HOOK)
    (rule,) = found.rules
    assert (rule.to, rule.severity, rule.ended, rule.stalled_secs) == (("team",), "warning", False, None)


def test_secrets_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SLACK_URL", "slack://a/b/c")
    found = parsed(tmp_path, '[[destination]]\nname = "s"\nurl = "$SLACK_URL"\n')
    assert found.destinations["s"].url == "slack://a/b/c"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rule = ", "The rules are not valid TOML"),
        ("", "There is no destination"),
        ('[[destination]]\nname = "a"\n', "Destination 1 needs either url or webhook"),
        ('[[destination]]\nwebhook = "ftp://x"\n', "must start with http"),
        ('[[destination]]\nurl = "$NOT_SET_ANYWHERE"\n', "NOT_SET_ANYWHERE of destination 1 is not set"),
        (HOOK + HOOK, "Two destinations are named 'team'"),
        (HOOK + '[[rule]]\nseverty = "warning"\n', "Unknown setting 'severty' in rule 1. Did you mean 'severity'?"),
        (HOOK + '[[rule]]\nseverity = "bad"\n', "The severity of rule 1 is 'bad'; use one of info, warning, critical"),
        (HOOK + '[[rule]]\nfindings = ["loss-nann"]\n', "'loss-nann', which does not exist. Did you mean 'loss-nan'?"),
        (HOOK + '[[rule]]\nruns = "("\n', "runs of rule 1 is not a regular expression"),
        (HOOK + '[[rule]]\nquiet = "late"\n', 'write hours as "22:00-07:00"'),
        (HOOK + '[[rule]]\nquiet = "25:00-07:00"\n', 'write hours as "22:00-07:00"'),
        (HOOK + '[[rule]]\nto = ["other"]\n', "'other', which does not exist"),
        (HOOK + "[[rule]]\nstalled_secs = -1\n", "must be a positive number"),
        (HOOK + '[[rule]]\nended = "yes"\n', "ended of rule 1 must be true or false"),
    ],
)
def test_what_is_wrong_is_said_with_the_place(tmp_path, text, says):
    with pytest.raises(BadRules) as caught:
        parsed(tmp_path, text)
    assert says in str(caught.value)
    assert str(caught.value).endswith(f"In: {tmp_path / 'alerts.toml'}")


def test_quiet_hours_may_pass_midnight():
    night = QuietHours(datetime.time(22, 0), datetime.time(7, 0))

    def ends(day, hour, minute=0):
        end = night.ends_at(datetime.datetime(2026, 1, day, hour, minute).timestamp())
        return end and datetime.datetime.fromtimestamp(end)

    assert ends(5, 23) == datetime.datetime(2026, 1, 6, 7)
    assert ends(6, 6, 59) == datetime.datetime(2026, 1, 6, 7)
    assert ends(6, 7) is None
    assert ends(6, 21, 59) is None
