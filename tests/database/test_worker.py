import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from database.comparing import push, stored
from log_directories import append, write_run

import pulseboard as pb
from pulseboard.database.stored.reports import StoredReports, owner_of
from pulseboard.database.worker import Worker
from pulseboard.diagnose.diagnosis import diagnose

NAN = [(step, float("nan")) for step in range(200, 260)]


@pytest.fixture
def logs(tmp_path, connection):
    for i in range(6):
        write_run(tmp_path / f"run{i}", *((step, 1 / (step + 1)) for step in range(200)), tag="train/loss")
    append(tmp_path / "run3" / "events.out.tfevents.1", *NAN, tag="train/loss")
    push(tmp_path, connection)
    return tmp_path


def test_a_worker_stores_the_reports_that_diagnose_gives_and_makes_each_once(logs, url):
    worker = Worker(stored(url), name="a")
    assert sorted(report.run for report in worker.round()) == [f"run{i}" for i in range(6)]
    assert list(worker.round()) == []
    kept = {one.report["run"]: one.report for one in StoredReports(stored(url).connection).poll()}
    for report in diagnose(logs):
        there = json.loads(json.dumps(report.to_dict()))
        assert [one["slug"] for one in kept[report.run]["findings"]] == [one["slug"] for one in there["findings"]]
        assert [one["headline"] for one in kept[report.run]["incidents"]] == [
            one["headline"] for one in there["incidents"]
        ]
    assert kept["run3"]["status"] == "critical"


def test_several_workers_share_the_trainings_and_take_over_those_of_one_that_left(logs, url):
    workers = [Worker(stored(url), name=name) for name in ("a", "b", "c")]
    for worker in workers:
        worker._reports.beat(worker.name)
    made = {worker.name: [report.run for report in worker.round()] for worker in workers}
    assert sorted(run for runs in made.values() for run in runs) == [f"run{i}" for i in range(6)]
    left = max(made, key=lambda name: len(made[name]))
    (gone,) = (worker for worker in workers if worker.name == left)
    gone.leave()
    for name in made[left]:
        append(logs / name / "events.out.tfevents.1", (300, 1.0), tag="train/loss")
    push(logs, stored(url).connection)
    time.sleep(1.1)  # who is there is asked once a second
    late = [Worker(stored(url), name=worker.name) for worker in workers if worker is not gone]
    assert sorted(report.run for worker in late for report in worker.round()) == sorted(made[left])


def test_only_the_trainings_of_a_worker_that_left_change_hands(logs, url):
    runs, three = list(stored(url).values()), ("a", "b", "c")
    before = {run.id: owner_of(run, three) for run in runs}
    assert len(set(before.values())) > 1
    after = {run.id: owner_of(run, ("a", "c")) for run in runs}
    assert all(after[run] == owner for run, owner in before.items() if owner != "b")


def test_a_server_shows_the_reports_of_workers_and_makes_its_own_when_they_are_gone(logs, url, monkeypatch):
    from pulseboard.diagnose import diagnosis

    worker, own = Worker(stored(url), name="a"), []
    made = list(worker.round())
    report_on = diagnosis.report_on_training
    monkeypatch.setattr(
        diagnosis, "report_on_training", lambda one, **given: own.append(one) or report_on(one, **given)
    )
    with pb.serve(url, port=0) as server:
        assert _until(lambda: len(_reports(server)) == len(made))
        assert _reports(server)["run3"]["status"] == "critical"
        assert own == []
        worker.leave()
        append(logs / "run1" / "events.out.tfevents.1", *NAN, tag="train/loss")
        push(logs, stored(url).connection)
        assert _until(lambda: _reports(server)["run1"]["status"] == "critical")
    assert [training.name for training in own] == ["run1"]


def test_the_command_keeps_reports_up_to_date_until_it_is_stopped(logs, url):
    command = [sys.executable, "-m", "pulseboard", "diagnose", url, "--watch", "--brief"]
    reports = StoredReports(stored(url).connection)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("Keeping reports up to date as ")
        found = {}
        assert _until(lambda: found.update({one.report["run"]: one for one in reports.poll()}) or len(found) == 6)
        append(logs / "run0" / "events.out.tfevents.1", *NAN, tag="train/loss")
        push(logs, stored(url).connection)
        assert _until(lambda: [one for one in reports.poll() if one.report["status"] == "critical"])
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "run0" in out
    assert StoredReports(stored(url).connection).workers() == ()


def _reports(server):
    with urllib.request.urlopen(f"{server.url}api/diagnosis", timeout=60) as response:
        return {report["run"]: report for report in json.load(response)["runs"]}


def _until(condition):
    end = time.monotonic() + 90
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found
