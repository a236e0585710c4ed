"""The diagnosis worker: runs in the background, reports in the stream, and is optional."""

import math
import threading

import pytest
from builders import event_file, version
from log_directories import append, write_run
from servers import wait_for

from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.runs import Runs
from pulseboard.serve.http.endpoint import load_endpoints
from pulseboard.serve.http.validation import validate
from pulseboard.serve.live import diagnosis_worker
from pulseboard.serve.live.diagnosis_worker import DiagnosisWorker
from pulseboard.serve.live.revisions import Revisions

pytest.importorskip("pulseboard.diagnose.diagnosis")


def write_diverging_run(directory):
    write_run(
        directory, *((step, math.nan if step > 60 else 2.0 - step / 100) for step in range(100)), tag="train/loss"
    )


def test_runs_get_a_status_and_a_report(serve, tmp_path):
    write_diverging_run(tmp_path / "logs" / "broken")
    server = serve(tmp_path / "logs")
    assert server.api("status").json["findings"] is True
    wait_for(lambda: server.api("diagnosis").json["pending"] == [])
    report = server.api("diagnosis?run=broken").json
    assert report["schema"] == 2
    (run,) = report["runs"]
    assert run["run"] == "broken"
    assert run["status"] == "critical"
    assert server.api("runs").json["runs"][0]["status"] == "critical"
    incident = run["incidents"][0]
    assert incident["severity"] == "critical"
    assert run["findings"][incident["findings"][0]]["severity"] == "critical"
    assert 0 < run["coverage"]["ran"] < run["coverage"]["of"]
    # The whole report, with a finding and an incident in it, matches the document.
    validate(report, load_endpoints()["diagnosis"]["GET"].returns, at="response")
    # The page asks for the reasons when someone opens them: of hundreds of runs they are most of the report.
    short = server.api("diagnosis?run=broken&reasons=0").json
    validate(short, load_endpoints()["diagnosis"]["GET"].returns, at="response")
    checks, unexplained = report["runs"][0]["not_checked"], short["runs"][0]["not_checked"]
    assert all(check["because"] for check in checks)
    assert unexplained == [{**check, "because": ""} for check in checks]


def test_a_run_with_too_little_to_judge_is_not_healthy(serve, tmp_path):
    write_run(tmp_path / "logs" / "short", (0, 2.0), (1, 1.9), tag="zzzz")
    server = serve(tmp_path / "logs")
    wait_for(lambda: server.api("diagnosis").json["pending"] == [])
    assert server.api("runs").json["runs"][0]["status"] == "unknown"
    report = server.api("diagnosis").json
    assert [run["status"] for run in report["runs"]] == ["unknown"]
    validate(report, load_endpoints()["diagnosis"]["GET"].returns, at="response")


def test_a_client_that_reconnects_gets_the_findings_it_missed(serve, tmp_path):
    import http.client

    write_diverging_run(tmp_path / "logs" / "broken")
    server = serve(tmp_path / "logs")
    wait_for(lambda: server.api("diagnosis").json["pending"] == [])
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/api/stream?since=1")
    response = connection.getresponse()
    lines = []
    while not lines or lines[-1] != b"event: finding\n":
        lines.append(response.readline())
    assert b'"run":"broken"' in response.readline()
    connection.close()


def test_a_known_tag_has_a_meaning(server):
    assert server.api("meaning?tag=train/loss").json["role"] == "train.loss"
    assert server.api("meaning?tag=zzzz").json is None


def test_a_query_before_the_runs_are_loaded_does_not_fix_the_profile(tmp_path):
    (tmp_path / "logs").mkdir()
    log = Runs(log_directories_from([tmp_path / "logs"]))
    worker = DiagnosisWorker(log, Revisions())
    early = "train/loss"
    assert worker.meaning(early)["profile"] == "general"
    # Nor does a run without tags.
    write_run(tmp_path / "logs" / "a", tag=early)
    empty = write_run(tmp_path / "logs" / "moe", tag=early)
    whole = empty.read_bytes()
    empty.write_bytes(event_file(version()))
    found = log.refresh()
    assert worker.meaning(early)["profile"] == "general"
    worker.enqueue(added=found.added)
    assert worker.meaning(early)["profile"] == "general"
    empty.write_bytes(whole)
    for tag in ("moe/aux_loss", "moe/z_loss"):
        append(empty, (1, 1.0), tag=tag)
    worker.enqueue(grown=log.refresh().grown)
    assert worker.meaning(early)["profile"] == "moe"
    worker.close()


def test_without_the_diagnose_package_no_run_is_diagnosed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    worker = DiagnosisWorker({}, Revisions())
    worker.enqueue(added=["a"])
    assert not worker.available
    assert worker.report(["a"]) == {"schema": 2, "runs": [], "pending": []}
    assert (worker.status("a"), worker.guide("loss-spike"), worker.meaning("loss")) == (None, None, None)


def test_the_diagnosis_comes_back_after_file_descriptors_ran_out(tmp_path, monkeypatch):
    """The import in the thread failed, outside of any `try`, and the thread was gone for good."""
    from pulseboard.diagnose import diagnosis

    write_diverging_run(tmp_path / "broken")
    runs = Runs(log_directories_from([tmp_path]))
    runs.refresh()
    real, failures = diagnosis.report_on_training, []

    def report(training):
        if len(failures) < 2:
            failures.append(training)
            raise OSError(24, "Too many open files")
        return real(training)

    monkeypatch.setattr(diagnosis, "report_on_training", report)
    monkeypatch.setattr(diagnosis_worker, "_RETRY_SECS", 0.01)
    worker = DiagnosisWorker(runs, Revisions())
    try:
        worker.enqueue(added=list(runs))
        wait_for(lambda: worker.status("broken") == "critical")
    finally:
        worker.close()
    assert len(failures) == 2


def test_a_thread_that_has_died_is_started_again(tmp_path):
    write_diverging_run(tmp_path / "broken")
    runs = Runs(log_directories_from([tmp_path]))
    runs.refresh()
    worker = DiagnosisWorker(runs, Revisions())
    dead = threading.Thread(target=lambda: None)
    dead.start()
    dead.join()
    worker._thread = dead
    try:
        worker.enqueue(added=list(runs))
        wait_for(lambda: worker.status("broken") == "critical")
    finally:
        worker.close()
