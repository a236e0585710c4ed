"""`pulseboard wait`: returns when something happens, with an exit code for each way to end."""

import json
import os
import subprocess
import sys
import time

import pytest
from log_directories import append, write_run

import pulseboard as pb


@pytest.fixture
def recorded(tmp_path):
    with pb.init(dir=tmp_path, run_id="done", telemetry_secs=0, strict=True) as run:
        for step in range(300):
            run.log({"train/loss": float("nan") if step > 200 else 1 / (step + 1)}, step=step)
    return tmp_path


@pytest.mark.parametrize(
    ("until", "text"),
    [
        ("finding", "critical loss-nan: "),
        ("finding=loss-nan", "critical loss-nan: "),
        ("finding=critical", "critical loss-nan: "),
        ("step=299", "step 299"),
        ("end", "finished at step 299. critical: "),
    ],
)
def test_a_condition_that_is_met_already_returns_at_once(pulseboard, recorded, until, text):
    ran = pulseboard("wait", recorded, "--until", until)
    assert ran.code == 0
    assert ran.out.startswith(f"{until}  done  {text}")


def test_runs_that_ended_without_it_give_code_1(pulseboard, recorded):
    ran = pulseboard("wait", recorded, "--until", "step=300", "--until", "finding=overfitting")
    assert (ran.code, ran.out) == (1, "ended first  done  finished at step 299\n")


def test_time_that_is_up_gives_code_124(pulseboard, tmp_path):
    write_run(tmp_path / "a", (5, 1.0))
    ran = pulseboard("wait", tmp_path, "--until", "step=6", "--timeout", "0.1", "--json")
    assert ran.code == 124
    document = json.loads(ran.out)
    assert (document["result"], document["text"]) == ("timeout", "a at step 5")


def test_a_log_that_does_not_grow_has_ended(pulseboard, tmp_path):
    path = write_run(tmp_path / "a", (5, 1.0))
    os.utime(path, (time.time() - 100, time.time() - 100))
    assert pulseboard("wait", tmp_path, "--idle", "1000", "--timeout", "0").code == 124
    assert pulseboard("wait", tmp_path, "--idle", "50").code == 0


def test_a_value_that_comes_later_is_waited_for(tmp_path):
    path = write_run(tmp_path / "a", (0, 1.0))
    command = [sys.executable, "-m", "pulseboard", "wait", str(tmp_path), "--until", "loss<0.5", "--timeout", "120"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(0.2)
        append(path, (1, 0.6), (2, 0.4))
        out = process.communicate()[0]
    assert (process.returncode, out) == (0, "loss<0.5  a  loss 0.4 at step 2\n")


@pytest.mark.parametrize(
    ("until", "why"),
    [
        ("nonsense", "it is not a condition"),
        ("step=x", "'x' is not a step"),
        ("finding=no-such", "there is no finding 'no-such'"),
        ("loss<big", "'big' is not a number"),
    ],
)
def test_a_condition_that_cannot_be_understood_is_an_error(pulseboard, recorded, until, why):
    ran = pulseboard("wait", recorded, "--until", until)
    assert ran.code == 2
    assert ran.err.startswith(f"pulseboard: Cannot wait until {until!r}: {why}")
    assert "Conditions: finding, " in ran.err
