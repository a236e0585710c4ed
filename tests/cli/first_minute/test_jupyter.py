"""The entry point for jupyter-server-proxy: what it returns is valid, and its command serves below the base URL."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from log_directories import write_run

from pulseboard.cli.jupyter import server

# The options of a server process (jupyter-server-proxy's documentation, "Server Processes").
KNOWN = {
    "command", "environment", "timeout", "absolute_url", "port", "unix_socket", "mappath", "launcher_entry",
    "new_browser_tab", "request_headers_override", "rewrite_response", "update_last_activity", "raw_socket_proxy",
    "progressive",
}  # fmt: skip


def test_the_entry_point_is_declared_and_returns_known_options():
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.jupyter_serverproxy_servers]\npulseboard = "pulseboard.cli.jupyter:server"' in text
    options = server()
    assert set(options) <= KNOWN
    assert options["absolute_url"] is True
    assert options["launcher_entry"] == {"title": "Pulseboard"}


def test_the_command_serves_the_page_below_the_base_url(tmp_path):
    write_run(tmp_path / "runs" / "first", (0, 1.0))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        names = {"port": free.getsockname()[1], "base_url": "/user/me/"}
    options = server()
    headers = {name: value.format(**names) for name, value in options["request_headers_override"].items()}
    process = subprocess.Popen(
        [part.format(**names) for part in options["command"]],
        cwd=tmp_path,
        env={**os.environ, "PULSEBOARD_DATA_DIR": str(tmp_path / "data")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        request = urllib.request.Request(
            f"http://127.0.0.1:{names['port']}/user/me/pulseboard/api/runs", headers=headers
        )
        assert b"first" in response_of(request, process)
    finally:
        process.terminate()
        process.wait(30)


def response_of(request, process, *, timeout_secs=300):
    """The response once it names a run."""
    ends = time.monotonic() + timeout_secs
    body = b""
    while time.monotonic() < ends and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                body = response.read()
        except (urllib.error.URLError, ConnectionError):
            pass
        if b"first" in body:
            break
        time.sleep(0.2)
    return body
