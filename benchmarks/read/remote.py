"""Runs on S3: requests, bytes and time of reading them, from a real server on this machine."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness.paths import REPOSITORY
from benchmarks.harness.processes import call
from benchmarks.harness.report import Part, at_most, table
from benchmarks.harness.sampling import WrongResult
from benchmarks.read.plan import Plan
from benchmarks.read.speed import IN_PROCESS

RUNS, QUICK_RUNS = 100, 10
TARGET_REQUESTS_PER_RUN = 3.0
_BUCKET = "pulseboard"

INTRODUCTION = """\
{runs} recorded runs in a bucket of SeaweedFS on this machine, each with its run.json, event file and JSON log. `first`
is `pb.read` with an empty cache, `again` the `poll` after it, when nothing has changed."""


def measure(plan: Plan) -> Part:
    """Upload runs, read them, and look for changes."""
    servers = _servers()
    if servers.weed_command() is None or importlib.util.find_spec("obstore") is None:
        return Part("Runs on S3", "SeaweedFS or obstore is not installed.", [], {})
    count = RUNS if plan.scale == 1.0 else QUICK_RUNS
    with tempfile.TemporaryDirectory(dir=plan.work) as directory, servers.s3_server(directory) as endpoint:
        runs, cache = Path(directory, "runs"), Path(directory, "cache")
        call(IN_PROCESS, "record_runs", str(runs), str(count))
        keys = (endpoint, servers.KEY, servers.SECRET)
        uploaded = _upload(runs, *keys)
        found = call(IN_PROCESS, "remote", f"s3://{_BUCKET}/runs", *keys, str(cache))
    if found["runs"] != count:
        raise WrongResult(f"{found['runs']} of {count} runs were read from S3.")
    rows = [
        ("first", f"{found['requests']}", f"{found['bytes'] / 1e6:.2f}", f"{found['read_s']:.2f}"),
        ("again", f"{found['requests_again']}", f"{found['bytes_again'] / 1e6:.2f}", f"{found['again_s']:.3f}"),
    ]
    files = f"{uploaded} files were uploaded."
    text = "\n\n".join([INTRODUCTION.format(runs=count), table(("", "requests", "MB", "seconds"), rows), files])
    per_run = found["requests"] / count
    return Part(
        "Runs on S3", text, [at_most("S3: requests per run", per_run, TARGET_REQUESTS_PER_RUN)], {"remote": [found]}
    )


def _servers() -> Any:
    """The servers that the tests of remote directories use."""
    path = REPOSITORY / "tests" / "remote_hosts" / "servers.py"
    spec = importlib.util.spec_from_file_location("remote_hosts_servers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _upload(directory: Path, endpoint: str, key: str, secret: str) -> int:
    """Put the files of a directory into the bucket; their number."""
    import obstore
    from obstore.store import S3Store

    options = {"access_key_id": key, "secret_access_key": secret, "client_options": {"allow_http": True}}
    store = S3Store(_BUCKET, endpoint=endpoint, region="us-east-1", **options)
    paths = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    for path in paths:
        obstore.put(store, f"runs/{path.relative_to(directory).as_posix()}", path.read_bytes())
    return len(paths)
