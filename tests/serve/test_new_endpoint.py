"""Adding an endpoint takes one file in routes/ and nothing else."""

import inspect
import json
import subprocess
import sys
import textwrap

from pulseboard.serve import routes

# Serves a directory with one more file on the path of `routes`, as if it were in the package.
SERVE = """
import json, sys, urllib.error, urllib.request
import pulseboard as pb
from pulseboard.serve import routes

routes.__path__.append(sys.argv[1])

def fetch(url):
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=120) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

with pb.serve(sys.argv[2], port=0) as server:
    paths = ("run_count", "run_count?unknown=1", "openapi.json")
    print(json.dumps([fetch(server.url + "api/" + path) for path in paths]))
"""


def example():
    """The example in the documentation of `routes`."""
    return textwrap.dedent(inspect.getdoc(routes).partition("types.\n\n")[2])


def test_the_example_in_the_documentation_is_served_validated_and_documented(tmp_path, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "more").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "more" / "run_count.py").write_text(example())
    done = subprocess.run(
        [sys.executable, "-c", SERVE, str(tmp_path / "more"), str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    (status, body), (refused, error), (_, document) = json.loads(done.stdout)
    assert (status, body) == (200, {"runs": 0})
    assert (refused, "unknown" in error["error"]["what"]) == (400, True)
    operation = document["paths"]["/run_count"]["get"]
    assert operation["summary"] == "The number of runs."
    assert document["components"]["schemas"]["RunCount"]["required"] == ["runs"]
