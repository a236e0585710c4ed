import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from builders import event_file, scalars, session_start, version
from database.comparing import push, same_series, same_windows, stored
from log_directories import append, write_run

import pulseboard as pb
from pulseboard.database.check import check
from pulseboard.database.push.ledger import Ledger
from pulseboard.read.runs import read

pytestmark = pytest.mark.early


def test_runs_of_every_kind_arrive_once_and_are_read_back_as_they_are(tmp_path, url, connection):
    write_run(tmp_path / "odd", (0, 1.5), (1, np.nan), (2, np.inf), (3, -np.inf), (4, -2.5))
    resumed = event_file(
        version(),
        *scalars("loss", (0, 0.0), (1, 1.0), (2, 2.0)),
        session_start(1),
        *scalars("loss", (1, 7.0), (2, 8.0)),
    )
    write_run(tmp_path / "resumed").write_bytes(resumed)
    (tmp_path / "table.csv").write_text("step,loss,acc\n" + "".join(f"{i},{1 / (i + 1)},{i}\n" for i in range(300)))
    run = pb.init(dir=tmp_path / "recorded", config={"lr": 0.1, "depth": 3}, telemetry_secs=0)
    for step in range(5):
        run.log({"loss": step / 3}, step=step)
    run.histogram("weights", np.arange(100.0), step=1)
    run.text("note", "**hello**", step=2)
    run.finish()

    assert push(tmp_path, connection).points == 5 + 5 + 600 + 5
    assert push(tmp_path, connection).points == 0

    local, in_database = read(tmp_path), stored(url)
    assert same_series(local, in_database) == 615
    assert same_windows(local, in_database) > 10
    (name,) = (name for name in local if name.startswith("recorded"))
    assert in_database[name].texts("note")[0].text == "**hello**"
    (expected,), (found,) = (runs[name].histograms("weights") for runs in (local, in_database))
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert in_database[name].restarts() == local[name].restarts()
    assert check(connection).problems == ()


def test_the_progress_of_a_first_load_moves_with_every_batch(tmp_path, url, connection):
    write_run(tmp_path / "a", *((step, float(step)) for step in range(200)))
    write_run(tmp_path / "b", *((step, float(step)) for step in range(100)))
    seen = []
    push(tmp_path, connection, batch_rows=50, progress=lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {300}
    assert [done for done, _ in seen] == [*range(50, 301, 50), 300]
    seen.clear()
    push(tmp_path, connection, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(300, 300)]


def test_what_a_restart_orphans_later_is_orphaned_in_the_database(tmp_path, url, connection):
    path = write_run(tmp_path / "run", *((step, float(step)) for step in range(200)))
    append(path, (0, 1.0), (1, 2.0), tag="rare")
    push(tmp_path, connection)
    with path.open("ab") as file:
        file.write(event_file(session_start(50), *scalars("loss", *((step, -1.0) for step in range(50, 60)))))
    assert push(tmp_path, connection).points == 10
    assert stored(url)["run"].series("loss", orphans=True).orphaned.sum() == 150
    same_series(read(tmp_path), stored(url))
    same_windows(read(tmp_path), stored(url))


def test_a_log_that_is_replaced_is_pushed_again_and_what_was_there_is_deleted(tmp_path, url, connection):
    path = tmp_path / "table.csv"
    path.write_text("step,loss\n" + "".join(f"{i},{i}\n" for i in range(100)))
    push(tmp_path, connection)
    path.write_text("step,loss\n" + "".join(f"{i},{-i}\n" for i in range(70)))
    _cut_off(tmp_path, connection)
    assert same_series(read(tmp_path), stored(url)) == 70
    assert check(connection).problems == ()
    assert connection.rows("SELECT count() FROM {db}.points") == [(70,)]


def test_the_first_of_two_plans_for_the_same_points_counts_and_both_pushers_insert_its_rows(tmp_path, url, connection):
    path = write_run(tmp_path / "run", *((step, 0.5) for step in range(100)))
    rival, clock = _pusher(tmp_path, connection), [0.0]
    late = _pusher(tmp_path, connection, clock=lambda: clock[0])
    propose = Ledger.propose

    def after_the_rival(ledger, plans):
        append(path, *((step, 0.5) for step in range(100, 130)))
        rival[0].poll()
        rival[1].push()  # more points than the late one has seen
        propose(ledger, plans)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "propose", lambda ledger, plans: patch.undo() or after_the_rival(ledger, plans))
        late[1].push()
    assert late[1].points == 0
    assert late[1].waiting == 1
    late[0].poll()
    late[1].push([])
    assert late[1].waiting == 0
    append(path, (130, 1.0))
    late[0].poll()
    late[1].push()
    assert same_series(read(tmp_path), stored(url)) == 131
    assert check(connection).problems == ()


def test_a_batch_whose_pusher_died_is_carried_out_by_another_one(tmp_path, url, connection):
    for name in ("a", "b"):
        write_run(tmp_path / name, *((step, 0.5) for step in range(100)))
    for table in ("rollup", "points", "series", "runs"):
        for name in ("a", "b"):
            append(tmp_path / name / "events.out.tfevents.1", *((step, 0.75) for step in range(100)))
        with pytest.MonkeyPatch.context() as patch:
            insert = connection.insert

            def dies(into, columns, *, token, at=table, insert=insert):
                if into == at:
                    raise KeyboardInterrupt
                insert(into, columns, token=token)

            patch.setattr(connection, "insert", dies)
            with pytest.raises(KeyboardInterrupt):
                push(tmp_path, connection)
        for name in ("a", "b"):
            append(tmp_path / name / "events.out.tfevents.1", *((step, 0.25) for step in range(100)))
        push(tmp_path, connection)
        assert same_series(read(tmp_path), stored(url)) > 0
        assert check(connection).problems == ()
        assert check(connection).open_plans == 0


@pytest.mark.parametrize("kills", [8, pytest.param(20, marks=pytest.mark.long)])
def test_killed_pushers_and_a_killed_server_leave_every_row_in_the_database_once(clickhouse, kills):
    script = Path(__file__).with_name("kills.py")
    done = subprocess.run([sys.executable, script, "--kills", str(kills)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["with open plans"] > 0


def _cut_off(directory, connection):
    """Push a directory with a log that has fewer points than the database, for long enough."""
    clock = [0.0]
    _, pusher = _pusher(directory, connection, clock=lambda: clock[0])
    pusher.push()
    assert pusher.waiting == 1
    clock[0] = 20.0
    pusher.push([])
    assert pusher.waiting == 0


def _pusher(directory, connection, **options):
    from pulseboard.database.push.pusher import Pusher

    runs = read(directory)
    return runs, Pusher(runs, connection, host="host", **options)
