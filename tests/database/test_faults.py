"""What goes wrong at the server or on the way to it: a clear message, nothing lost, and it goes on by itself."""

import numpy as np
import pytest
from database.comparing import push, same_series, stored
from database.cutting_proxy import CuttingProxy, random_budgets
from log_directories import append, write_run

from pulseboard.database.check import check
from pulseboard.database.connection import Connection, DatabaseError
from pulseboard.database.push.pusher import Pusher
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.database.url import parse_url
from pulseboard.read.runs import read

pytestmark = pytest.mark.early
TRIES = 300


@pytest.fixture
def logs(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b", "c"):
        write_run(tmp_path / name, *enumerate(rng.normal(size=3000).tolist()))
    return tmp_path


def through(proxy, url):
    return f"clickhouse://127.0.0.1:{proxy.port}/{url.rpartition('/')[2]}"


def test_a_network_that_cuts_connections_loses_and_doubles_nothing(clickhouse, logs, url, connection):
    proxy = CuttingProxy(clickhouse.port, random_budgets(1, low=1, high=200_000, share=0.95))
    pusher, failures = None, 0
    for _ in range(TRIES):
        try:
            if pusher is None:
                way = Connection(parse_url(through(proxy, url)))
                pusher = Pusher(read(logs), way, host="host", batch_rows=500)
            pusher.push()
            break
        except DatabaseError as error:
            if not error.transient:
                raise
            failures += 1
            if failures % 5 == 0:
                pusher = None  # a new process
    proxy.close()
    push(logs, connection)
    assert proxy.cuts > 3  # the client repeats some requests by itself
    assert same_series(read(logs), stored(url)) == 9000
    found = check(connection)
    assert (found.problems, found.open_plans) == ((), 0)


def test_an_answer_that_breaks_off_is_an_error_and_the_next_question_is_answered(clickhouse, logs, url, connection):
    push(logs, connection)
    proxy = CuttingProxy(clickhouse.port, lambda: None)
    runs = StoredRuns.open(through(proxy, url))
    runs.refresh()
    proxy.all_left = 20_000
    with pytest.raises(DatabaseError):
        runs["a"].series("loss")
    proxy.all_left = None
    assert len(runs["a"].series("loss")) == 3000
    proxy.close()


def test_a_full_disk_at_the_server_is_waited_for(logs, url, connection):
    push(logs, connection)
    append(logs / "a" / "events.out.tfevents.1", *((step, 1.0) for step in range(3000, 3500)))
    pusher = Pusher(read(logs), connection, host="host")
    connection.run("ALTER TABLE {db}.points MODIFY SETTING min_free_disk_bytes_to_perform_insert = 1000000000000000")
    with pytest.raises(DatabaseError, match=r"short of room.*Nothing is lost") as caught:
        pusher.push()
    assert caught.value.transient
    connection.run("ALTER TABLE {db}.points RESET SETTING min_free_disk_bytes_to_perform_insert")
    pusher.push()
    assert same_series(read(logs), stored(url)) == 9500
    assert check(connection).problems == ()
