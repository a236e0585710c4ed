"""Logs of public projects: the server has what `pb.read` reads."""

import math
import urllib.parse

import pytest
from corpus import need_corpus, need_wild
from servers import a_server

import pulseboard as pb


def test_parallel_environments_of_a_real_training_are_one_run():
    runs = pb.read(need_corpus() / "AllanHenri+PIBIC_PETOI")
    assert [len(run.logs()) for run in runs.values() if run.format == "sb3-monitor"] == [8]


@pytest.mark.parametrize("folder", ["AdirajJohn+Audio_Classification", "1010sb+ImageClass", "AtariRL+atari-pytorch"])
def test_the_server_has_the_points_that_are_read(folder, tmp_path):
    top = need_wild() / folder
    runs = pb.read(top)
    with a_server(top, tmp_path) as server:
        served = {run["name"]: run["points"] for run in server.api("runs").json["runs"]}
        assert served == {name: run.points for name, run in runs.items()}
        for name, run in runs.items():
            for tag in run.tags("scalar"):
                _assert_same(server, name, run.series(tag))


def _assert_same(server, name, series):
    query = {"run": name, "tag": series.tag, "offset": len(series) - 1}
    found = server.api("points?" + urllib.parse.urlencode(query)).json
    assert found["total"] == len(series)
    assert found["steps"] == [int(series.steps[-1])]
    last = float(found["values"][0])
    assert last == series.values[-1] or (math.isnan(last) and math.isnan(series.values[-1]))
