"""The dashboard of a remote directory."""

import json
import logging

import pytest
from builders import event_file, scalars, version
from remote_hosts.fixtures import bucket, own_cache, s3_endpoint  # noqa: F401
from remote_hosts.store import MemoryStore
from servers import start_server, wait_for

import pulseboard as pb
from pulseboard.core.errors import LogNotFound, RemoteError
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.remote import stores
from pulseboard.serve.live import dashboard


def events(count):
    return event_file(version(), *scalars("loss", *((i, float(i)) for i in range(count))))


def test_an_outage_before_the_first_read_is_reported_once_and_ends_by_itself(own_cache, monkeypatch, caplog):  # noqa: F811
    store = MemoryStore({"a/events.out.tfevents.1": events(3)})
    store.down = True
    monkeypatch.setattr(stores, "open_store", lambda url, *, links_out: store)
    monkeypatch.setattr(dashboard, "_RETRY_SECS", 0.02)
    shown = dashboard.Dashboard(log_directories_from(["s3://memory/runs"]))
    with caplog.at_level(logging.WARNING, "pulseboard.serve"):
        shown.start()
        wait_for(lambda: store.attempts > 3)
        store.down = False
        wait_for(lambda: list(shown.runs) == ["a"])
    shown.close()
    assert [message.partition(".")[0] for message in caplog.messages] == ["Cannot be reached: it is down"]


def test_serving_from_python_refuses_what_is_not_there(own_cache, monkeypatch):  # noqa: F811
    store = MemoryStore()
    monkeypatch.setattr(stores, "open_store", lambda url, *, links_out: store)
    with pytest.raises(LogNotFound, match="nothing is there"):
        pb.serve("s3://memory/runs", port=0)
    store.down = True
    with pytest.raises(RemoteError, match="it is down"):
        pb.serve("s3://memory/runs", port=0)


def test_the_dashboard_follows_a_bucket(bucket, tmp_path):  # noqa: F811
    bucket.put("runs/a/events.out.tfevents.1", events(10))
    url = f"{bucket.url}/runs"
    server = start_server(
        url, "--port", "0", "--reload_interval", "0.2", "--verbose", home=tmp_path
    ).wait_until_loaded()
    try:
        status = server.api("status").json
        assert status["directories"] == [url]
        (run,) = server.api("runs").json["runs"]
        assert (run["name"], run["points"], run["directory"]) == ("a", 10, f"{url}/a")
        bucket.put("runs/a/events.out.tfevents.1", events(30))
        wait_for(lambda: server.api("runs").json["runs"][0]["points"] == 30)
        server.api("marks", {"marks": {"a": {"pinned": True}}}, method="PUT")
        assert list(json.loads((tmp_path / "data" / "marks.json").read_text())["marks"]) == [f"{url}/a"]
        assert server.api("runs").json["runs"][0]["marks"] == {"pinned": True}
        bucket.put("runs/b/events.out.tfevents.1", events(5))
        wait_for(lambda: len(server.api("runs").json["runs"]) == 2)
    finally:
        server.process.terminate()
        _, messages = server.process.communicate(timeout=300)
    assert "2 requests, 1 listing" in messages
    assert f"read from {url}" in messages
