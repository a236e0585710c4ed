"""The dashboard shows the runs that `ls` lists, with the same values, whatever their format."""

import json
import os

import numpy as np
import pytest
from corpus import need_corpus, need_wild
from log_directories import write_run
from other_formats import written
from servers import wait_for

import pulseboard as pb
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import Query
from pulseboard.cli.main import main
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.runs import Runs

pytestmark = pytest.mark.early  # it reads every published log

_HISTORY = [{"step": step, "loss": 3.0 / step, "learning_rate": 0.1} for step in range(1, 6)]


def _events(top):
    write_run(top / "run", (0, 1.0), (1, 0.5))


def _csv(top):
    written(top / "a" / "log.csv", "epoch,loss,val_loss\n0,2,3\n1,1.5,2.5\n2,1,2\n")


def _lightning(top):
    write_run(top / "lightning_logs" / "version_0", (0, 2.0), (1, 1.0))
    written(top / "lightning_logs" / "version_0" / "metrics.csv", "epoch,step,loss,acc\n0,0,2,\n0,1,1,0.5\n")


def _json_lines(top):
    written(top / "log.jsonl", "".join(json.dumps(record) + "\n" for record in _HISTORY))


def _trainer_state(top):
    written(top / "results" / "checkpoint-5" / "trainer_state.json", json.dumps({"log_history": _HISTORY}))


def _mlflow(top):
    written(top / "mlruns" / "0" / "abc" / "metrics" / "loss", "1700000000000 0.5 0\n1700000001000 0.25 1\n")


def _text(top):
    written(top / "train.log", "".join(f"step {step}: loss {1 / (step + 1):.4f}\n" for step in range(5)))


def _long_csv(top):
    written(top / "all.csv", "run,tag,step,wall_time,value\na,loss,0,100.5,0.1\na,loss,1,101.5,nan\nb,acc,7,nan,2\n")


def _listed(top, capsys):
    assert main(["ls", str(top), "--json"]) == 0
    return {run["run"]: run for run in json.loads(capsys.readouterr().out)["runs"]}


def _assert_dashboard_shows(top, listed):
    runs = Runs(log_directories_from([top]))
    charts = LocalCharts(runs)
    charts.refresh()
    shown = {summary.name: summary for summary in charts.run_summaries()}
    assert shown.keys() == listed.keys()
    assert {name: (one.points, one.tags) for name, one in shown.items()} == {
        name: (run["points"], run["tags"]) for name, run in listed.items()
    }
    read = pb.read(top)
    assert list(read) == list(runs)
    for name, run in read.items():
        for tag in run.tags("scalar")[:20]:
            series = run.series(tag)
            (window,) = charts.window(Query([name], [tag], buckets=max(1, min(len(series), 10_000))))
            assert (window.run, window.tag, window.points) == (name, tag, len(series))
            if window.exact:
                order = np.argsort(series.steps, kind="stable")
                np.testing.assert_array_equal(window.columns["y"], series.values[order])


_WRITERS = [_events, _csv, _lightning, _json_lines, _trainer_state, _mlflow, _text, _long_csv]


@pytest.mark.parametrize("write", _WRITERS, ids=lambda write: write.__name__.strip("_"))
def test_the_dashboard_shows_what_ls_lists(tmp_path, write, capsys):
    write(tmp_path)
    listed = _listed(tmp_path, capsys)
    assert listed
    _assert_dashboard_shows(tmp_path, listed)


def test_the_dashboard_shows_what_ls_lists_of_all_formats_together(tmp_path, capsys):
    for write in _WRITERS:
        write(tmp_path / write.__name__.strip("_"))
    listed = _listed(tmp_path, capsys)
    assert len(listed) == len(_WRITERS) + 1  # one file has two runs
    _assert_dashboard_shows(tmp_path, listed)


@pytest.mark.parametrize(
    "needed", [need_corpus, pytest.param(need_wild, marks=pytest.mark.long)], ids=["corpus", "wild"]
)
def test_the_dashboard_shows_what_ls_lists_in_real_logs(capsys, needed):
    top = needed()
    for name in sorted(os.listdir(top)):
        if (top / name).is_dir():
            _assert_dashboard_shows(top / name, _listed(top / name, capsys))


def test_a_row_of_a_csv_reaches_the_page(serve, tmp_path):
    path = written(tmp_path / "logs" / "log.csv", "step,loss\n0,1\n1,0.5\n")
    server = serve(tmp_path / "logs")
    (run,) = server.api("runs").json["runs"]
    assert (run["name"], run["last_step"]) == ("log.csv", 1)
    with path.open("a") as stream:
        stream.write("2,0.25\n")
    wait_for(lambda: server.api("runs").json["runs"][0]["last_step"] == 2)


def test_the_axis_is_the_same_in_ls_in_show_and_over_http(serve, tmp_path, capsys):
    logs = tmp_path / "logs"
    _csv(logs)
    _json_lines(logs)
    _events(logs)
    kinds = {"a/log.csv": "epoch", "log.jsonl": "step", "run": "step"}
    listed = _listed(logs, capsys)
    assert {name: run["axis"]["kind"] for name, run in listed.items()} == kinds
    assert main(["show", str(logs), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["runs"]
    assert {run["run"]: {tag["axis"]["kind"] for tag in run["tags"]} for run in shown} == {
        name: {kind} for name, kind in kinds.items()
    }
    server = serve(logs)
    served = {run["name"]: run for run in server.api("runs").json["runs"]}
    assert {name: run["axis"] for name, run in served.items()} == {name: run["axis"] for name, run in listed.items()}
    for name, kind in kinds.items():
        assert server.api(f"points?run={name}&tag=loss").json["axis"]["kind"] == kind
        ((header, _),) = server.window([name], ["loss"]).values()
        assert header["axis"] == kind
