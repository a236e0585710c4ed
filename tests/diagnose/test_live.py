"""Live diagnosis: the same incidents as after the fact, however the points arrive, and one message per incident."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.core.finding import Cost, Finding, Incident, RunReport
from pulseboard.diagnose.alerts import Alerts
from pulseboard.diagnose.diagnosis import diagnose
from pulseboard.diagnose.live import Watcher
from pulseboard.diagnose.report.sentences import cause_sentence

STEPS = 300


def curves(kind, rng):
    """The scalars of each step."""
    steps = np.arange(STEPS)
    loss = 1.9 * np.exp(-steps / 80) + 0.4 + 0.03 * rng.normal(size=STEPS)
    norm = np.exp(0.1 * rng.normal(size=STEPS))
    if kind == "diverges":
        loss[200:] += np.exp((steps[200:] - 200) / 12)
        norm[200:] *= np.exp((steps[200:] - 200) / 10)
    elif kind == "nan":
        loss[220:] = math.nan
    elif kind == "spikes":
        loss[150:165] += 6
        loss[240:250] += 4
    elif kind == "flat":
        loss[:] = math.log(10) + 0.002 * rng.normal(size=STEPS)
    for step in range(STEPS):
        row = {"train/loss": loss[step], "train/grad_norm": norm[step], "lr": 1e-3 * (1 - step / STEPS)}
        if step % 15 == 14:
            row["val/loss"] = loss[step] + 0.1
        yield step, {tag: float(value) for tag, value in row.items()}


def content(report):
    """What a report says about the run."""
    full = report.to_dict()
    parts = ("status", "findings", "incidents", "causes", "next_check", "coverage", "doubtful", "facts")
    return json.loads(json.dumps({part: full[part] for part in parts}, default=str))


@pytest.mark.parametrize("kind", ["healthy", "diverges", "nan", "spikes", "flat"])
@pytest.mark.parametrize("seed", range(3))
def test_the_last_live_report_is_that_of_the_saved_run_however_often_it_was_checked(tmp_path, kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    config = {"num_classes": 10, "max_steps": STEPS, "optimizer": "adamw"}
    watcher = Watcher("run", "path", config)
    checks = set(rng.integers(0, STEPS, size=rng.integers(0, 8)).tolist())
    with pb.init(dir=tmp_path, run_id="run", config=config, telemetry_secs=0, strict=True) as run:
        for step, row in curves(kind, rng):
            run.log(row, step=step)
    saved = pb.read(tmp_path)["run"]
    walls = dict(zip(*(getattr(saved.series("lr"), name).tolist() for name in ("steps", "wall_times")), strict=True))
    by_step = {}
    for tag in saved.tags("scalar"):
        series = saved.series(tag)
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            by_step.setdefault(step, {})[tag] = value
    for step, row in by_step.items():
        watcher.scalars(row, step=step, wall_time=walls[step])
        if step in checks:
            watcher.report()
    watcher.status = "finished"
    (after,) = diagnose(tmp_path)
    assert content(watcher.report()) == content(after)
    assert (kind == "healthy") == (not after.incidents)


def test_steps_that_come_again_are_counted_live_as_after_the_fact(tmp_path):
    steps = [*range(60), *range(30, 90)]
    values = [3 - step / 50 for step in steps]
    lines = [json.dumps({"step": step, "train/loss": value}) for step, value in zip(steps, values, strict=True)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    watcher = Watcher("run", "path", {})
    for part in np.array_split(np.arange(len(steps)), 7):
        watcher.add_series("train/loss", np.array(steps)[part], part.astype(float), np.array(values)[part])
    assert max(watcher._overlaps.values()) == 30
    assert "restart-overlap" in [finding.slug for finding in watcher.report().findings]


def test_many_points_in_a_row_at_one_step_are_not_an_overlap(tmp_path):
    # a log that names only the epoch, and not all of its epochs have equally many lines
    steps = np.repeat(np.arange(40), np.arange(40) % 3 + 1)
    values = 3 - np.arange(len(steps)) / 50
    lines = [json.dumps({"step": int(step), "train/loss": value}) for step, value in zip(steps, values, strict=True)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    (report,) = diagnose(tmp_path)
    watcher = Watcher("run", "path", {})
    for part in np.array_split(np.arange(len(steps)), 7):
        watcher.add_series("train/loss", steps[part], part.astype(float), values[part])
    for one in (report, watcher.report()):
        assert "restart-overlap" not in [finding.slug for finding in one.findings]


# ---- alerts


def report(*incidents, severity="warning"):
    """A report with incidents led by findings of these slugs; a slug in brackets is over."""
    findings, found = [], []
    for i, name in enumerate(incidents):
        slug = name.strip("[]")
        findings.append(Finding(slug, severity, "train/loss", 10, 50, f"{slug} is seen."))
        found.append(
            Incident(f"{slug}@10", f"Headline of {slug}", severity, 10, 50, name == slug, Cost("share", 0.1), (i,))
        )
    return RunReport("run", "path", (0, 100), "general", {}, tuple(findings), incidents=tuple(found))


def events(*reports, updates=False):
    alerts = Alerts(updates=updates)
    return [[(alert.event, alert.id) for alert in alerts.update(one)] for one in reports]


def test_an_incident_is_reported_when_it_opens_and_when_it_closes_and_not_in_between():
    assert events(report("loss-spike"), report("loss-spike"), report("[loss-spike]"), report("[loss-spike]")) == [
        [("opened", "loss-spike@10")], [], [("closed", "loss-spike@10")], [],
    ]  # fmt: skip


def test_an_incident_stays_the_same_if_another_finding_leads_it():
    later = report("loss-diverged"), report("[loss-diverged]")
    assert events(report("loss-spike"), *later) == [[("opened", "loss-spike@10")], [], [("closed", "loss-spike@10")]]


def test_another_leading_finding_is_an_update_for_those_who_want_updates():
    reports = report("loss-spike"), report("loss-spike"), report("loss-diverged"), report("loss-diverged")
    assert events(*reports, updates=True) == [
        [("opened", "loss-spike@10")], [], [("updated", "loss-spike@10")], [],
    ]  # fmt: skip
    critical = report("loss-diverged", severity="critical")
    assert events(report("loss-spike"), critical, updates=True)[-1] == [("worse", "loss-spike@10")]


def test_an_incident_that_becomes_critical_is_reported_again():
    assert events(report("loss-spike"), report("loss-spike", severity="critical")) == [
        [("opened", "loss-spike@10")], [("worse", "loss-spike@10")],
    ]  # fmt: skip


def test_an_incident_that_comes_back_is_not_repeated():
    assert events(report("loss-spike"), report("[loss-spike]"), report("loss-spike"))[-1] == []


def test_an_incident_that_was_nothing_is_closed():
    assert events(report("loss-spike"), report(), report("loss-nan"))[1:] == [
        [("closed", "loss-spike@10")], [("opened", "loss-nan@10")],
    ]  # fmt: skip


def test_the_machine_has_incidents_of_its_own():
    assert events(report("loss-spike"), report("loss-spike", "data-stall"))[-1] == [("opened", "data-stall@10")]


def test_an_alert_has_the_headline_the_cause_and_the_next_check(tmp_path):
    with pb.init(dir=tmp_path, telemetry_secs=0) as run:
        for step, row in curves("nan", np.random.default_rng(0)):
            run.log(row, step=step)
    (found,) = diagnose(tmp_path)
    (alert,) = Alerts().update(found)
    (incident,) = found.incidents
    assert incident.headline in alert.text
    assert ": ".join(cause_sentence(incident.causes[:1])) in alert.text
    assert incident.next_check is not None
    assert incident.next_check.do in alert.text
    assert alert.to_dict()["incident"]["id"] == incident.id


def test_findings_of_an_active_run_are_those_of_the_latest_check(tmp_path):
    heard = []
    with pb.init(dir=tmp_path, telemetry_secs=0, strict=True) as run:
        live = run._live_findings
        live.on_finding(heard.append)
        one = report("loss-spike")
        live.update(one.findings, one.incidents)
        longer = replace(one.findings[0], last_step=90)
        live.update([longer], one.incidents)
        assert live.findings() == [longer]
        live.update([replace(longer, severity="critical")], one.incidents)
        assert live.should_stop("critical")
        live.update([], [])
        assert (live.findings(), live.incidents(), live.should_stop("info")) == ([], [], False)
    assert [finding.severity for finding in heard] == ["warning", "critical"]
