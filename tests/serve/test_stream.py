"""The stream: new points arrive within a second, and nothing is missed over a lost connection."""

import http.client
import json
import socket
import statistics
import subprocess
import sys
import threading
import time

import pytest
from log_directories import append, write_run
from servers import start_server, wait_for

from pulseboard.serve.journal import Journal

WRITER = """
import sys, time
import pulseboard as pb
run = pb.init(dir=sys.argv[1], run_id="live", telemetry_secs=0, strict=True)
for step in range(int(sys.argv[2])):
    run.log({"loss": 1.0}, step=step)
    time.sleep(float(sys.argv[3]))
run.finish()
"""


class Listener:
    """Reads a stream on a thread, as a browser does."""

    def __init__(self, server, *, since=None, last_event_id=None):
        self.events = []  # (arrived, name, id, data)
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port)
        headers = {"last-event-id": str(last_event_id)} if last_event_id is not None else {}
        self._connection.request(
            "GET", "/api/stream" + (f"?since={since}" if since is not None else ""), headers=headers
        )
        self.answer = self._connection.getresponse()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        event = {}
        try:
            for raw in self.answer:
                line = raw.decode().rstrip("\n")
                if line:
                    name, _, value = line.partition(": ")
                    event[name] = value
                elif "event" in event:
                    self.events.append((time.time(), event["event"], event.get("id"), json.loads(event["data"])))
                    event = {}
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass

    def of(self, name):
        return [data for _, kind, _, data in list(self.events) if kind == name]

    def ended(self, secs):
        self._thread.join(secs)
        return not self._thread.is_alive()

    def close(self):
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._thread.join(5)
        self.answer.close()


@pytest.fixture
def listen():
    opened = []

    def start(server, **options):
        opened.append(Listener(server, **options))
        return opened[-1]

    yield start
    for listener in opened:
        listener.close()


def test_a_logged_point_is_in_the_stream_within_a_second(serve, tmp_path, listen):
    logs = tmp_path / "logs"
    write_run(logs / "old")
    server = serve(logs)
    listener = listen(server)
    subprocess.run([sys.executable, "-c", WRITER, str(logs), "30", "0.3"], check=True)
    wait_for(lambda: any(data["grown"].get("live") == 29 for data in listener.of("changed")))
    # Wall times are those of the moment of logging, in full precision.
    points = server.api("points?run=live&tag=loss").json
    logged = dict(zip(points["steps"], points["wall_times"], strict=True))
    assert len(logged) == 30
    waits = []
    for step, at in logged.items():
        arrived = [
            when
            for when, name, _, data in listener.events
            if name == "changed" and (data["grown"].get("live") or -1) >= step
        ]
        waits.append(arrived[0] - at)
    assert 0 < statistics.median(waits) < 1.0, sorted(waits)


def test_a_new_run_is_told_and_a_removed_one_too(serve, tmp_path, listen):
    import shutil

    logs = tmp_path / "logs"
    write_run(logs / "first")
    listener = listen(serve(logs))
    write_run(logs / "second")
    wait_for(lambda: any("second" in data["added"] for data in listener.of("changed")))
    shutil.rmtree(logs / "first")
    wait_for(lambda: any("first" in data["removed"] for data in listener.of("changed")))


def test_what_was_missed_is_told_after_a_lost_connection(serve, tmp_path, listen):
    logs = tmp_path / "logs"
    file = write_run(logs / "grows", (0, 1.0))
    write_run(logs / "rests")
    server = serve(logs)
    seen = server.api("status").json["revision"]
    append(file, (1, 1.0), (2, 1.0))
    write_run(logs / "new")
    wait_for(lambda: server.api("status").json["revision"] > seen and len(server.api("runs").json["runs"]) == 3)
    wait_for(lambda: server.api("points?run=grows&tag=loss").json["total"] == 3)
    for listener in (listen(server, since=seen), listen(server, since=1, last_event_id=seen)):
        wait_for(lambda listener=listener: listener.of("changed"))
        (missed,) = listener.of("changed")
        assert missed["added"] == ["new"]
        assert missed["grown"] == {"grows": 2}
        assert listener.events[-1][2] == str(missed["revision"])


def test_who_has_seen_everything_is_told_nothing(serve, tmp_path, listen):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    listener = listen(server, since=server.api("status").json["revision"])
    time.sleep(0.5)
    assert listener.of("changed") == []


def test_a_server_that_starts_again_tells_its_readers_everything(tmp_path, listen):
    logs = tmp_path / "logs"
    write_run(logs / "a")
    first = start_server(logs, "--port", "0", home=tmp_path).wait_until_loaded()
    seen = first.api("status").json["revision"]
    first.process.kill()
    first.process.wait()
    first.stop()
    write_run(logs / "b")
    second = start_server(logs, "--port", str(first.port), home=tmp_path).wait_until_loaded()
    try:
        assert second.port == first.port
        listener = listen(second, last_event_id=seen)
        wait_for(lambda: listener.of("changed"))
        assert set(listener.of("changed")[0]["added"]) == {"a", "b"}
        assert listener.of("changed")[0]["revision"] > seen
    finally:
        listener.close()
        second.stop()


def test_marks_are_told_to_all_who_look(serve, tmp_path, listen):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    listener = listen(server)
    time.sleep(0.1)
    server.api("marks", {"marks": {"a": {"pinned": True}}}, method="PUT")
    wait_for(lambda: listener.of("marks"))
    assert listener.of("marks") == [{"runs": ["a"]}]


def test_streams_end_when_the_server_does(serve, tmp_path, listen):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    listener = listen(server)
    began = time.monotonic()
    server.process.send_signal(2)
    assert server.process.wait(10) == 0
    assert time.monotonic() - began < 5
    assert listener.ended(2)


def test_readers_that_stop_reading_hold_nobody_back(serve, tmp_path, listen):
    logs = tmp_path / "logs"
    file = write_run(logs / "a", *((i, 1.0) for i in range(20000)))
    server = serve(logs)
    stalled = []
    for path in ["/api/stream", "/api/export?format=json", "/api/points?run=a&tag=loss&limit=20000"] * 10:
        one = socket.create_connection(("127.0.0.1", server.port))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        stalled.append(one)
    half = socket.create_connection(("127.0.0.1", server.port))
    half.sendall(b"POST /api/window HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
    half.sendall(b"content-length: 100\r\n\r\n{")
    stalled.append(half)
    listener = listen(server)
    time.sleep(0.2)
    waits = []
    for _ in range(20):
        began = time.monotonic()
        assert server.window(["a"], ["loss"])
        waits.append(time.monotonic() - began)
    assert statistics.median(waits) < 1.0
    append(file, (20000, 1.0))
    wait_for(lambda: listener.of("changed"))
    for one in stalled:
        one.close()


# ---- the journal by itself


def test_many_changes_are_told_as_one():
    journal = Journal(now=lambda: 1.0)
    start = journal.revision
    journal.changed(added=["a", "b"])
    for step in range(100):
        journal.changed(grown={"a": step})
    (event,) = journal.since(start).events
    assert event.data == {"revision": start + 101, "added": ["a", "b"], "removed": [], "grown": {}}
    (event,) = journal.since(start + 1).events
    assert event.data["grown"] == {"a": 99}
    assert journal.since(journal.revision).events == []


def test_a_run_that_came_back_is_not_removed():
    journal = Journal(now=lambda: 1.0)
    journal.changed(added=["a"])
    seen = journal.revision
    journal.changed(removed=["a"])
    journal.changed(added=["a"])
    (event,) = journal.since(seen).events
    assert (event.data["added"], event.data["removed"]) == (["a"], [])


@pytest.mark.parametrize("unknown", [0, 5, 10**18])
def test_a_revision_of_another_server_gets_everything(unknown):
    journal = Journal(now=lambda: 1e6)
    journal.changed(added=["a"])
    (event,) = journal.since(unknown).events
    assert event.data["added"] == ["a"]


def test_findings_are_told_once_for_each_change():
    journal = Journal(now=lambda: 1.0)
    journal.changed(added=["a"])
    seen = journal.revision
    journal.found("a", {"slug": "loss-spike", "severity": "warning", "summary": "s", "first_step": 3})
    journal.found("a", {"slug": "loss-spike", "severity": "critical", "summary": "s", "first_step": 3})
    (event,) = journal.since(seen).events
    assert (event.name, event.data["severity"], event.data["run"]) == ("finding", "critical", "a")
