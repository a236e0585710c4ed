"""The demonstration as a person sees it: an address at once, curves within seconds, findings, and a clean end."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import pulseboard as pb

pytestmark = pytest.mark.early

# A busy machine does not finish the trainings in the shortest of these, and gets more time.
DURATIONS = (24, 120, 600)
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextmanager
def started(directory, *flags):
    """The command as a process of its own, ended with the block; what it says is gathered as it comes."""
    with subprocess.Popen(
        [sys.executable, "-m", "pulseboard", "demo", "--dir", str(directory), "--port", "0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PULSEBOARD_DATA_DIR": str(directory / "data"), "XDG_CACHE_HOME": str(directory / "cache")},
    ) as process:
        demo = SimpleNamespace(process=process, lines=[], began=time.monotonic())
        demo.reader = threading.Thread(target=lambda: demo.lines.extend(process.stdout))
        demo.reader.start()
        try:
            yield demo
        finally:
            process.kill()
            demo.reader.join(10)


def address(demo, *, secs=120):
    """Where the dashboard is, once that is said."""
    while time.monotonic() < demo.began + secs:
        if demo.lines and (found := re.search(r"Pulseboard is at (http://\S+/)", demo.lines[0])):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"no address within {secs} s: {demo.lines}")


def runs_of(url):
    with _opener.open(f"{url}api/runs", timeout=120) as answer:
        return {run["name"]: run for run in json.load(answer)["runs"]}


def wait_for_points(demo, url, *, secs=120):
    """The four runs, as soon as each has points."""
    while time.monotonic() < demo.began + secs:
        runs = runs_of(url)
        if len(runs) == 4 and all(run["points"] for run in runs.values()):
            return runs
        time.sleep(0.1)
    raise AssertionError(f"no points within {secs} s: {runs}")


def ended(demo, *, secs=300):
    code = demo.process.wait(secs)
    demo.reader.join(10)
    return code, "".join(demo.lines), demo.process.stderr.read()


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """One demonstration from its start to its own end, in which every training finished."""
    for seconds in DURATIONS:
        one = demonstration(tmp_path_factory.mktemp("demo") / "runs", seconds)
        if one.finished:
            break
    return one


def demonstration(directory, seconds):
    with started(directory, "--seconds", str(seconds)) as demo:
        url = address(demo)
        addressed = time.monotonic() - demo.began
        wait_for_points(demo, url)
        pictured = time.monotonic() - demo.began
        running = demo.process.poll() is None
        code, out, err = ended(demo, secs=seconds + 300)
        took = time.monotonic() - demo.began
    status = {path.parent.name: json.loads(path.read_text())["status"] for path in directory.glob("*/run.json")}
    return SimpleNamespace(
        directory=directory,
        seconds=seconds,
        addressed=addressed,
        pictured=pictured,
        running=running,
        took=took,
        finished=len(status) == 4 and set(status.values()) == {"finished"},
        code=code,
        out=out,
        err=err,
    )


def test_the_first_chart_has_data_long_before_the_end(shown):
    assert shown.addressed < shown.pictured
    assert shown.running


def test_it_exits_when_its_time_is_up(shown):
    assert shown.code == 0
    assert shown.took > shown.seconds - 1
    assert shown.err == f"Stopped. The runs are in {shown.directory}\n"


@pytest.mark.parametrize(
    ("run", "slugs"),
    [
        ("diverging", {"loss-nan", "loss-diverged"}),
        ("overfitting", {"overfitting"}),
        ("collapsing", {"representation-collapse"}),
    ],
)
def test_findings_are_printed_as_they_appear(shown, run, slugs):
    printed = re.findall(rf"^ +\d+ s  {run}  (?:warning|critical) (\S+)  \S", shown.out, re.MULTILINE)
    assert set(printed) & slugs
    printed = re.findall(r"^ +\d+ s  .*$", shown.out, re.MULTILINE)
    assert len(printed) == len({line.split(" s  ", 1)[1] for line in printed}), "a finding was printed twice"


def test_nothing_is_reported_about_the_healthy_run(shown):
    assert re.findall(r"^ +\d+ s  healthy.*$", shown.out, re.MULTILINE) == []


def test_it_ends_with_a_summary_table(shown):
    rows = re.findall(
        r"^(collapsing|diverging|healthy|overfitting) +(critical|warning|info|healthy) ", shown.out, re.MULTILINE
    )
    status = dict(rows)
    assert status["collapsing"] == status["diverging"] == "critical"
    assert status["overfitting"] == "warning"
    assert status["healthy"] in ("healthy", "info")


def test_the_runs_remain_and_are_complete(shown):
    log = pb.read(shown.directory)
    assert {"collapsing", "diverging", "healthy", "overfitting"} <= set(log)
    assert shown.finished


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_stop_it_and_its_trainings(tmp_path, sign):
    with started(tmp_path / "runs") as demo:
        url = address(demo)
        wait_for_points(demo, url)
        demo.process.send_signal(sign)
        code, out, err = ended(demo, secs=120)
    assert (code, err) == (0, f"\nStopped. The runs are in {tmp_path / 'runs'}\n")
    assert "Traceback" not in out
    # A training that still runs still logs.
    before = pb.read(tmp_path / "runs")["healthy"].points
    time.sleep(1)
    assert pb.read(tmp_path / "runs")["healthy"].points == before


def test_a_directory_it_did_not_create_is_not_overwritten(pulseboard, tmp_path):
    (tmp_path / "healthy").mkdir()
    ran = pulseboard("demo", "--dir", tmp_path, "--seconds", "5", "--port", "0")
    assert (ran.code, ran.out) == (2, "")
    assert f"Choose another directory with --dir: {tmp_path / 'healthy'}" in ran.err


@pytest.mark.parametrize("seconds", ["0", "-3", "soon", "nan", "1e9"])
def test_an_invalid_duration_is_an_error(pulseboard, seconds):
    ran = pulseboard("demo", "--seconds", seconds)
    assert ran.code == 2
    assert "is not a number from 5 to 86400" in ran.err


def test_its_help_has_examples(pulseboard):
    ran = pulseboard("demo", "--help")
    assert "  pulseboard demo --seconds 30 " in ran.out
