"""`pulseboard diagnose`: what is wrong with runs, in every form the command has."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from builders import event_file, scalar, summary, version

EVENTS = "events.out.tfevents.1700000000.host"


def at(step, *values):
    return summary(*values, step=step, wall_time=1_700_000_000.0 + step)


def write(path, *records):
    path.parent.mkdir(parents=True)
    path.write_bytes(event_file(version(), *records))


def falling(n=300):
    return 1.5 + 3 * np.exp(-np.arange(n) / 40) + np.random.default_rng(0).normal(size=n) * 0.04


def events(curves):
    """The records of a run: tag -> values, or (steps, values)."""
    points = {
        tag: values if isinstance(values, tuple) else (range(len(values)), values) for tag, values in curves.items()
    }
    by_step = {}
    for tag, (steps, values) in points.items():
        for step, value in zip(steps, values, strict=True):
            by_step.setdefault(step, []).append(scalar(tag, float(value)))
    for step, values in sorted(by_step.items()):
        yield at(step, *values)


def overfitting():
    evaluations = np.arange(0, 300, 10)
    return {
        "train/loss": falling() * np.linspace(1, 0.5, 300),
        "val/loss": (evaluations, np.interp(evaluations, [0, 100, 299], [4.5, 1.7, 3.2])),
    }


def ending_in_nan():
    loss = falling()
    loss[180:] = np.nan
    return {"train/loss": loss}


@pytest.fixture
def trainings(tmp_path):
    """A healthy run, one that overfits and one that ends in NaN."""
    root = tmp_path / "trainings"
    write(root / "healthy" / EVENTS, *events({"train/loss": falling()}))
    write(root / "overfits" / EVENTS, *events(overfitting()))
    write(root / "broken" / EVENTS, *events(ending_in_nan()))
    return root


# ---- text


def steady(text):
    """The text without probabilities: they move whenever a weight is tuned, and tests/diagnose has them."""
    return re.sub(r"[ \d]\d %", "## %", text)


def test_a_healthy_run_is_said_to_be_well_and_what_more_could_be_checked(pulseboard, trainings, golden):
    ran = pulseboard("diagnose", trainings, "-r", "healthy")
    assert (ran.code, ran.err) == (0, "")
    golden(ran.out, "diagnose_healthy.txt")
    assert "Nothing wrong was found." in ran.out


def test_a_broken_run_is_critical_with_curve_cause_check_and_cure(pulseboard, trainings, golden):
    ran = pulseboard("diagnose", trainings / "broken")
    assert (ran.code, ran.err) == (1, "")
    golden(steady(ran.out), "diagnose_broken.txt")
    assert "✖ broken  critical" in ran.out
    for part in ("loss-nan", "step 180", "××××", "▔▔▔▔", "cause", "Check next", "What to change"):
        assert part in ran.out, part


def test_several_runs_end_in_a_table_with_the_worst_first(pulseboard, trainings, golden):
    ran = pulseboard("diagnose", trainings)
    assert ran.code == 1
    golden(steady(ran.out), "diagnose.txt")
    table = ran.out[ran.out.index("likeliest cause") :]
    assert re.findall(r"^(\w+) .*(?:critical|warning|info|ok)", table, re.MULTILINE)[:3] == [
        "broken",
        "overfits",
        "healthy",
    ]
    assert "✔ healthy" not in ran.out  # well, so the table is enough


def test_everything_can_be_asked_for(pulseboard, trainings):
    out = pulseboard("diagnose", trainings, "--all").out
    assert "✔ healthy" in out
    assert "weights-frozen: no tag was read as update.ratio" in out
    assert "pb.watch(model, optimizer)" in out
    assert re.search(r"Read as\n\s+train\.loss\s+train/loss", out)


def test_a_narrow_terminal_gets_lines_that_fit(trainings):
    text = in_a_terminal(["diagnose", trainings], columns=60)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "loss-nan" in plain
    assert "overfits" in plain
    assert [line for line in plain.splitlines() if len(line.rstrip()) > 60] == []
    assert "\x1b[1;31m" in text  # what is critical is red


def in_a_terminal(args, *, columns):
    """What the command prints to a terminal of this width."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    process = subprocess.Popen([*COMMAND, *map(str, args)], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    process.wait(20)
    return text.decode().replace("\r\n", "\n")


COMMAND = [sys.executable, "-m", "pulseboard"]


# ---- for programs


def test_json_has_the_schema_that_is_promised(pulseboard, trainings):
    ran = pulseboard("diagnose", trainings, "--json")
    document = json.loads(ran.out, parse_constant=lambda word: 1 / 0)
    assert document["schema"] == 1
    runs = {run["run"]: run for run in document["runs"]}
    assert {name: run["status"] for name, run in runs.items()} == {
        "broken": "critical",
        "healthy": "ok",
        "overfits": "warning",
    }
    broken = runs["broken"]
    assert set(broken) >= {"run", "path", "status", "steps", "profile", "roles", "findings", "causes", "next_check"}
    assert broken["steps"] == [0, 299]
    assert broken["roles"] == {"train.loss": "train/loss"}
    finding = next(one for one in broken["findings"] if one["slug"] == "loss-nan")
    assert set(finding) == {
        "slug",
        "severity",
        "metric",
        "first_step",
        "last_step",
        "summary",
        "evidence",
        "causes",
        "checks",
        "fixes",
    }
    assert (finding["first_step"], finding["metric"]) == (180, "train/loss")
    assert finding["checks"]
    assert finding["fixes"]
    assert all(set(one) == {"slug", "because", "log"} for one in broken["not_checked"])


@pytest.mark.parametrize(
    ("run", "fail_on", "code"),
    [
        ("healthy", "info", 0),
        ("overfits", "critical", 0),
        ("overfits", "warning", 1),
        ("broken", "critical", 1),
        ("broken", "warning", 1),
    ],
)
def test_the_exit_code_tells_whether_something_is_at_or_above_fail_on(pulseboard, trainings, run, fail_on, code):
    assert pulseboard("diagnose", trainings, "-r", run, "--fail-on", fail_on).code == code


def test_what_cannot_be_read_is_exit_code_2(pulseboard, tmp_path):
    ran = pulseboard("diagnose", tmp_path / "nothing")
    assert (ran.code, ran.out) == (2, "")
    assert "no such file or directory" in ran.err
    (tmp_path / "empty").mkdir()
    ran = pulseboard("diagnose", tmp_path / "empty")
    assert ran.code == 2
    assert "no runs to diagnose" in ran.err


# ---- roles and profiles


def test_a_tag_can_be_given_a_role(pulseboard, tmp_path):
    write(tmp_path / "a" / EVENTS, *events({"zork": ending_in_nan()["train/loss"]}))
    assert pulseboard("diagnose", tmp_path / "a").code == 0
    ran = pulseboard("diagnose", tmp_path / "a", "--role", "train.loss=zork")
    assert ran.code == 1
    assert "loss-nan" in ran.out


@pytest.mark.parametrize("given", ["train.los=a", "train.loss"])
def test_a_role_that_does_not_exist_is_refused_with_those_that_do(pulseboard, trainings, given):
    ran = pulseboard("diagnose", trainings, "--role", given)
    assert ran.code == 2
    assert repr(given) in ran.err
    assert "train.loss" in ran.err


def test_a_tag_that_is_not_there_is_said_so(pulseboard, trainings):
    ran = pulseboard("diagnose", trainings, "--role", "train.loss=los")
    assert (ran.code, ran.out) == (2, "")
    assert "No run has a scalar 'los' to read as train.loss" in ran.err


def test_a_profile_of_ones_own_counts(pulseboard, trainings, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[severities]\nloss-nan = "info"\n')
    ran = pulseboard("diagnose", trainings, "-r", "broken", "--profile", own, "--json")
    (run,) = json.loads(ran.out)["runs"]
    assert run["profile"] == "own"
    assert {one["severity"] for one in run["findings"] if one["slug"] == "loss-nan"} == {"info"}


def test_a_mistake_in_a_profile_is_told_with_the_place(pulseboard, trainings, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text("[limits.loss-spike]\nrize = 3\n")
    ran = pulseboard("diagnose", trainings, "--profile", own)
    assert (ran.code, ran.out) == (2, "")
    assert "loss-spike has no limit 'rize'; it has rise" in ran.err
    assert str(own) in ran.err
    own.write_text("limits = [")
    assert "Not a TOML file" in pulseboard("diagnose", trainings, "--profile", own).err


# ---- files


def test_the_ending_of_the_file_chooses_its_form(pulseboard, trainings, tmp_path):
    for name, begins in (
        ("r.html", "<!doctype html>"),
        ("r.md", "# Diagnosis"),
        ("r.json", "{"),
        ("r.txt", "✖ broken"),
    ):
        ran = pulseboard("diagnose", trainings, "-o", tmp_path / name)
        assert (ran.code, ran.out) == (1, "")
        assert str(tmp_path / name) in ran.err
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.startswith(begins), name
        assert "loss-nan" in text


def test_the_html_file_needs_nothing_else(pulseboard, trainings, tmp_path):
    pulseboard("diagnose", trainings, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=|@import|url\(""", page)
    assert "<svg" in page


# ---- watching


def test_watching_tells_a_finding_within_seconds_and_ends_quietly(tmp_path):
    path = tmp_path / "run" / EVENTS
    loss = falling()
    write(path, *events({"train/loss": loss[:100]}))
    process = subprocess.Popen(
        [*COMMAND, "diagnose", str(tmp_path), "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        until(process, "Nothing wrong was found")
        with path.open("ab") as log:
            log.write(event_file(*(at(step, scalar("train/loss", float("nan"))) for step in range(100, 140))))
        began = time.monotonic()
        line = until(process, "loss-nan")
        assert time.monotonic() - began < 15  # about 3 s on a quiet machine
        assert "critical" in line
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    finally:
        if process.poll() is None:
            process.kill()
    assert process.returncode == 1
    assert "Traceback" not in err


def until(process, words):
    """The first line with the words."""
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"{words!r} was never said; {process.stderr.read()}")


# ---- explain


def test_a_finding_is_explained(pulseboard):
    ran = pulseboard("explain", "loss-spike")
    assert ran.code == 0
    assert ran.out.startswith("# ")
    assert "## Look first" in ran.out
    every = pulseboard("explain").out
    assert "loss-spike" in every
    assert "moe-imbalance" in every
    assert {one["slug"] for one in json.loads(pulseboard("explain", "--json").out)} >= {"loss-spike", "loss-nan"}


def test_a_finding_that_does_not_exist_is_met_with_the_nearest(pulseboard):
    ran = pulseboard("explain", "loss-spikes")
    assert ran.code == 2
    assert "Nearest: loss-spike" in ran.err


def test_a_profile_is_explained(pulseboard, golden):
    ran = pulseboard("explain", "--profile", "moe")
    assert ran.code == 0
    golden(ran.out, "explain_profile.txt")
    document = json.loads(pulseboard("explain", "--profile", "gpt", "--json").out)
    assert document["name"] == "gpt"
    assert pulseboard("explain", "loss-spike", "--profile", "gpt").code == 2


# ---- beside earlier runs


def test_a_run_is_held_against_earlier_ones(pulseboard, tmp_path):
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=300) * 0.02
        write(tmp_path / "good" / str(seed) / EVENTS, *events({"train/loss": falling() + noise}))
    write(tmp_path / "new" / EVENTS, *events({"train/loss": falling() + 0.4}))
    assert pulseboard("diagnose", tmp_path / "new", "--fail-on", "warning").code == 0
    ran = pulseboard("diagnose", tmp_path / "new", "--against", tmp_path / "good", "--fail-on", "warning")
    assert ran.code == 1
    assert "lies above the band of 3 earlier runs" in re.sub(r"\s+", " ", ran.out)
    ran = pulseboard("diagnose", tmp_path / "new", "--against", tmp_path / "new")
    assert ran.code == 2
    assert "a band takes 3" in re.sub(r"\s+", " ", ran.err)
