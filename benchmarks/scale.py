"""scale: what runs in ClickHouse cost, and several users of them.

    python -m benchmarks.scale --write docs/benchmarks.md        40 runs of 5,000 steps, and one of 500,000
    python -m benchmarks.scale --runs 240 --steps 10000          more of them
    python -m benchmarks.scale --quick                           a smoke test; its figures mean nothing

Processor times of the server and of the pusher where possible, not wall times: they say the same on a busy machine. The
server is the one that the database's tests use; `make clickhouse` fetches it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.harness.command import Benchmark, Missing, measure_selected
from benchmarks.harness.paths import REPOSITORY, WORK
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import Quiet
from benchmarks.scale_users import USERS, Waits, mixed_charts
from pulseboard.charts.query import Query
from pulseboard.database import schema
from pulseboard.database.connection import Connection
from pulseboard.database.push.pusher import Pusher
from pulseboard.database.stored.charts import StoredCharts
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.database.url import parse_url
from pulseboard.read.runs import read
from pulseboard.record.event_log.event_file_writer import EventFileWriter

sys.path.insert(0, str(REPOSITORY / "tests"))

TARGET_P95_MS = 300.0
PIXELS, BARE_ROUNDS = 1000, 5
TAGS = ("loss", "accuracy", "lr", "grad_norm")

# What a chart of these runs costs if it is written by hand.
_BARE = """SELECT part, intDiv(step, {width:Int64}) AS bucket, count(), min(value), max(value), argMin(value, seq),
argMax(value, seq) FROM {db}.points WHERE tag = {tag:UInt64} AND part IN {parts:Array(UInt64)} GROUP BY part, bucket"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark alone."""
    add = parser.add_argument
    add("--runs", type=int, default=40, metavar="N", help="how many (%(default)s)")
    add("--steps", type=int, default=5_000, metavar="N", help="of each run (%(default)s)")
    add(
        "--long", type=int, default=500_000, metavar="N", help="steps of one more run, drawn from rollups (%(default)s)"
    )
    add("--requests", type=int, default=20, metavar="N", help="charts that each user requests (%(default)s)")


def measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    """All of it with one server."""
    from database import clickhouse_server

    if not clickhouse_server.library().exists():
        raise Missing("The ClickHouse library is not there: make clickhouse")
    smaller = {"runs": 3, "steps": 300, "long": 3_000, "requests": 2} if options.quick else {}
    sizes = argparse.Namespace(**{**vars(options), **smaller})
    return measure_selected(BENCHMARK, {"database": lambda: _database(sizes)}, options)


def _database(options: argparse.Namespace) -> Part:
    with tempfile.TemporaryDirectory(dir=WORK) as temporary, _server(Path(temporary)) as server:
        logs = Path(temporary) / "logs"
        for i in range(options.runs):
            _write(logs / f"run{i:03}", options.steps, seed=i)
        _write(logs / "long", options.long, seed=0)
        url, process = server.url("bench"), psutil.Process(server.pid)
        connection = Connection(parse_url(url))
        schema.migrate(connection)
        figures = _push(connection, logs, process)
        figures |= _charts(connection, url, steps=options.steps)
        names = [f"run{i:03}" for i in range(options.runs)]
        waits = mixed_charts(url, names, TAGS, steps=options.steps, requests=options.requests, database=process)
    return _part(figures, waits, options)


@contextmanager
def _server(directory: Path) -> Iterator[Any]:
    from database import clickhouse_server
    from remote_hosts.servers import free_ports

    server = clickhouse_server.ClickHouse(directory, free_ports(1)[0])
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _write(directory: Path, steps: int, *, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # As trainings log them: float32, with a clock that is not quite regular.
    values = np.cumsum(rng.normal(size=(steps, len(TAGS))), axis=0).astype(np.float32).astype(float).tolist()
    walls = (1.7e9 + np.cumsum(rng.uniform(0.1, 0.12, steps))).tolist()
    writer = EventFileWriter(str(directory))
    for step, (row, wall) in enumerate(zip(values, walls, strict=True)):
        writer.scalars(dict(zip(TAGS, row, strict=True)), step, wall, float)
    writer.close()


def _push(connection: Connection, logs: Path, server: psutil.Process) -> dict[str, float]:
    """Push every run: what it costs, and what it takes on disk."""
    before, began = sum(server.cpu_times()[:2]), time.process_time()
    pusher = Pusher(read(logs), connection, host="bench")
    pusher.push()
    client = time.process_time() - began
    inserts = _cpu_secs(connection, "query_kind = 'Insert'")
    for name in ("points", "rollup"):
        connection.run(f"OPTIMIZE TABLE {{db}}.{name} FINAL")
    merged = sum(server.cpu_times()[:2]) - before
    sizes = dict(
        connection.rows(
            """SELECT table, sum(bytes_on_disk) FROM system.parts WHERE database = {name:String} AND active
            GROUP BY table""",
            name=connection.url.name,
        )
    )
    return {
        "points": pusher.points,
        "client_s": client,
        "inserts_s": inserts,
        "merged_s": merged,
        "point_bytes": sizes["points"] / pusher.points,
        "rollup_bytes": sizes["rollup"] / pusher.points,
        "all_bytes": sum(sizes.values()) / pusher.points,
    }


def _charts(connection: Connection, url: str, *, steps: int) -> dict[str, float]:
    """The server's processor time for charts of all runs, and for the same by a query written by hand."""
    stored = StoredRuns.open(url)
    stored.refresh()
    charts = StoredCharts(stored)
    names = [name for name in stored if name != "long"]
    stored.load_rows(stored.values())
    tag, parts = stored[names[0]].row("loss").tag, [stored[name].part for name in names]

    def bare() -> None:
        for _ in range(BARE_ROUNDS):
            connection.rows(_BARE, width=max(steps // PIXELS, 1), tag=tag, parts=parts)

    everything = Query(runs=names, tags=["loss"], buckets=PIXELS)
    zoomed = Query(runs=names, tags=["loss"], buckets=PIXELS, start=steps / 4, end=steps / 2)
    long = Query(runs=["long"], tags=["loss"], buckets=PIXELS)
    figures = {}
    for name, work in (
        ("bare_s", bare),
        ("chart_s", lambda: charts.window(everything)),
        ("zoomed_s", lambda: charts.window(zoomed)),
        ("long_s", lambda: charts.window(long)),
    ):
        since = _now(connection)
        work()
        figures[name] = _cpu_secs(connection, "query_kind = 'Select'", since)
    return {**figures, "bare_s": figures["bare_s"] / BARE_ROUNDS}


def _part(figures: dict[str, float], waits: Waits, options: argparse.Namespace) -> Part:
    points, client = figures["points"], figures["client_s"]
    p95, drawn = waits.ms(0.95), f"{options.runs} runs x {options.steps:,} steps at {PIXELS} pixels"
    checks = [
        Check(
            f"{USERS} users, {len(waits.secs)} mixed charts: 95th percentile of the wait",
            f"{p95:.0f} ms",
            f"under {TARGET_P95_MS:.0f} ms",
            p95 < TARGET_P95_MS,
        ),
        Check("the same: errors", str(waits.errors), "0", waits.errors == 0),
    ]
    inserted, merged = client + figures["inserts_s"], client + figures["merged_s"]
    rows = [
        ("push, points per second and core, pusher and server together", f"{points / inserted:,.0f}"),
        ("the same with all merges until one part is left", f"{points / merged:,.0f}"),
        ("push, the pusher's CPU per million points", f"{client / points * 1e6:.2f} s"),
        ("push, the server's CPU per million points", f"{figures['inserts_s'] / points * 1e6:.2f} s"),
        ("bytes per point", f"{figures['point_bytes']:.1f}"),
        ("bytes per point, with rollups and everything else", f"{figures['all_bytes']:.1f}"),
        (f"chart of {drawn}, the server's CPU", f"{1e3 * figures['chart_s']:.0f} ms"),
        ("the same by a query written by hand", f"{1e3 * figures['bare_s']:.0f} ms"),
        ("the same zoomed in, after the chart of everything", f"{1e3 * figures['zoomed_s']:.0f} ms"),
        (
            f"chart of one run of {options.long:,} steps, from rollups, the server's CPU",
            f"{1e3 * figures['long_s']:.0f} ms",
        ),
        (f"{USERS} users: median wait for a chart", f"{waits.ms(0.5):.0f} ms"),
        ("CPU of both servers per chart", f"{1e3 * waits.cpu_secs / len(waits.secs):.0f} ms"),
    ]
    text = (
        f"{options.runs} runs of {options.steps:,} steps and one of {options.long:,}, with {len(TAGS)} float32 tags "
        f"each: {points:,.0f} points in one ClickHouse server on this machine.\n\n" + table(("what", "figure"), rows)
    )
    samples = {"figures": figures, "waits_s": waits.secs, "users_cpu_s": waits.cpu_secs}
    return Part("Runs in a database", text, checks, samples)


def _now(connection: Connection) -> int:
    return int(connection.rows("SELECT toUnixTimestamp64Micro(now64(6))")[0][0])


def _cpu_secs(connection: Connection, which: str, since: int = 0) -> float:
    """The server's processor time for queries on these tables."""
    connection.run("SYSTEM FLUSH LOGS")
    sql = f"""SELECT sum(ProfileEvents['OSCPUVirtualTimeMicroseconds']) FROM system.query_log
    WHERE type = 'QueryFinish' AND {which} AND event_time_microseconds > fromUnixTimestamp64Micro({{since:Int64}})
    AND arrayExists(table -> startsWith(table, {{name:String}}), tables)"""
    return float(connection.rows(sql, since=since, name=connection.url.name + ".")[0][0]) / 1e6


BENCHMARK = Benchmark(
    name="scale",
    title="Scale-out",
    packages=("numpy", "clickhouse-connect"),
    description=__doc__,
    measure=measure,
    add_options=add_options,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
