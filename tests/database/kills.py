"""Pushers are killed in mid-batch, and the server too: every row is in the database once afterwards.

    python tests/database/kills.py --kills 100 --restarts 5        (make scale)

Two pushers share a log directory that grows all the time. Again and again one of them is killed with SIGKILL and
another started; now and then the server is killed. Prints what it found as JSON, and ends with 1 if anything is wrong.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from builders import session_start
from database import clickhouse_server
from database.comparing import push, same_series, stored
from remote_hosts.servers import free_ports

from pulseboard.database import schema
from pulseboard.database.check import check
from pulseboard.database.connection import Connection, DatabaseError
from pulseboard.database.push.pusher import Pusher
from pulseboard.database.url import parse_url
from pulseboard.read.runs import read
from pulseboard.record.event_log.event_file_writer import EventFileWriter

BATCH_ROWS = 3000
RUNS, TAGS, STEPS = 4, 4, 400


class Logs:
    """Runs that grow: event files with restarts, NaN and infinities, and a CSV file."""

    def __init__(self, directory, seed):
        self._random = np.random.default_rng(seed)
        self._writers = [EventFileWriter(str(directory / f"run{i}")) for i in range(RUNS)]
        self._csv = directory / "table" / "metrics.csv"
        self._csv.parent.mkdir()
        self._csv.write_text("step,loss\n")
        self._step = [0] * (RUNS + 1)

    def grow(self, steps=STEPS):
        for i, writer in enumerate(self._writers):
            if self._random.random() < 0.05:
                self._step[i] = int(self._step[i] * 0.9)
                writer.record(session_start(self._step[i], wall_time=time.time()).SerializeToString())
            for _ in range(steps):
                values = self._random.normal(size=TAGS)
                values[self._random.random(TAGS) < 0.01] = [np.nan, np.inf, -np.inf][self._step[i] % 3]
                writer.scalars({f"tag{k}": float(values[k]) for k in range(TAGS)}, self._step[i], time.time(), float)
                self._step[i] += 1
        with self._csv.open("a") as file:
            for _ in range(steps):
                file.write(f"{self._step[-1]},{self._random.normal()}\n")
                self._step[-1] += 1


def pusher_process(directory, url, started):
    """Push forever, in a child process. Returns its id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        while True:
            try:
                connection = Connection(parse_url(url))
                runs = read(directory)
                pusher = Pusher(runs, connection, host="host", batch_rows=BATCH_ROWS)
                os.write(started, b".")
                while True:
                    pusher.push()
                    runs.poll()
            except DatabaseError:
                time.sleep(0.1)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--restarts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as temporary:
        server = clickhouse_server.ClickHouse(Path(temporary), free_ports(1)[0])
        server.start()
        try:
            result = torture(server, Path(temporary) / "logs", rng, args)
        finally:
            server.kill()
    print(json.dumps(result))
    return 1 if result["problems"] or result["dead"] else 0


def torture(server, directory, rng, args):
    directory.mkdir()
    logs, url = Logs(directory, args.seed), server.url("kills")
    logs.grow()
    connection = Connection(parse_url(url))
    schema.migrate(connection)
    ready, started = os.pipe()
    pushers = [pusher_process(directory, url, started) for _ in range(2)]
    restart_at = {round((i + 1) * args.kills / (args.restarts + 1)) for i in range(args.restarts)}
    in_batch = dead = 0
    for kill in range(args.kills):
        os.read(ready, 1)  # a pusher has begun
        logs.grow()
        time.sleep(rng.uniform(0.0, 0.4))
        victim = pushers.pop(rng.randrange(2))
        if os.waitpid(victim, os.WNOHANG)[0]:
            dead += 1  # it ended by itself, which it must not
        else:
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
        if kill in restart_at:
            server.kill()
            server.start()
        in_batch += check(connection).open_plans > 0
        pushers.append(pusher_process(directory, url, started))
    for pid in pushers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    last = push(directory, connection, batch_rows=BATCH_ROWS)
    end = time.monotonic() + 60
    while last.waiting and time.monotonic() < end:
        last.push([])
    found = check(connection)
    points = same_series(read(directory), stored(url))
    return {
        **{"kills": args.kills, "restarts": args.restarts, "with open plans": in_batch, "dead": dead},
        **{"points": points, "open": found.open_plans},
        "problems": [str(problem) for problem in found.problems] + (["open plans"] if found.open_plans else []),
    }


if __name__ == "__main__":
    sys.exit(main())
