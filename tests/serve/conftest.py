"""Servers for tests, and the runs they show."""

import pytest
from servers import a_server, start_server, write_everything


@pytest.fixture(autouse=True)
def own_configuration(tmp_path, monkeypatch):
    """Nothing is kept in the configuration of the person who runs the tests."""
    monkeypatch.setenv("PULSEBOARD_CONFIG_DIR", str(tmp_path / "config"))


@pytest.fixture
def serve(tmp_path):
    """Starts servers; they stop when the test ends."""
    started = []

    def start(*arguments, loaded=True, env=None):
        options = [] if "--port" in arguments else ["--port", "0"]
        server = start_server(*arguments, *options, home=tmp_path, env=env)
        started.append(server)
        return server.wait_until_loaded() if loaded else server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("logs") / "runs"
    write_everything(directory)
    return directory


@pytest.fixture(scope="module")
def server(logs, tmp_path_factory):
    """One server for all tests of a module that change nothing."""
    with a_server(logs, tmp_path_factory.mktemp("home")) as shared:
        yield shared
