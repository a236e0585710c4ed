"""Requests to a dashboard: a connection that the server closed meanwhile is replaced before the next request."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from benchmarks.harness import dashboards


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections = 0

    def setup(self):
        super().setup()
        Handler.connections += 1

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *message):
        pass


@pytest.fixture
def dashboard():
    Handler.connections = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = dashboards.Dashboard("Pulseboard", process=None, port=server.server_port)
        yield found
        found.close()
        server.shutdown()


def test_requests_in_a_row_share_a_connection(dashboard, monkeypatch):
    monkeypatch.setattr(dashboards, "_KEPT_ALIVE_SECS", 3600.0)
    assert [dashboard.request("GET", "/") for _ in range(3)] == [(200, b"ok")] * 3
    assert Handler.connections == 1


def test_a_request_after_a_pause_opens_a_new_connection(dashboard, monkeypatch):
    dashboard.request("GET", "/")
    monkeypatch.setattr(dashboards, "_KEPT_ALIVE_SECS", 0.0)  # any pause is too long
    assert dashboard.request("GET", "/") == (200, b"ok")
    assert Handler.connections == 2
