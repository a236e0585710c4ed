"""A webhook of this machine that keeps what is posted to it."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Webhook:
    """Keeps what is posted to it; can be down for a while."""

    def __init__(self):
        self.received = []
        self.failing = 0  # how many requests to refuse
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                refuse = owner.failing > 0
                owner.failing -= refuse
                if not refuse:
                    owner.received.append(body)
                self.send_response(503 if refuse else 200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def events(self):
        return [(one["event"], one["run"]) for one in self.received]

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def wait_for(condition, what):
    """Wait until a condition holds. The limit is generous: the machine may be busy."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)
