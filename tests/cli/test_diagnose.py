"""`pulseboard diagnose`: what is wrong with runs, in every form the command has."""

import json
import os
import pty
import re
import signal
import subprocess
import sys

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


def test_a_healthy_run_is_reported_healthy_with_what_more_could_be_checked(pulseboard, trainings, golden):
    ran = pulseboard("diagnose", trainings, "-r", "healthy")
    assert (ran.code, ran.err) == (0, "")
    golden(ran.out, "diagnose_healthy.txt")
    assert "No problems found." in ran.out


def test_a_broken_run_is_critical_with_curve_cause_check_and_fix(pulseboard, trainings, golden):
    ran = pulseboard("diagnose", trainings / "broken")
    assert (ran.code, ran.err) == (1, "")
    golden(steady(ran.out), "diagnose_broken.txt")
    assert "✖ broken  critical" in ran.out
    for part in ("loss-nan", "step 180", "××××", "▔▔▔▔", "cause", "Next check", "Fixes"):
        assert part in ran.out, part


def test_several_runs_end_in_a_table_with_the_worst_first(pulseboard, trainings, golden):
    ran = pulseboard("diagnose", trainings)
    assert ran.code == 1
    golden(steady(ran.out), "diagnose.txt")
    table = ran.out[ran.out.index("likely cause") :]
    assert re.findall(r"^(\w+) .*(?:critical|warning|info|healthy)", table, re.MULTILINE)[:3] == [
        "broken",
        "overfits",
        "healthy",
    ]
    assert "✔ healthy" not in ran.out  # well, so the table is enough


def test_a_run_that_cannot_be_judged_says_what_is_missing(pulseboard, tmp_path):
    write(tmp_path / "unnamed" / EVENTS, *events({"zork": falling()}))
    write(tmp_path / "short" / EVENTS, *events({"train/loss": falling(3)}))
    alone = pulseboard("diagnose", tmp_path, "-r", "unnamed")
    assert (alone.code, alone.err) == (0, "")
    assert "? unnamed  not enough data" in alone.out
    assert "No training loss, validation loss, accuracy or return was recognized" in alone.out
    short = pulseboard("diagnose", tmp_path, "-r", "short").out
    assert "Too few points to judge (train/loss)" in short
    both = pulseboard("diagnose", tmp_path).out
    assert "2 not enough data" in both


def test_all_shows_everything(pulseboard, trainings):
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


def test_json_has_the_documented_schema(pulseboard, trainings):
    ran = pulseboard("diagnose", trainings, "--json")
    document = json.loads(ran.out, parse_constant=lambda word: 1 / 0)
    assert document["schema"] == 2
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
def test_the_exit_code_follows_fail_on(pulseboard, trainings, run, fail_on, code):
    assert pulseboard("diagnose", trainings, "-r", run, "--fail-on", fail_on).code == code


def test_unreadable_input_is_exit_code_2(pulseboard, tmp_path):
    ran = pulseboard("diagnose", tmp_path / "nothing")
    assert (ran.code, ran.out) == (2, "")
    assert "no such file or directory" in ran.err
    (tmp_path / "empty").mkdir()
    ran = pulseboard("diagnose", tmp_path / "empty")
    assert ran.code == 2
    assert "No runs to diagnose" in ran.err


# ---- roles and profiles


def test_a_tag_can_be_given_a_role(pulseboard, tmp_path):
    write(tmp_path / "a" / EVENTS, *events({"zork": ending_in_nan()["train/loss"]}))
    assert pulseboard("diagnose", tmp_path / "a").code == 0
    ran = pulseboard("diagnose", tmp_path / "a", "--role", "train.loss=zork")
    assert ran.code == 1
    assert "loss-nan" in ran.out


@pytest.mark.parametrize("given", ["train.los=a", "train.loss"])
def test_an_unknown_role_is_rejected_with_the_known_ones(pulseboard, trainings, given):
    ran = pulseboard("diagnose", trainings, "--role", given)
    assert ran.code == 2
    assert repr(given) in ran.err
    assert "train.loss" in ran.err


def test_an_unknown_tag_is_reported(pulseboard, trainings):
    ran = pulseboard("diagnose", trainings, "--role", "train.loss=los")
    assert (ran.code, ran.out) == (2, "")
    assert "No run has a scalar 'los' to read as train.loss" in ran.err


def test_a_custom_profile_applies(pulseboard, trainings, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[severities]\nloss-nan = "info"\n')
    ran = pulseboard("diagnose", trainings, "-r", "broken", "--profile", own, "--json")
    (run,) = json.loads(ran.out)["runs"]
    assert run["profile"] == "own"
    assert {one["severity"] for one in run["findings"] if one["slug"] == "loss-nan"} == {"info"}


def test_a_mistake_in_a_profile_is_reported_with_its_location(pulseboard, trainings, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text("[limits.loss-spike]\nrize = 3\n")
    ran = pulseboard("diagnose", trainings, "--profile", own)
    assert (ran.code, ran.out) == (2, "")
    assert "loss-spike has no limit 'rize'; it has least, noise, rise" in ran.err
    assert str(own) in ran.err
    own.write_text("limits = [")
    assert "Not a TOML file" in pulseboard("diagnose", trainings, "--profile", own).err


# ---- files


def test_the_extension_of_the_file_sets_the_format(pulseboard, trainings, tmp_path):
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


def test_the_html_file_is_self_contained(pulseboard, trainings, tmp_path):
    pulseboard("diagnose", trainings, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=|@import|url\(""", page)
    assert "<svg" in page


# ---- watching


def test_watch_reports_a_finding_soon_and_exits_cleanly(tmp_path):
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
        until(process, "No problems found")
        with path.open("ab") as log:
            log.write(event_file(*(at(step, scalar("train/loss", float("nan"))) for step in range(100, 140))))
        line = until(process, "loss-nan")
        assert "opened  critical" in line
        assert "The loss became NaN or infinite" in line
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
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


def test_an_unknown_finding_suggests_similar_ones(pulseboard):
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


# ---- compared with known-good runs


def test_a_run_is_compared_with_known_good_ones(pulseboard, tmp_path):
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=300) * 0.02
        write(tmp_path / "good" / str(seed) / EVENTS, *events({"train/loss": falling() + noise}))
    write(tmp_path / "new" / EVENTS, *events({"train/loss": falling() + 0.4}))
    assert pulseboard("diagnose", tmp_path / "new", "--fail-on", "warning").code == 0
    ran = pulseboard("diagnose", tmp_path / "new", "--against", tmp_path / "good", "--fail-on", "warning")
    assert ran.code == 1
    assert "is above the range of 3 earlier runs" in re.sub(r"\s+", " ", ran.out)
    ran = pulseboard("diagnose", tmp_path / "new", "--against", tmp_path / "new")
    assert ran.code == 2
    assert "comparing needs 3" in re.sub(r"\s+", " ", ran.err)
