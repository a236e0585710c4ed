"""Fuzz target: event files with damaged values in sound records, next to a good run, through every endpoint.

The kernel's own fuzzer damages records. Here checksums are right, so that every value reaches the code that decodes it.
"""

import asyncio
import itertools
import json
import shutil
from pathlib import Path
from urllib.parse import urlencode

from builders import record, summary, tensor, version
from serve.hostile.test_poisoned_run import PLUGINS, SHARED_TAGS, TENSORS, metadata_only, odd_numbers
from servers import write_everything

import pulseboard as pb
from pulseboard.core.errors import PulseboardError
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.serve.http.endpoint import load_endpoints
from pulseboard.serve.http.errors import HttpError
from pulseboard.serve.http.request import Request
from pulseboard.serve.http.responses import Response, StreamingResponse, json_response
from pulseboard.serve.http.validation import validate
from pulseboard.serve.live.dashboard import Dashboard

SEPARATOR = b"\n--\n"
"""Between the payloads of two records."""

GOOD = "rich"
_MAX_TAGS = 6  # of the bad run; requests about each take most of the time


def seeds(good: Path) -> list[bytes]:
    """A few records of each kind that a run holds, and every bad value that a test knows."""
    begins = version().SerializeToString()
    (path,) = good.rglob("*tfevents*")
    events = [payload for payload in _payloads(path.read_bytes()) if b"brain.Event" not in payload]
    found = [SEPARATOR.join([begins, *events[i : i + 3]]) for i in range(0, len(events), 3)]
    for plugin in PLUGINS:
        tag = SHARED_TAGS.get(plugin, f"bad/{plugin}")
        bad = [summary(metadata_only(tag, plugin), step=1)]
        bad += [summary(tensor(tag, proto, plugin=plugin), step=2 + i) for i, proto in enumerate(TENSORS.values())]
        found.append(SEPARATOR.join([begins, *(event.SerializeToString() for event in bad)]))
    found.append(SEPARATOR.join([begins, *(event.SerializeToString() for event in odd_numbers())]))
    return found


def _payloads(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        found.append(data[at + 12 : at + 12 + size])
        at += 16 + size
    return found


class EveryEndpoint:
    """A directory with a good run and one that is written again for each input."""

    def __init__(self, directory: Path) -> None:
        self._logs = directory / "logs"
        write_everything(self._logs)
        shutil.rmtree(self._logs / "plain")
        self._bad = self._logs / "bad" / "events.out.tfevents.1"
        self._bad.parent.mkdir()
        self.seeds = seeds(self._logs / GOOD)
        self._expected: bytes | None = None

    def check(self, data: bytes) -> None:
        """Ask everything about the run that these payloads make. Raises what a client would see as status 500."""
        self._bad.write_bytes(b"".join(map(record, data.split(SEPARATOR))))
        dashboard = Dashboard(log_directories_from([str(self._logs)], links_out=False))
        try:
            dashboard.charts.refresh()
            pb.diagnose(self._bad.parent)
            tags = [found.tag for found in dashboard.charts.tag_summaries(["bad"])][:_MAX_TAGS]
            for method, path, query, body in requests(["bad", GOOD], tags or ["none"]):
                answered(dashboard, method, path, query, body)
            good = answered(dashboard, "POST", "window", {}, {"runs": [GOOD], "tags": ["loss", "odd"]})
            assert good is not None
            good = good[8 + int.from_bytes(good[4:8], "little") :]  # after the header, which holds a revision
            self._expected = self._expected or good
            assert good == self._expected, "a bad run changed the chart of a good one"
        finally:
            dashboard.close()


def requests(runs: list[str], tags: list[str]):
    """(method, path, query, body) of a request to every endpoint with each of these tags."""
    values = {"run": runs[:1], "tag": tags, "slug": ["loss-spike"], "family": ["layer_{i}", tags[0]]}
    bodies = {
        "window": [
            {"runs": runs, "tags": tags, "orphans": True},
            {"runs": runs, "tags": tags, "x": f"tag:{tags[0]}", "buckets": 7, "neighbors": True},
            {"runs": runs, "tags": [f"={{{tags[0]}}} * 2"], "x": "relative", "log_x": True, "buckets": 3},
        ],
        "groups": [{"runs": runs, "tags": tags, "statistic": statistic} for statistic in ("mean-sd", "median-range")],
        "table": [{"metrics": tags}],
        "export": [{"format": form} for form in ("csv", "json", "parquet")],
        "positions": [{"x": f"tag:{tags[0]}", "places": [{"run": "bad", "tag": tags[-1], "step": 1}]}],
        "markdown": [{"text": tags[0]}],
    }
    for path, methods in load_endpoints().items():
        if path == "stream":
            continue
        if "GET" in methods:
            required = methods["GET"].required
            for combination in itertools.product(*(values.get(name, ["csv"]) for name in required)):
                yield "GET", path, dict(zip(required, combination, strict=True)), None
        for body in bodies.get(path, []):
            yield "POST", path, {}, body


def answered(dashboard: Dashboard, method: str, path: str, query: dict, body: object) -> bytes | None:
    """The body of a response as the server makes it; None if the request is refused with a message."""
    endpoint = load_endpoints()[path][method]
    sent = json.dumps(body).encode()

    async def receive():
        return {"type": "http.request", "body": sent}

    scope = {
        "method": method,
        "path": f"/api/{path}",
        "headers": [(b"content-type", b"application/json")],
        "query_string": urlencode(query, errors="surrogatepass").encode(),
    }
    try:
        request = asyncio.run(endpoint.read(Request(scope, receive), role="full", user=lambda _: None))
        with dashboard.runs.contained():
            result = endpoint.handler(dashboard, request)
        if isinstance(result, StreamingResponse):
            return asyncio.run(_joined(result))
        response = result if isinstance(result, Response) else json_response(result)
    except (HttpError, PulseboardError, OSError):
        return None
    if endpoint.returns is not None and response.media_type == "application/json":
        validate(json.loads(response.body), endpoint.returns, at=path)
    return response.body


async def _joined(response: StreamingResponse) -> bytes:
    return b"".join([chunk async for chunk in response.chunks])
