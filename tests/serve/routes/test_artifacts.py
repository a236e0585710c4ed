"""Artifacts over HTTP: listed with their sizes, downloaded as they were kept, and nothing else."""

import hashlib
import json
from urllib.parse import quote

import pytest

import pulseboard as pb

MODEL = bytes(range(256)) * 2000


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("artifacts")
    (directory / "out").mkdir()
    (directory / "out" / "model 1.pt").write_bytes(MODEL)
    (directory / "out" / "page.html").write_text("<script>alert(1)</script>")
    with pb.init(dir=directory / "runs", run_id="r", telemetry_secs=0, strict=True) as run:
        run.log({"loss": 1.0}, step=0)
        run.artifact(directory / "out")
    with pb.init(dir=directory / "runs", run_id="none", telemetry_secs=0, strict=True) as run:
        run.log({"loss": 1.0}, step=0)
    return directory / "runs"


def test_the_artifacts_of_a_run_are_listed(server):
    items = server.api("artifacts?run=r").json["items"]
    assert [(one["name"], one["bytes"]) for one in items] == [("out/model 1.pt", len(MODEL)), ("out/page.html", 25)]
    assert items[0]["sha256"] == hashlib.sha256(MODEL).hexdigest()
    assert items[0]["time"] > 1e9
    assert server.api("artifacts?run=none").json == {"items": []}
    assert {run["name"]: run["has_artifacts"] for run in server.api("runs").json["runs"]} == {"r": True, "none": False}


def test_an_artifact_is_downloaded_as_it_was_kept(server):
    response = server.api(f"artifact?run=r&sha256={hashlib.sha256(MODEL).hexdigest()}")
    assert response.body == MODEL
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''model%201.pt"


def test_a_page_that_was_kept_is_never_shown(server):
    (one,) = [one for one in server.api("artifacts?run=r").json["items"] if one["name"].endswith(".html")]
    response = server.api(f"artifact?run=r&sha256={one['sha256']}")
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"].startswith("attachment")
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("sha256", ["../run.json", "0" * 64, ""])
def test_nothing_but_an_artifact_can_be_downloaded(server, sha256):
    assert server.api(f"artifact?run=r&sha256={quote(sha256, safe='')}").status == 404


def test_entries_and_links_that_a_training_would_not_write_are_left_out(serve, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    hash = hashlib.sha256(b"secret").hexdigest()
    with pb.init(dir=tmp_path / "runs", run_id="r", telemetry_secs=0, strict=True) as run:
        run.log({"loss": 1.0}, step=0)
    directory = tmp_path / "runs" / "r"
    (directory / "artifacts").mkdir()
    (directory / "artifacts" / hash).symlink_to(secret)
    fields = json.loads((directory / "run.json").read_text())
    good = {"name": "x", "sha256": hash, "bytes": -1}
    fields["artifacts"] = [
        good,
        7,
        {"name": "y", "sha256": "../../secret"},
        {"sha256": hash},
        {"name": [], "sha256": hash},
    ]
    (directory / "run.json").write_text(json.dumps(fields))
    server = serve(tmp_path / "runs")
    assert server.api("artifacts?run=r").json["items"] == [{"name": "x", "sha256": hash, "bytes": 0, "time": 0.0}]
    response = server.api(f"artifact?run=r&sha256={hash}")
    assert response.status == 404
    assert b"secret" not in response.body
