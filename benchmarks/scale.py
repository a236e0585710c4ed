"""What runs in ClickHouse cost: `python -m benchmarks.scale [--runs 100] [--steps 10000]`, or `make scale`.

Processor times of the server and of the pusher, not wall times: they say the same on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.scale_users import USERS, mixed_charts
from pulseboard.charts.query import Query
from pulseboard.database import schema
from pulseboard.database.connection import Connection
from pulseboard.database.push.pusher import Pusher
from pulseboard.database.stored.charts import StoredCharts
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.database.url import parse_url
from pulseboard.read.runs import read
from pulseboard.record.event_log.event_file_writer import EventFileWriter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

TAGS = ("loss", "accuracy", "lr", "grad_norm")

# What a chart of these runs costs if it is written by hand.
_BARE = """SELECT part, intDiv(step, {width:Int64}) AS bucket, count(), min(value), max(value), argMin(value, seq),
argMax(value, seq) FROM {db}.points WHERE tag = {tag:UInt64} AND part IN {parts:Array(UInt64)} GROUP BY part, bucket"""


def main() -> None:
    """Measure everything, and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--long", type=int, default=1_000_000, help="steps of one more run, drawn from rollups")
    args = parser.parse_args()
    from database import clickhouse_server
    from remote_hosts.servers import free_ports

    with tempfile.TemporaryDirectory() as temporary:
        logs = Path(temporary) / "logs"
        for i in range(args.runs):
            _write(logs / f"run{i:03}", args.steps, seed=i)
        _write(logs / "long", args.long, seed=0)
        server = clickhouse_server.ClickHouse(Path(temporary), free_ports(1)[0])
        server.start()
        try:
            _measure(args, server, logs)
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


def _measure(args: argparse.Namespace, server: Any, logs: Path) -> None:
    url = server.url("bench")
    connection = Connection(parse_url(url))
    schema.migrate(connection)
    runs = read(logs)
    process = psutil.Process(server.pid)
    before, began = sum(process.cpu_times()[:2]), time.process_time()
    pusher = Pusher(runs, connection, host="bench")
    pusher.push()
    client = time.process_time() - began
    inserts = _cpu_secs(connection, "query_kind = 'Insert'")
    for table in ("points", "rollup"):
        connection.run(f"OPTIMIZE TABLE {{db}}.{table} FINAL")
    merged = sum(process.cpu_times()[:2]) - before
    points = pusher.points
    print(f"{points:,} points of {len(runs)} runs")
    print(
        f"push: {client:.2f} s of the pusher's CPU, {inserts:.2f} s of the server's for inserts, "
        f"{merged:.2f} s with all merges"
    )
    print(
        f"      {points / (client + inserts):,.0f} points per second and core, "
        f"{points / (client + merged):,.0f} with merges"
    )
    sizes = dict(
        connection.rows(
            """SELECT table, sum(bytes_on_disk) FROM system.parts WHERE database = {name:String} AND active
            GROUP BY table""",
            name=parse_url(url).name,
        )
    )
    print(f"bytes per point: {sizes['points'] / points:.2f}, rollups {sizes['rollup'] / points:.2f}, ", end="")
    print(f"everything {sum(sizes.values()) / points:.2f}")
    stored = StoredRuns.open(url)
    stored.refresh()
    charts = StoredCharts(stored)
    names = [name for name in stored if name != "long"]
    stored.load_rows(stored.values())
    row = stored[names[0]].row("loss")
    parts = [stored[name].part for name in names]
    since = _now(connection)
    for _ in range(5):
        connection.rows(_BARE, width=max(args.steps // 1000, 1), tag=row.tag, parts=parts)
    bare = _cpu_secs(connection, "query_kind = 'Select'", since) / 5
    since = _now(connection)
    charts.window(Query(runs=names, tags=["loss"], buckets=1000))
    chart = _cpu_secs(connection, "query_kind = 'Select'", since)
    since = _now(connection)
    charts.window(Query(runs=names, tags=["loss"], buckets=1000, start=args.steps / 4, end=args.steps / 2))
    again = _cpu_secs(connection, "query_kind = 'Select'", since)
    print(
        f"chart of {len(names)} runs x {args.steps} steps at 1000 pixels, server CPU: "
        f"{chart * 1e3:.0f} ms the first time, ",
        end="",
    )
    print(f"{again * 1e3:.0f} ms zoomed in; the bare query {bare * 1e3:.0f} ms")
    since = _now(connection)
    (window,) = charts.window(Query(runs=["long"], tags=["loss"], buckets=1000))
    long = _cpu_secs(connection, "query_kind = 'Select'", since)
    print(f"chart of {window.points:,} steps at 1000 pixels from rollups, server CPU: {long * 1e3:.0f} ms")
    waits = mixed_charts(url, names, TAGS, steps=args.steps, database=process)
    print(
        f"{USERS} users, {len(waits.secs)} mixed charts, {waits.errors} errors: "
        f"{waits.ms(0.5):.0f} ms in the median, {waits.ms(0.95):.0f} ms at the 95th percentile, "
        f"{1e3 * waits.cpu_secs / len(waits.secs):.0f} ms of both servers' CPU per chart; "
        f"load of the machine {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
    )


def _now(connection: Connection) -> int:
    return int(connection.rows("SELECT toUnixTimestamp64Micro(now64(6))")[0][0])


def _cpu_secs(connection: Connection, which: str, since: int = 0) -> float:
    """The server's processor time for queries on these tables."""
    connection.run("SYSTEM FLUSH LOGS")
    sql = f"""SELECT sum(ProfileEvents['OSCPUVirtualTimeMicroseconds']) FROM system.query_log
    WHERE type = 'QueryFinish' AND {which} AND event_time_microseconds > fromUnixTimestamp64Micro({{since:Int64}})
    AND arrayExists(table -> startsWith(table, {{name:String}}), tables)"""
    return float(connection.rows(sql, since=since, name=connection.url.name + ".")[0][0]) / 1e6


if __name__ == "__main__":
    main()
