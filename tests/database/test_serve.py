import json
import time
import urllib.request

from database.comparing import push
from log_directories import append, write_run

import pulseboard as pb


def test_the_dashboard_of_a_database_shows_new_points_and_keeps_marks_there(tmp_path, url, connection):
    path = write_run(tmp_path / "logs" / "run", *((step, 1.0) for step in range(10)))
    push(tmp_path / "logs", connection)
    with pb.serve(url, port=0) as server:
        _until(lambda: [run["points"] for run in _get(server, "runs")["runs"]] == [10])
        append(path, (10, 2.0))
        push(tmp_path / "logs", connection)
        _until(lambda: _get(server, "runs")["runs"][0]["points"] == 11)
        _request(server, "marks", {"marks": {"run": {"name": "mine", "pinned": True}}})
        assert _get(server, "runs")["runs"][0]["marks"]["name"] == "mine"
    with pb.serve(url, port=0) as another:
        _until(lambda: len(_get(another, "runs")["runs"]) == 1)
        assert _get(another, "marks")["marks"]["run"]["pinned"]


def _get(server, what):
    with urllib.request.urlopen(f"{server.url}api/{what}", timeout=60) as response:
        return json.load(response)


def _request(server, what, body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(
        f"{server.url}api/{what}", data=json.dumps(body).encode(), headers=headers, method="PUT"
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def _until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
