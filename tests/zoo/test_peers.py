"""The input and the score of other tools; `python -m zoo peers` runs the tools themselves."""

import csv
import io
import json

import numpy as np
import pytest
from zoo.peer_csv import as_csv
from zoo.peers import PEERS, Subject, Verdict, foreign_subjects, our_alarms, our_verdicts, table
from zoo.scoring.headlines import headlines
from zoo.wandb_rules import alarms

import pulseboard as pb
from pulseboard.core.finding import Finding, RunReport
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.read import any_runs


def test_peers_get_every_metric_under_a_name_they_recognize(tmp_path):
    with pb.init(dir=tmp_path, run_id="a", telemetry_secs=0, strict=True) as run:
        for step in range(20):
            values = {"Loss/train": 2.0 - step / 20, "Gradient/norm": 1.0, "Performance/step_time_ms": 50.0}
            if step % 10 == 0:
                values["Loss/validation"] = float("nan")
            run.log(values, step=step)
    (training,) = trainings(any_runs(tmp_path))
    rows = list(csv.DictReader(io.StringIO(as_csv(training, case_of(training)))))
    assert len(rows) == 20
    assert set(rows[0]) == {"step", "timestamp", "train_loss", "val_loss", "grad_norm", "step_time"}
    assert float(rows[0]["step_time"]) == pytest.approx(0.05)  # seconds
    assert np.isnan(float(rows[10]["val_loss"]))
    assert rows[1]["val_loss"] == ""


def subject(name, *, accepted=(), slugs=(), steps=10_000):
    findings = tuple(Finding(slug, severity, "loss", 0, 1, "") for slug, severity in slugs)
    report = RunReport(name, "", (0, steps), "general", {}, findings)
    return Subject(name, frozenset(accepted), steps, "", our_alarms(headlines(report)))


def test_the_table_counts_alarms_faults_found_and_false_alarms():
    subjects = [
        subject("right", accepted=["loss-nan"], slugs=[("loss-nan", "critical")]),
        subject("wrong", accepted=["loss-nan"], slugs=[("overfitting", "warning")]),
        subject("mild", accepted=["loss-nan"], slugs=[("loss-nan", "info")]),
        subject("healthy"),
        subject("flagged", slugs=[("loss-spike", "warning"), ("loss-flat", "critical")]),
    ]
    row = table({"ours": our_verdicts(subjects)}).splitlines()[-1]
    assert row == "| ours | 66.7 % (2 of 3) | 33.3 % (1 of 3) | 50.0 % (1 of 2) | 2 | 1.00 |"
    assert "per 10,000" not in table({"ours": our_verdicts(subjects)}, by_steps=False)


def test_an_alarm_of_an_unmapped_kind_still_counts():
    (verdict,) = our_verdicts([subject("a", accepted=["loss-nan"])])
    unknown = Verdict(verdict.subject, ((),))
    assert unknown.alarms
    assert not unknown.right


@pytest.mark.parametrize(
    ("peer", "output", "kinds"),
    [
        (
            "runmedic",
            [{"findings": [{"check": "divergence", "severity": "critical"}, {"check": "a", "severity": "info"}]}],
            ["divergence"],
        ),
        (
            "trainspotter",
            {"findings": [{"detector": "spikes", "severity": "error"}, {"detector": "a", "severity": "info"}]},
            ["spikes"],
        ),
        (
            "trainproof",
            {"reports": [{"findings": [{"id": "TP-NAN", "level": "FAIL"}, {"id": "TP-NO-LOSS", "level": "FAIL"}]}]},
            ["TP-NAN"],
        ),
    ],
)
def test_warnings_and_worse_are_read_from_the_output_of_a_peer(peer, output, kinds):
    (tool,) = [each for each in PEERS if each.name == peer]
    assert tool.alarms(json.dumps(output)) == kinds
    assert set(kinds) <= set(tool.means)


def history(loss, val_loss=()):
    rows = [f"{step},0,{value},{val_loss[step] if len(val_loss) else ''}" for step, value in enumerate(loss)]
    return "\n".join(["step,timestamp,train_loss,val_loss", *rows])


def test_the_rules_of_the_wandb_server_as_published():
    falling = np.linspace(2.0, 0.5, 40).tolist()
    assert alarms(history(falling)) == []
    assert alarms(history(falling[::-1])) == ["diverging"]
    assert alarms(history([2.0] * 40)) == []  # "converged", which is advice to stop, not an alarm
    assert alarms(history([*falling[:20], float("nan")])) == ["nan_warnings"]
    # The distance to validation grows by more than 30 % in the second half.
    assert alarms(history(falling, [2.1] * 40)) == ["overfit_signal"]
    assert alarms(history(falling, [value + 0.1 for value in falling])) == []
    # Fewer than ten values are not judged.
    assert alarms(history([1.0, 9.0, 99.0])) == []
    (rules,) = [peer for peer in PEERS if peer.arguments is None]
    assert {"diverging", "nan_warnings", "overfit_signal"} == set(rules.means)


def test_trainings_by_other_frameworks_are_subjects(tmp_path):
    logs = tmp_path / "runs" / "some-base-lr-x100-10"
    logs.mkdir(parents=True)
    lines = [f"{step},{2.0 if step < 50 else float('nan')}" for step in range(100)]
    (logs / "metrics.csv").write_text("\n".join(["step,train_loss", *lines]))
    (tmp_path / "truth").mkdir()
    truth = {"name": logs.name, "base": "some-base", "fault": "lr-x100", "held_out": False, "visible": True}
    truth |= {"findings": ["loss-nan"], "causes": ["lr-too-high"], "onset_step": None}
    (tmp_path / "truth" / f"{logs.name}.json").write_text(json.dumps(truth))
    (one,) = foreign_subjects(tmp_path, held_out=False)
    assert one.accepted == {"loss-nan"}
    assert any("loss-nan" in slugs for slugs in one.ours)
    assert alarms(one.log) == ["nan_warnings"]
    assert foreign_subjects(tmp_path, held_out=True) == []
