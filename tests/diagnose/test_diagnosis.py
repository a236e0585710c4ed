"""Whole diagnoses: logs on disk in, reports out."""

import json
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.core.finding import RunReport
from pulseboard.diagnose.diagnosis import diagnose, report_on
from pulseboard.diagnose.live import Watcher
from pulseboard.diagnose.report.html import as_html
from pulseboard.diagnose.report.markdown import as_markdown
from pulseboard.diagnose.report.text import as_text


def write_run(directory, curves, *, name="run", config=None):
    run = pb.init(dir=directory, run_id=name, config=config or {}, strict=True, telemetry_secs=0)
    n = max(len(values) for values in curves.values())
    for step in range(n):
        run.log({tag: float(values[step]) for tag, values in curves.items() if step < len(values)}, step=step)
    run.finish()
    return directory


def diverging(n=400):
    rng = np.random.default_rng(0)
    loss = 1.5 + 3 * np.exp(-np.arange(n) / 50) + rng.normal(size=n) * 0.05
    loss[200:] += 0.02 * np.arange(n - 200)
    return loss


def test_a_healthy_run_is_well(tmp_path, falling):
    (report,) = diagnose(write_run(tmp_path, {"train/loss": falling()}, config={"vocab_size": 90}))
    assert report.status in ("ok", "info")
    assert report.incidents == ()
    assert all(cause.probability < 0.1 for cause in report.causes)
    assert report.roles == {"train.loss": "train/loss"}
    assert report.steps == (0, 399)


def test_what_could_not_be_checked_is_listed_with_the_line_that_logs_it(tmp_path, falling):
    (report,) = diagnose(write_run(tmp_path, {"train/loss": falling()}))
    missing = {one.slug: one for one in report.not_checked}
    assert "pb.watch(model, optimizer)" in missing["weights-frozen"].log
    assert "update.ratio" in missing["weights-frozen"].because
    assert "entropy" in missing["loss-at-marginal"].because


def test_a_diverging_run_is_critical_and_says_since_when(tmp_path):
    (report,) = diagnose(write_run(tmp_path, {"train/loss": diverging()}))
    assert report.status == "critical"
    finding = next(f for f in report.findings if f.slug == "loss-diverged")
    assert 200 <= finding.first_step <= 260
    assert finding.metric == "train/loss"
    assert finding.evidence


def test_the_json_report_has_the_documented_shape(tmp_path):
    report = diagnose(write_run(tmp_path, {"train/loss": diverging()})).to_dict()
    assert report["schema"] == 2
    (run,) = report["runs"]
    assert {
        "run",
        "path",
        "status",
        "steps",
        "profile",
        "roles",
        "findings",
        "causes",
        "next_check",
        "not_checked",
        "coverage",
        "incidents",
        "facts",
        "readings",
        "unread",
    } <= set(run)
    (incident,) = run["incidents"]
    assert set(incident) == {
        "id", "headline", "severity", "first_step", "last_step", "open", "cost", "findings", "causes", "next_check",
        "fixes",
    }  # fmt: skip
    assert incident["findings"][0] == 0
    assert incident["open"] is True
    assert set(run["facts"]["learning"]) == {"value", "confidence", "from", "why"}
    finding = run["findings"][0]
    assert set(finding) == {
        "slug", "severity", "metric", "first_step", "last_step", "summary", "evidence", "causes", "checks", "fixes"
    }  # fmt: skip
    assert set(finding["evidence"][0]) == {"metric", "what", "value", "limit", "step", "on_curve"}
    assert set(run["causes"][0]) == {"slug", "probability", "because", "against", "fixes", "signs", "alike"}
    assert set(run["next_check"]) == {"do", "why"}
    assert set(run["not_checked"][0]) == {"slug", "because", "log"}
    json.dumps(report)


def test_the_same_log_gives_the_same_report(tmp_path):
    write_run(tmp_path, {"train/loss": diverging()})
    assert diagnose(tmp_path).to_dict() == diagnose(tmp_path).to_dict()


def test_train_and_validation_directories_of_keras_are_one_training(tmp_path, falling):
    from torch.utils.tensorboard import SummaryWriter

    for split, rises in (("train", 0.0), ("validation", 0.05)):
        writer = SummaryWriter(str(tmp_path / "fit" / split))
        for epoch in range(40):
            writer.add_scalar("epoch_loss", 1 + 2 * np.exp(-epoch / 4) + rises * max(0, epoch - 10), epoch)
        writer.close()
    (report,) = diagnose(tmp_path)
    assert report.run == "fit"
    assert report.roles["train.loss"] == "train/epoch_loss"
    assert report.roles["val.loss"] == "validation/epoch_loss"
    assert "overfitting" in [finding.slug for finding in report.findings]


def test_nothing_and_almost_nothing_are_diagnosed_without_a_complaint(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_run(tmp_path / "empty", {"train/loss": []} | {"x": [1.0]})
        write_run(tmp_path / "odd", {"train/loss": [float("nan")], "val/loss": [float("inf")] * 3, "lr": [0.0] * 2})
        for path in ("empty", "odd"):
            assert len(diagnose(tmp_path / path)) == 1


@pytest.mark.parametrize("write", [as_text, as_markdown, as_html])
def test_reports_say_what_is_wrong_in_every_form(tmp_path, write):
    text = write(diagnose(write_run(tmp_path, {"train/loss": diverging()})))
    assert "loss-diverged" in text
    assert "learning rate" in text


def test_hostile_names_are_shown_and_not_run(tmp_path):
    bad = "train/loss<script>alert(1)</script>"
    (report,) = diagnose(write_run(tmp_path, {bad: [float("nan")] * 5}), roles={"train.loss": bad})
    html = as_html([report])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


# ---- live


def test_live_and_saved_runs_have_the_same_findings(tmp_path):
    curves = {"train/loss": diverging(), "lr": np.full(400, 1e-3), "val/loss": diverging()[::10] * 1.01}
    run = pb.init(dir=tmp_path, run_id="run", config={"vocab_size": 90}, strict=True, telemetry_secs=0)
    heard = []
    for step in range(400):
        run.log({"train/loss": curves["train/loss"][step], "lr": 1e-3}, step=step)
        if step == 150:
            run.on_finding(heard.append)  # asked for late: it catches up
    run.finish()
    live = json.loads((tmp_path / "run" / "findings.json").read_text())["runs"][0]
    (saved,) = diagnose(tmp_path)
    assert live["findings"] == json.loads(json.dumps(saved.to_dict()["findings"]))
    assert {f.slug for f in heard} == {f["slug"] for f in live["findings"]}
    assert run._live_findings.should_stop("critical")


def test_a_training_can_stop_itself(tmp_path):
    with pb.init(dir=tmp_path, strict=True, telemetry_secs=0) as run:
        assert run.should_stop() is False
        for step in range(10):
            run.log({"train/loss": float("nan")}, step=step)
        deadline = time.monotonic() + 120
        while not run.should_stop() and time.monotonic() < deadline:
            time.sleep(0.05)
            run.log({"train/loss": float("nan")}, step=run.last_step + 1)
        assert run.should_stop(on="critical")
        assert [finding.slug for finding in run.findings] == ["loss-nan"]


def test_a_callback_that_fails_ends_nothing(tmp_path, capfd):
    with pb.init(dir=tmp_path, telemetry_secs=0) as run:
        run.on_finding(lambda finding: 1 / 0)
        run.log({"train/loss": float("nan")}, step=0)
    assert "callback" in capfd.readouterr().err


def test_a_webhook_gets_warnings_as_slack_takes_them(tmp_path):
    posts = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/hook"
        with pb.init(dir=tmp_path, report_to=["tensorboard", "diagnosis"], webhook=url, telemetry_secs=0) as run:
            run.log({"train/loss": float("nan")}, step=0)
        server.shutdown()
    assert "critical loss-nan" in posts[0]["text"]
    assert posts[0]["finding"]["slug"] == "loss-nan"


def test_a_look_costs_the_same_late_in_a_run_as_early():
    def cost(points):
        watcher = Watcher("run", "path", {})
        steps = np.arange(points)
        for tag in ("train/loss", "val/loss", "lr", "train/grad_norm", "x/a", "x/b"):
            watcher.add_series(tag, steps, steps * 0.1, 2 + np.random.default_rng(0).normal(size=points) * 0.1)
        watcher.report()
        times = []
        for _ in range(5):
            for step in range(100):
                watcher.scalars({"train/loss": 2.0, "lr": 1e-3}, step=points + step, wall_time=1e6 + step)
            began = time.process_time()
            assert isinstance(watcher.report(), RunReport)
            times.append(time.process_time() - began)
        return min(times)

    assert cost(300_000) < 5 * cost(20_000)


def test_a_case_may_be_reported_twice(case, falling):
    one = case({"train/loss": falling()})
    assert report_on(one).to_dict() == report_on(one).to_dict()


def test_the_room_is_the_call(tmp_path, falling):
    write_run(tmp_path, {"objective": diverging(), "train/loss": falling()}, name="a")
    write_run(tmp_path, {"train/loss": falling()}, name="b")
    found = pb.diagnose(tmp_path, roles={"train.loss": "objective"})
    assert found.status == "critical"
    assert [report.run for report in found] == ["a", "b"]
    assert found["a"].roles["train.loss"] == "objective"
    assert found["b"].roles["train.loss"] == "train/loss"  # it logs no objective, and says so
    assert "'objective'" in found["b"].doubtful[0]
    assert found.to_dict()["schema"] == 2
    assert "loss-diverged" in str(found)
    assert pb.diagnose(pb.read(tmp_path), runs=["b"]).status in ("ok", "info")
    with pytest.raises(KeyError, match="No report on a run 'c'"):
        found["c"]
