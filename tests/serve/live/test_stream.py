"""The live stream: new points arrive within a second, and a client that reconnects misses nothing."""

import http.client
import json
import socket
import subprocess
import sys
import threading
import time

import pytest
from cost import bytecodes_of
from log_directories import append, write_run
from servers import start_server, wait_for

from pulseboard.serve.live.revisions import Revisions
from pulseboard.serve.live.stream import encoded

WRITER = """
import sys, time
import pulseboard as pb
run = pb.init(dir=sys.argv[1], run_id="live", telemetry_secs=0, strict=True)
for step in range(int(sys.argv[2])):
    run.log({"loss": 1.0}, step=step)
    time.sleep(float(sys.argv[3]))
run.finish()
"""

FAST_POINTS = 10


class Listener:
    """Reads a stream on a thread, as a browser does."""

    def __init__(self, server, *, since=None, last_event_id=None):
        self.events = []  # (arrived, name, id, data)
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port)
        headers = {"last-event-id": str(last_event_id)} if last_event_id is not None else {}
        self._connection.request(
            "GET", "/api/stream" + (f"?since={since}" if since is not None else ""), headers=headers
        )
        self.response = self._connection.getresponse()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        event = {}
        try:
            for raw in self.response:
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
        self._thread.join(120)
        self.response.close()


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

    def delays():
        # Wall times are when the point was logged, in full precision.
        points = server.api("points?run=live&tag=loss&limit=20000").json
        for step, at in zip(points["steps"], points["wall_times"], strict=True):
            arrived = [
                when
                for when, name, _, data in list(listener.events)
                if name == "changed" and (data["grown"].get("live") or -1) >= step
            ]
            if arrived:
                yield arrived[0] - at

    with subprocess.Popen([sys.executable, "-c", WRITER, str(logs), "5000", "0.1"]) as writer:
        try:
            # Points until enough of them were fast: a busy machine delays some.
            wait_for(lambda: any(run["name"] == "live" for run in server.api("runs").json["runs"]))
            wait_for(lambda: sum(0 < delay < 1.0 for delay in delays()) >= FAST_POINTS)
        finally:
            writer.kill()


def test_a_row_of_a_csv_file_is_in_the_stream_within_a_second(serve, tmp_path, listen):
    path = tmp_path / "logs" / "log.csv"
    path.parent.mkdir()
    path.write_text("step,loss\n" + "".join(f"{step},0.5000\n" for step in range(9000)))  # large enough to be read on
    server = serve(path.parent)
    listener = listen(server)
    fast = 0
    for step in range(9000, 9100):
        began = time.time()
        with path.open("a") as stream:
            stream.write(f"{step},{step / 1000}\n")
        wait_for(lambda step=step: any(data["grown"].get("log.csv") == step for data in listener.of("changed")))
        arrived = [when for when, name, _, data in listener.events if name == "changed" and "log.csv" in data["grown"]]
        fast += arrived[-1] - began < 1.0
        last = server.api("points?run=log.csv&tag=loss&limit=20000").json
        assert (last["steps"][-1], last["values"][-1]) == (step, step / 1000)
        if fast == FAST_POINTS:
            break
    assert fast == FAST_POINTS


def test_added_and_removed_runs_are_sent(serve, tmp_path, listen):
    import shutil

    logs = tmp_path / "logs"
    write_run(logs / "first")
    listener = listen(serve(logs))
    write_run(logs / "second")
    wait_for(lambda: any("second" in data["added"] for data in listener.of("changed")))
    shutil.rmtree(logs / "first")
    wait_for(lambda: any("first" in data["removed"] for data in listener.of("changed")))


def test_a_client_that_reconnects_gets_what_it_missed(serve, tmp_path, listen):
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
        (id_,) = [id_ for _, name, id_, _ in listener.events if name == "changed"]
        assert id_ == str(missed["revision"])


def test_a_client_that_is_up_to_date_gets_no_changes(serve, tmp_path, listen):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    listener = listen(server, since=server.api("status").json["revision"])
    time.sleep(0.5)
    assert listener.of("changed") == []


def test_a_restarted_server_sends_everything_again(tmp_path, listen):
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


def test_changed_marks_are_sent_to_all_clients(serve, tmp_path, listen):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    listener = listen(server)
    time.sleep(0.1)
    server.api("marks", {"marks": {"a": {"pinned": True}}}, method="PUT")
    wait_for(lambda: listener.of("marks"))
    assert listener.of("marks") == [{"runs": ["a"]}]


def test_streams_end_when_the_server_stops(serve, tmp_path, listen):
    write_run(tmp_path / "logs" / "a")
    server = serve(tmp_path / "logs")
    listener = listen(server)
    server.process.send_signal(2)
    assert server.process.wait(60) == 0  # a server that waited for the stream would never stop
    assert listener.ended(120)


def test_clients_that_stop_reading_do_not_block_others(serve, tmp_path, listen):
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
    for _ in range(20):
        assert server.window(["a"], ["loss"])  # a blocked server would not respond at all
    append(file, (20000, 1.0))
    wait_for(lambda: listener.of("changed"))
    for one in stalled:
        one.close()


# ---- revisions


def test_many_changes_are_merged_into_one_event():
    revisions = Revisions(now=lambda: 1.0)
    start = revisions.current
    revisions.record_changes(added=["a", "b"])
    for step in range(100):
        revisions.record_changes(grown={"a": step})
    (event,) = revisions.since(start).events
    assert event.data == {"revision": start + 101, "added": ["a", "b"], "removed": [], "grown": {}}
    (event,) = revisions.since(start + 1).events
    assert event.data["grown"] == {"a": 99}
    assert revisions.since(revisions.current).events == []


def test_a_new_report_leaves_the_points_of_its_run_valid():
    revisions = Revisions(now=lambda: 1.0)
    revisions.record_changes(added=["a"], grown={"a": 9})
    seen, points = revisions.current, revisions.of("a")
    revisions.record_report("a")
    (event,) = revisions.since(seen).events
    assert (event.name, event.data) == ("reports", {"runs": ["a"]})
    assert revisions.of("a") == points


def test_a_run_that_came_back_is_not_listed_as_removed():
    revisions = Revisions(now=lambda: 1.0)
    revisions.record_changes(added=["a"])
    seen = revisions.current
    revisions.record_changes(removed=["a"])
    revisions.record_changes(added=["a"])
    (event,) = revisions.since(seen).events
    assert (event.data["added"], event.data["removed"]) == (["a"], [])


@pytest.mark.parametrize("unknown", [0, 5, 10**18])
def test_a_revision_of_another_server_gets_everything(unknown):
    revisions = Revisions(now=lambda: 1e6)
    revisions.record_changes(added=["a"])
    (event,) = revisions.since(unknown).events
    assert event.data["added"] == ["a"]


def test_only_the_latest_version_of_a_finding_is_sent():
    revisions = Revisions(now=lambda: 1.0)
    revisions.record_changes(added=["a"])
    seen = revisions.current
    revisions.record_finding("a", {"slug": "loss-spike", "severity": "warning", "summary": "s", "first_step": 3})
    revisions.record_finding("a", {"slug": "loss-spike", "severity": "critical", "summary": "s", "first_step": 3})
    (event,) = revisions.since(seen).events
    assert (event.name, event.data["severity"], event.data["run"]) == ("finding", "critical", "a")


@pytest.mark.parametrize("runs", [100, 3200])
def test_the_cost_of_a_change_does_not_depend_on_the_number_of_runs(runs):
    revisions = Revisions()
    revisions.record_changes(added=[f"run{i}" for i in range(runs)])
    start = revisions.current
    revisions.record_changes(grown={"run7": 5})

    def work():
        assert revisions.since(start).events[0].data["grown"] == {"run7": 5}

    assert bytecodes_of(work) < 1500  # one comparison per run would be some 30,000


def test_streams_that_saw_the_same_share_one_encoded_update():
    revisions = Revisions()
    revisions.record_changes(added=["a"])
    start = revisions.current
    revisions.record_changes(grown={"a": 5})
    assert encoded(revisions.since(start)) is encoded(revisions.since(start))
    revisions.record_changes(grown={"a": 6})
    assert b'"a":6' in encoded(revisions.since(start))
