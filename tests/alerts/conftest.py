"""A real webhook and a real SMTP server of this machine, and logs that grow."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(tmp_path / "data"))


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


@pytest.fixture
def webhook():
    made = Webhook()
    yield made
    made.close()


def wait_for(condition, what):
    """Wait until a condition holds. The limit is generous: the machine may be busy."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def healthy(n, seed=0):
    steps = np.arange(n)
    return (0.5 + 2 * np.exp(-steps / 80) + 0.01 * np.random.default_rng(seed).normal(size=n)).tolist()


def add_rows(path, values, *, start=0):
    """Append rows to a CSV that knows nothing of us."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", encoding="utf-8") as stream:
        if new:
            stream.write("step,train_loss\n")
        stream.writelines(f"{start + i},{value!r}\n" for i, value in enumerate(values))
