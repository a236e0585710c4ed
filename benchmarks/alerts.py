"""How long it takes from the point that shows a fault to the message: `python -m benchmarks.alerts [--rounds 10]`.

`pulseboard alerts watch` runs as its own process. A CSV log that knows nothing of it turns to NaN, and the time counts
until a webhook and a mail server of this machine have the message.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STEPS, NAN_ROWS = 200, 40


class _Arrivals:
    """When the messages about each run arrived."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str], float] = {}
        self._changed = threading.Condition()

    def note(self, channel: str, text: str) -> None:
        """Keep the time of the first message on a channel that names a run."""
        for word in text.replace(":", " ").split():
            if word.startswith("run-"):
                with self._changed:
                    self._at.setdefault((channel, word), time.monotonic())
                    self._changed.notify_all()

    def wait(self, channel: str, run: str) -> float:
        """The time of arrival. Raises TimeoutError after two minutes."""
        with self._changed:
            if not self._changed.wait_for(lambda: (channel, run) in self._at, 120):
                raise TimeoutError(f"No message about {run} at the {channel}.")
            return self._at[channel, run]


def main() -> None:
    """Measure, and print the median and the longest delay."""
    from aiosmtpd.controller import Controller

    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    arrivals = _Arrivals()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrivals.note("webhook", self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Mail:
        async def handle_DATA(self, server: object, session: object, envelope: object) -> str:  # noqa: N802
            arrivals.note("mail", envelope.content.decode("utf-8", "replace"))  # type: ignore[attr-defined]
            return "250 OK"

    web = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    mail = Controller(Mail(), hostname="127.0.0.1", port=port)
    mail.start()
    with tempfile.TemporaryDirectory() as temporary:
        rules = Path(temporary) / "alerts.toml"
        rules.write_text(
            f'[[destination]]\nname = "hook"\nwebhook = "http://127.0.0.1:{web.server_port}/"\n'
            f'[[destination]]\nname = "mail"\nurl = "mailto://127.0.0.1:{port}?from=a@example.com&to=b@example.com'
            '&mode=insecure"\n'
        )
        _measure(Path(temporary), rules, arrivals, args.rounds)
    mail.stop()
    web.shutdown()


def _measure(directory: Path, rules: Path, arrivals: _Arrivals, rounds: int) -> None:
    logs = directory / "runs"
    for i in range(rounds):
        _write(logs / f"run-{i}" / "metrics.csv", [2.0 / (step + 1) for step in range(STEPS)], first=0)
    env = {**os.environ, "PULSEBOARD_DATA_DIR": str(directory / "data")}
    command = [sys.executable, "-m", "pulseboard", "alerts", "watch", str(logs), "--rules", str(rules)]
    delays: dict[str, list[float]] = {"webhook": [], "mail": []}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as watcher:
        assert watcher.stderr is not None
        watcher.stderr.readline()
        time.sleep(5)  # the first look at all runs
        for i in range(rounds):
            _write(logs / f"run-{i}" / "metrics.csv", [float("nan")] * NAN_ROWS, first=STEPS)
            written = time.monotonic()
            for channel, found in delays.items():
                found.append(arrivals.wait(channel, f"run-{i}") - written)
        watcher.terminate()
    for channel, found in delays.items():
        print(f"{channel}: {statistics.median(found):.1f} s in the median of {rounds}, {max(found):.1f} s at most")
    print(f"load of the machine {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")


def _write(path: Path, values: list[float], *, first: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", encoding="utf-8") as stream:
        if new:
            stream.write("step,train_loss\n")
        stream.writelines(f"{first + i},{value!r}\n" for i, value in enumerate(values))


if __name__ == "__main__":
    main()
