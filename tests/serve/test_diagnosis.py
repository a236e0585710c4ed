"""The diagnosis beside the charts: read behind the requests, told in the stream, and absent without harm."""

import math

import pytest
from builders import event_file, version
from log_directories import append, write_run
from servers import wait_for

from pulseboard.read.discover import roots_of
from pulseboard.read.log import Log
from pulseboard.serve.diagnosis import Diagnosis
from pulseboard.serve.journal import Journal

pytest.importorskip("pulseboard.diagnose.diagnosis")


def write_trouble(directory):
    write_run(
        directory, *((step, math.nan if step > 60 else 2.0 - step / 100) for step in range(100)), tag="train/loss"
    )


def test_runs_get_a_status_and_a_report(serve, tmp_path):
    write_trouble(tmp_path / "logs" / "sick")
    server = serve(tmp_path / "logs")
    assert server.api("status").json["findings"] is True
    wait_for(lambda: server.api("diagnosis").json["pending"] == [], secs=60)
    report = server.api("diagnosis?run=sick").json
    assert report["schema"] == 1
    (run,) = report["runs"]
    assert run["run"] == "sick"
    assert run["status"] == "critical"
    assert server.api("runs").json["runs"][0]["status"] == "critical"


def test_findings_are_told_to_who_was_away(serve, tmp_path):
    import http.client

    write_trouble(tmp_path / "logs" / "sick")
    server = serve(tmp_path / "logs")
    wait_for(lambda: server.api("diagnosis").json["pending"] == [], secs=60)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/api/stream?since=1")
    answer = connection.getresponse()
    lines = []
    while not lines or lines[-1] != b"event: finding\n":
        lines.append(answer.readline())
    assert b'"run":"sick"' in answer.readline()
    connection.close()


def test_a_tag_has_a_meaning_where_somebody_says_so(board):
    assert board.api("meaning?tag=train/loss").json["role"] == "train.loss"
    assert board.api("meaning?tag=zzzz").json is None


def test_a_question_before_the_runs_are_there_does_not_settle_what_their_tags_mean(tmp_path):
    (tmp_path / "logs").mkdir()
    log = Log(roots_of([tmp_path / "logs"]))
    diagnosis = Diagnosis(log, Journal())
    early = "train/loss"
    assert diagnosis.meaning(early)["profile"] == "general"
    # A run that has no tag yet is no reason to settle it either.
    write_run(tmp_path / "logs" / "a", tag=early)
    empty = write_run(tmp_path / "logs" / "moe", tag=early)
    whole = empty.read_bytes()
    empty.write_bytes(event_file(version()))
    found = log.refresh()
    assert diagnosis.meaning(early)["profile"] == "general"
    diagnosis.take_up(added=found.added)
    assert diagnosis.meaning(early)["profile"] == "general"
    empty.write_bytes(whole)
    for tag in ("moe/aux_loss", "moe/z_loss"):
        append(empty, (1, 1.0), tag=tag)
    diagnosis.take_up(grown=log.refresh().grown)
    assert diagnosis.meaning(early)["profile"] == "moe"
    diagnosis.close()


def test_without_the_room_everything_says_not_diagnosed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    absent = Diagnosis({}, Journal())
    absent.take_up(added=["a"])
    assert not absent.available
    assert absent.report(["a"]) == {"schema": 1, "runs": [], "pending": []}
    assert (absent.status("a"), absent.guide("loss-spike"), absent.meaning("loss")) == (None, None, None)
