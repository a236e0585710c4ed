"""While a large directory is read for the first time, the server says so and how far it is."""

import pytest
from log_directories import write_run
from serve.live.test_stream import Listener
from servers import install_waiting_reader, start_server, wait_for


@pytest.fixture
def reading(tmp_path):
    """A server that has read an event file and waits with another log, and the path that lets it go on."""
    logs = tmp_path / "logs"
    write_run(logs / "first")
    (logs / "slow.waiting").write_text("")
    server = start_server(logs, "--port", "0", home=tmp_path, env=install_waiting_reader(tmp_path / "site"))
    yield server, logs / "slow.waiting.go"
    server.stop()


def test_the_status_says_how_many_files_of_all_formats_are_read(reading):
    server, go_on = reading
    wait_for(lambda: server.api("status").json["loading"] == {"done": 1, "total": 2})
    go_on.touch()
    server.wait_until_loaded()
    assert {run["name"] for run in server.api("runs").json["runs"]} == {"first", "slow.waiting"}


def test_the_stream_reports_the_end_after_the_runs(reading):
    server, go_on = reading
    wait_for(lambda: server.api("status").json["loading"] == {"done": 1, "total": 2})
    listener = Listener(server)
    wait_for(lambda: listener.of("loading"))
    assert listener.of("loading")[-1] == {"done": 1, "total": 2, "reading": True}
    go_on.touch()
    wait_for(lambda: not listener.of("loading")[-1]["reading"])
    names = [name for _, name, _, _ in listener.events]
    assert names.index("changed") < len(names) - 1 - names[::-1].index("loading")
    listener.close()


def test_a_client_that_connects_after_the_read_hears_that_it_has_ended(reading):
    server, go_on = reading
    go_on.touch()
    server.wait_until_loaded()
    listener = Listener(server)
    wait_for(lambda: listener.of("loading"))
    assert listener.of("loading") == [{"done": 0, "total": 0, "reading": False}]
    listener.close()
