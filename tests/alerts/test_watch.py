"""Alerts from a log directory to a real webhook and a real mail server: once each, never of healthy runs."""

import email.header
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from aiosmtpd.controller import Controller
from alerts.webhook import wait_for

import pulseboard as pb
from pulseboard.alerts.delivery import Delivery
from pulseboard.alerts.memory import Memory
from pulseboard.alerts.rules import read_rules
from pulseboard.alerts.watcher import Watcher, watch
from pulseboard.cli import main
from pulseboard.diagnose.cases import trainings
from pulseboard.diagnose.diagnosis import report_on_training

from .conftest import add_rows, healthy

NAN = [float("nan")] * 40


class Watching:
    """`pulseboard alerts watch` on threads, with what it reports."""

    def __init__(self, logdir, rules):
        self.reports = []
        memory = Memory.of_rules(str(rules))
        self.delivery = Delivery(memory, report=self.reports.append, first_retry_secs=0.05)
        watcher = Watcher(read_rules(rules), self.delivery)
        self._stop = threading.Event()
        runs = pb.read(logdir)
        self._thread = threading.Thread(target=watch, args=(runs, watcher), kwargs={"stop": self._stop})
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self.delivery.close()


@pytest.fixture
def rules(tmp_path, webhook):
    path = tmp_path / "alerts.toml"
    path.write_text(
        f'link = "http://board:6006"\n[[destination]]\nname = "hook"\nwebhook = "{webhook.url}"\n', encoding="utf-8"
    )
    return path


def checked_once(logdir, rules, clock=time.time):
    """Decide about every run once, and wait until what is due has been sent."""
    delivery = Delivery(Memory.of_rules(str(rules)), first_retry_secs=0.05, clock=clock)
    watcher = Watcher(read_rules(rules), delivery, clock=clock)
    for training in trainings(pb.read(logdir)):
        watcher.take(training, report_on_training(training))
    watcher.tick()
    assert delivery.flush(120)
    delivery.close()


def test_a_log_that_breaks_is_reported_once_and_healthy_runs_never(tmp_path, webhook, rules):
    log = tmp_path / "runs"
    add_rows(log / "good" / "metrics.csv", healthy(300))
    add_rows(log / "bad" / "metrics.csv", healthy(200))
    with Watching(log, rules):
        add_rows(log / "good" / "metrics.csv", healthy(320)[300:], start=300)
        add_rows(log / "bad" / "metrics.csv", NAN, start=200)
        wait_for(lambda: webhook.received, "no message")
        add_rows(log / "bad" / "metrics.csv", NAN, start=240)
    assert webhook.events() == [("opened", "bad")]
    (message,) = webhook.received
    assert message["severity"] == "critical"
    assert message["title"].startswith("critical: bad: The loss became NaN or infinite")
    assert message["link"] == "http://board:6006/#health&run=bad"
    assert message["link"] in message["text"]
    assert message["incident"]["open"] is True


def test_a_restart_sends_nothing_twice(tmp_path, webhook, rules):
    add_rows(tmp_path / "runs" / "bad" / "metrics.csv", healthy(200) + NAN)
    for _ in range(2):
        checked_once(tmp_path / "runs", rules)
    assert webhook.events() == [("opened", "bad")]


def test_an_incident_that_ends_is_closed_under_the_same_id(tmp_path, webhook, rules):
    path = tmp_path / "runs" / "bad" / "metrics.csv"
    add_rows(path, healthy(200) + NAN)
    checked_once(tmp_path / "runs", rules)
    path.unlink()
    add_rows(path, healthy(600))  # resumed from a checkpoint, and the log was written again
    checked_once(tmp_path / "runs", rules)
    checked_once(tmp_path / "runs", rules)
    assert webhook.events() == [("opened", "bad"), ("closed", "bad")]
    assert webhook.received[0]["id"] == webhook.received[1]["id"]


def test_a_webhook_that_is_down_is_tried_again_and_reported(tmp_path, webhook, rules):
    add_rows(tmp_path / "runs" / "bad" / "metrics.csv", healthy(200) + NAN)
    webhook.failing = 2
    with Watching(tmp_path / "runs", rules) as watching:
        wait_for(lambda: webhook.received, "no message")
    assert webhook.events() == [("opened", "bad")]
    assert len(watching.reports) == 2
    assert "could not be sent to 'hook': it answered 503" in watching.reports[0]
    assert "It is tried again in" in watching.reports[0]


def test_what_did_not_arrive_before_the_end_is_sent_after_a_restart(tmp_path, webhook, rules):
    add_rows(tmp_path / "runs" / "bad" / "metrics.csv", healthy(200) + NAN)
    webhook.failing = 1
    delivery = Delivery(Memory.of_rules(str(rules)), report=lambda _: None, first_retry_secs=9999)
    watcher = Watcher(read_rules(rules), delivery)
    for training in trainings(pb.read(tmp_path / "runs")):
        watcher.take(training, report_on_training(training))
    wait_for(lambda: webhook.failing == 0, "not tried")
    delivery.close()
    assert webhook.received == []
    checked_once(tmp_path / "runs", rules)
    assert webhook.events() == [("opened", "bad")]


def test_old_runs_are_not_news(tmp_path, webhook, rules):
    path = tmp_path / "runs" / "old" / "metrics.csv"
    add_rows(path, healthy(200) + NAN)
    os.utime(path, (time.time() - 86400,) * 2)
    checked_once(tmp_path / "runs", rules)
    checked_once(tmp_path / "runs", rules)
    assert webhook.received == []


@pytest.mark.parametrize(
    ("rule", "sent"),
    [
        ('runs = "^prod"', []),
        ('runs = "^bad"', [("opened", "bad")]),
        ('findings = ["overfitting"]', []),
        ('findings = ["loss-nan"]', [("opened", "bad")]),
        ('severity = "critical"', [("opened", "bad")]),
    ],
)
def test_rules_select_runs_findings_and_severities(tmp_path, webhook, rules, rule, sent):
    rules.write_text(rules.read_text() + f"[[rule]]\n{rule}\n")
    add_rows(tmp_path / "runs" / "bad" / "metrics.csv", healthy(200) + NAN)
    checked_once(tmp_path / "runs", rules)
    assert webhook.events() == sent


def test_quiet_hours_hold_a_message_back(tmp_path, webhook, rules):
    now = time.time()
    start, end = (time.strftime("%H:%M", time.localtime(now + secs)) for secs in (-3600, 3600))
    rules.write_text(rules.read_text() + f'[[rule]]\nquiet = "{start}-{end}"\n')
    add_rows(tmp_path / "runs" / "bad" / "metrics.csv", healthy(200) + NAN)
    checked_once(tmp_path / "runs", rules, clock=lambda: now)
    assert webhook.received == []
    os.utime(tmp_path / "runs" / "bad" / "metrics.csv", (now + 7200,) * 2)
    checked_once(tmp_path / "runs", rules, clock=lambda: now + 7200)
    assert webhook.events() == [("opened", "bad")]


def test_stalled_and_ended_runs_are_reported_once(tmp_path, webhook, rules):
    rules.write_text(rules.read_text() + "[[rule]]\nstalled_secs = 60\nended = true\n")
    log = tmp_path / "runs"
    add_rows(log / "silent" / "metrics.csv", healthy(100))
    with pb.init(dir=log, run_id="done", telemetry_secs=0, strict=True) as run:
        for step, loss in enumerate(healthy(200)):
            run.log({"train/loss": loss}, step=step)
    now = time.time()
    for later in (100, 200):
        checked_once(log, rules, clock=lambda later=later: now + later)
    assert sorted(webhook.events()) == [("ended", "done"), ("stalled", "silent")]
    add_rows(log / "silent" / "metrics.csv", healthy(120)[100:], start=100)
    checked_once(log, rules)
    assert webhook.events()[-1] == ("resumed", "silent")


# Apprise imports a module that Python 3.13 no longer has, where it exists.
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_mail_arrives_with_the_verdict_the_link_and_a_picture(tmp_path):
    mails = []

    class Keep:
        async def handle_DATA(self, server, session, envelope):  # noqa: N802 (the name that aiosmtpd calls)
            mails.append(email.message_from_bytes(envelope.content))
            return "250 OK"

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Controller(Keep(), hostname="127.0.0.1", port=port)
    server.start()
    try:
        rules = tmp_path / "alerts.toml"
        url = f"mailto://127.0.0.1:{port}?from=board@example.com&to=me@example.com&mode=insecure"
        rules.write_text(f'link = "http://board:6006"\n[[destination]]\nname = "mail"\nurl = "{url}"\n')
        add_rows(tmp_path / "runs" / "bad" / "metrics.csv", healthy(200) + NAN)
        checked_once(tmp_path / "runs", rules)
    finally:
        server.stop()
    (mail,) = mails
    parts = {part.get_content_type(): part.get_payload(decode=True) for part in mail.walk() if not part.is_multipart()}
    assert "critical: bad: The loss became NaN" in str(
        email.header.make_header(email.header.decode_header(mail["Subject"]))
    )
    assert parts["image/png"].startswith(b"\x89PNG")
    assert any(b"http://board:6006/#health" in payload for kind, payload in parts.items() if kind.startswith("text/"))


def test_the_test_message_reaches_every_destination_and_failures_are_named(tmp_path, webhook, rules, capsys):
    assert main(["alerts", "test", "--rules", str(rules)]) == 0
    assert capsys.readouterr().out == "hook: sent\n"
    assert webhook.events() == [("test", "test")]
    rules.write_text(rules.read_text() + '[[destination]]\nname = "gone"\nwebhook = "http://127.0.0.1:1/x"\n')
    assert main(["alerts", "test", "--rules", str(rules)]) == 1
    assert "could not be sent to 'gone': " in capsys.readouterr().err


def test_the_command_watches_until_it_is_stopped(tmp_path, webhook, rules):
    path = tmp_path / "runs" / "bad" / "metrics.csv"
    add_rows(path, healthy(200))
    command = [sys.executable, "-m", "pulseboard", "alerts", "watch", str(tmp_path / "runs"), "--rules", str(rules)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("Watching ")
        add_rows(path, NAN, start=200)
        wait_for(lambda: webhook.received, "no message")
        process.send_signal(2)
        assert process.wait(60) == 0
    assert webhook.events() == [("opened", "bad")]


def test_the_dashboard_sends_alerts_too(tmp_path, webhook, rules):
    path = tmp_path / "runs" / "bad" / "metrics.csv"
    add_rows(path, healthy(200))
    command = [sys.executable, "-m", "pulseboard", str(tmp_path / "runs"), "--port", "0", "--alerts", str(rules)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("Pulseboard is at ")
        add_rows(path, NAN, start=200)
        wait_for(lambda: webhook.received, "no message")
        process.terminate()
        process.communicate(timeout=60)
    assert webhook.events() == [("opened", "bad")]


def test_rules_that_do_not_parse_stop_the_command_before_it_starts(tmp_path, rules, capsys):
    rules.write_text("[[rule]\n")
    (tmp_path / "runs").mkdir()
    for args in (["alerts", "watch", str(tmp_path / "runs"), "--rules", str(rules)],
                 [str(tmp_path / "runs"), "--alerts", str(rules)]):  # fmt: skip
        assert main(args) == 2
        assert "The rules are not valid TOML" in capsys.readouterr().err
