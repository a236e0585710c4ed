"""Directories on other machines, through a real sshd."""

import os
import threading

import pytest
from builders import event_file, scalars, version
from log_directories import append, values, write_run
from servers import wait_for

import pulseboard as pb
from pulseboard.core.errors import LogNotFound, PulseboardError, RemoteError
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.remote.fetch import OVERLAP_BYTES
from pulseboard.read.runs import Runs


@pytest.fixture
def remote(tmp_path):
    """A directory on the other machine."""
    directory = tmp_path / "remote" / "runs"
    directory.mkdir(parents=True)
    return directory


def traffic_of(runs):
    (traffic,) = runs.traffic().values()
    return traffic


def test_a_remote_directory_has_the_same_runs_as_a_local_one(sshd, remote):
    write_run(remote / "a", (0, 1.0), (1, 0.5))
    write_run(remote / "b" / "deep ü 'quoted' $HOME; \n x", (0, 2.0))
    (remote / "c").mkdir()
    (remote / "c" / "log.csv").write_text("step,loss\n" + "".join(f"{i},{1 / (i + 1)}\n" for i in range(20)))
    (remote / "c" / "model.pt").write_bytes(b"x" * 1_000_000)
    runs, expected = pb.read(sshd.url(remote)), pb.read(remote)
    assert set(runs) == set(expected)
    for name, run in expected.items():
        assert all(values(runs[name], tag) == values(run, tag) for tag in run.tags("scalar"))
    assert runs["a"].location == sshd.url(remote) + "/a"
    assert traffic_of(runs).bytes_read < 10_000


def test_only_new_bytes_are_read(sshd, remote):
    path = write_run(remote / "a", *((i, float(i)) for i in range(3000)))
    runs = pb.read(sshd.url(remote))
    before, size = traffic_of(runs).bytes_read, path.stat().st_size
    assert before == size
    append(path, (3000, 3000.0))
    assert runs.poll().grown == ("a",)
    assert values(runs["a"])[-1] == 3000.0
    assert traffic_of(runs).bytes_read - before == path.stat().st_size - size + OVERLAP_BYTES
    assert not runs.poll()
    assert traffic_of(runs).bytes_read - before == path.stat().st_size - size + OVERLAP_BYTES


def test_a_large_file_arrives_whole(sshd, remote):
    data = event_file(version(), *scalars("loss", *((i, float(i)) for i in range(60_000))))
    assert len(data) > 2_000_000
    (remote / "events.out.tfevents.1").write_bytes(data)
    (run,) = pb.read(sshd.url(remote)).values()
    assert values(run) == [float(i) for i in range(60_000)]


def test_a_torn_record_is_read_when_it_is_whole(sshd, remote):
    data = event_file(version(), *scalars("loss", (0, 1.0), (1, 2.0)))
    path = remote / "events.out.tfevents.1"
    path.write_bytes(data[:-10])
    runs = pb.read(sshd.url(remote))
    assert values(runs["."]) == [1.0]
    path.write_bytes(data)
    runs.poll()
    assert values(runs["."]) == [1.0, 2.0]


def test_replaced_and_removed_files_are_noticed(sshd, remote):
    path = write_run(remote / "a", (0, 1.0), (1, 2.0), (2, 3.0))
    write_run(remote / "b")
    runs = pb.read(sshd.url(remote))
    path.unlink()
    write_run(remote / "a", *((i, 7.0) for i in range(5)))
    (remote / "b" / "events.out.tfevents.1").unlink()
    assert runs.poll().removed == ("b",)
    assert values(runs["a"]) == [7.0] * 5


def test_the_url_of_one_file_is_read_as_that_file(sshd, remote):
    path = write_run(remote / "a")
    write_run(remote / "a", name="events.out.tfevents.2")
    assert list(pb.read(sshd.url(path))) == [path.name]


def test_links_are_followed_where_local_ones_are(sshd, remote, tmp_path):
    write_run(remote / "a")
    write_run(tmp_path / "outside" / "b")
    os.symlink(tmp_path / "outside" / "b", remote / "b")
    os.symlink(remote / "a", remote / "latest")  # listed anyway
    os.symlink(remote, remote / "a" / "loop")
    os.symlink("nowhere", remote / "dangling")
    assert set(pb.read(sshd.url(remote))) == {"a", "b"}
    inside = Runs(log_directories_from([sshd.url(remote)], links_out=False))
    inside.refresh()
    assert set(inside) == {"a"}
    assert [note.path for note in inside.notes()] == [f"{sshd.url(remote)}/b"]


def test_growth_is_followed_and_a_lost_connection_is_opened_again(sshd, remote, caplog):
    path = write_run(remote / "a", (0, 0.0))
    runs, stop = pb.read(sshd.url(remote)), threading.Event()
    thread = threading.Thread(target=lambda: list(runs.follow(every_secs=0.1, stop=stop)), daemon=True)
    thread.start()
    append(path, (1, 1.0))
    wait_for(lambda: values(runs["a"]) == [0.0, 1.0])
    (mirror,) = runs.mirrors
    mirror._store._sftp._process.kill()
    append(path, (2, 2.0))
    wait_for(lambda: values(runs["a"]) == [0.0, 1.0, 2.0])
    stop.set()
    thread.join(20)
    assert all("Cannot be reached" in message or "Reachable again" in message for message in caplog.messages)


def test_nothing_there_is_an_error(sshd, remote):
    with pytest.raises(LogNotFound, match="nothing is there"):
        pb.read(sshd.url(remote / "none"))


def test_a_directory_that_may_not_be_listed_is_left_out(sshd, remote):
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    write_run(remote / "a")
    (remote / "b").mkdir(mode=0)
    runs = pb.read(sshd.url(remote))
    assert list(runs) == ["a"]
    assert ["Left out a directory" in note.what for note in runs.notes()] == [True]


def test_an_unknown_host_is_an_error_that_says_what_to_do(sshd, remote, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_SSH", sshd.stranger)
    with pytest.raises(RemoteError, match=r"The key of the host is not known.*Connect once with `ssh -p"):
        pb.read(sshd.url(remote))


def test_a_refused_login_is_an_error_that_says_what_to_do(sshd, remote, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_SSH", sshd.without_key)
    with pytest.raises(RemoteError, match=r"The host refused the login.*must work without a password"):
        pb.read(sshd.url(remote))


def test_a_host_that_cannot_be_reached_is_an_error(sshd, remote, own_cache):
    with pytest.raises(
        RemoteError, match=r"Cannot be reached: ssh: connect to host 127\.0\.0\.1 port 1: Connection refused"
    ):
        pb.read(f"ssh://127.0.0.1:1{remote}")
    assert not own_cache.exists()


def test_a_missing_ssh_client_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setenv("PULSEBOARD_SSH", "no-such-command")
    with pytest.raises(PulseboardError, match=r"'no-such-command' was not found\. Install OpenSSH"):
        pb.read("ssh://host/runs")


def test_a_server_that_does_not_speak_sftp_is_an_error(monkeypatch, tmp_path):
    script = tmp_path / "ssh"
    script.write_text("#!/bin/sh\necho Welcome to this machine, have a nice day\n")
    script.chmod(0o755)
    monkeypatch.setenv("PULSEBOARD_SSH", str(script))
    with pytest.raises(RemoteError, match="Cannot be reached"):
        pb.read("ssh://host/runs")
