"""alerts: how long it takes from the point that shows a fault in a log to the message.

    python -m benchmarks.alerts --write docs/benchmarks.md
    python -m benchmarks.alerts --quick        a smoke test; its figures mean nothing

`pulseboard alerts watch` runs as its own process. A CSV log that knows nothing of it turns to NaN, and the time counts
until a webhook and a mail server of this machine have the message.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.harness.command import Benchmark, Missing, measure_selected
from benchmarks.harness.paths import WORK
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import Quiet, ToolFailed

TARGET_SECS = 5.0
STEPS, NAN_ROWS = 200, 40
_FIRST_LOOK_SECS = 5.0  # at all runs, before a fault is written


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
        """The time of arrival. Raises ToolFailed after two minutes."""
        with self._changed:
            if not self._changed.wait_for(lambda: (channel, run) in self._at, 120):
                raise ToolFailed(f"No message about {run} at the {channel} after two minutes.")
            return self._at[channel, run]


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """The one part."""
    for package in ("apprise", "aiosmtpd"):
        if importlib.util.find_spec(package) is None:
            raise Missing(f"{package} is not installed. Install it with: pip install {package}")
    parts = {"delay": lambda: _delay(rounds=1 if options.quick else options.repeat)}
    return measure_selected(BENCHMARK, parts, options)


def _delay(*, rounds: int) -> Part:
    arrivals = _Arrivals()
    with tempfile.TemporaryDirectory(dir=WORK) as temporary, _servers(arrivals) as (web, mail):
        rules = Path(temporary) / "alerts.toml"
        rules.write_text(
            f'[[destination]]\nname = "hook"\nwebhook = "http://127.0.0.1:{web}/"\n'
            f'[[destination]]\nname = "mail"\nurl = "mailto://127.0.0.1:{mail}?from=a@example.com&to=b@example.com'
            '&mode=insecure"\n'
        )
        delays = _delays(Path(temporary), rules, arrivals, rounds)
    checks = [
        Check(
            f"from the point that shows a fault to the message at the {channel}, the longest of {rounds}",
            f"{max(found):.1f} s",
            f"at most {TARGET_SECS:g} s",
            max(found) <= TARGET_SECS,
        )
        for channel, found in delays.items()
    ]
    rows = [(channel, f"{statistics.median(found):.1f} s", f"{max(found):.1f} s") for channel, found in delays.items()]
    text = (
        f"{rounds} CSV logs of {STEPS} steps, watched by `pulseboard alerts watch`, turn to NaN one after the other; "
        "the webhook and the mail server are on the same machine.\n\n"
        + table(("message at", "median", "longest"), rows)
    )
    return Part("Delay of a message", text, checks, delays)


@contextmanager
def _servers(arrivals: _Arrivals) -> Iterator[tuple[int, int]]:
    """A webhook and a mail server: their ports."""
    from aiosmtpd.controller import Controller

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrivals.note("webhook", self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Mail:
        async def handle_DATA(self, server: object, session: object, envelope: object) -> str:  # noqa: N802
            arrivals.note("mail server", envelope.content.decode("utf-8", "replace"))  # type: ignore[attr-defined]
            return "250 OK"

    web = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    mail = Controller(Mail(), hostname="127.0.0.1", port=port)
    mail.start()
    try:
        yield web.server_port, port
    finally:
        mail.stop()
        web.shutdown()


def _delays(directory: Path, rules: Path, arrivals: _Arrivals, rounds: int) -> dict[str, list[float]]:
    """Seconds to the message about each run, by channel."""
    logs = directory / "runs"
    for i in range(rounds):
        _write(logs / f"run-{i}" / "metrics.csv", [2.0 / (step + 1) for step in range(STEPS)], first=0)
    env = {**os.environ, "PULSEBOARD_DATA_DIR": str(directory / "data")}
    command = [sys.executable, "-m", "pulseboard", "alerts", "watch", str(logs), "--rules", str(rules)]
    delays: dict[str, list[float]] = {"webhook": [], "mail server": []}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as watcher:
        assert watcher.stderr is not None
        try:
            watcher.stderr.readline()
            time.sleep(_FIRST_LOOK_SECS)
            for i in range(rounds):
                _write(logs / f"run-{i}" / "metrics.csv", [float("nan")] * NAN_ROWS, first=STEPS)
                written = time.monotonic()
                for channel, found in delays.items():
                    found.append(arrivals.wait(channel, f"run-{i}") - written)
        finally:
            watcher.kill()  # what it would still send is not waited for
    return delays


def _write(path: Path, values: list[float], *, first: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", encoding="utf-8") as stream:
        if new:
            stream.write("step,train_loss\n")
        stream.writelines(f"{first + i},{value!r}\n" for i, value in enumerate(values))


BENCHMARK = Benchmark(
    name="alerts", title="Alerts", packages=("apprise", "aiosmtpd"), description=__doc__, measure=measure
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
