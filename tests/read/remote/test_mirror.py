"""Mirrors: what is fetched, what is refused, and what stays on disk."""

import json
import os
import threading
import time
from pathlib import Path

import pytest
from builders import event_file, scalars, version
from remote_hosts.store import MemoryStore

from pulseboard.core.errors import PulseboardError, RemoteError
from pulseboard.read.remote.mirror import Mirror
from pulseboard.read.remote.mirror_files import MirrorFiles, local_path

EVENTS = "a/events.out.tfevents.1"


def events(count):
    return event_file(version(), *scalars("loss", *((i, float(i)) for i in range(count))))


def files_in(directory):
    """Every file below a directory, by its path there."""
    return {str(path.relative_to(directory)): path for path in sorted(Path(directory).rglob("*")) if path.is_file()}


def copied(mirror):
    """The content of every file of a mirror."""
    return {name: path.read_bytes() for name, path in files_in(mirror.path).items()}


HOSTILE = ["../x.csv", "a/../../x.csv", "/etc/x.csv", "a//x.csv", "./x.csv", "a/./x.csv", "a/\0.csv", "a/x.csv/.."]


@pytest.mark.parametrize("name", [*HOSTILE, f"{'n' * 300}.csv", "/".join(["d" * 200] * 30) + "/x.csv", "a/\ud800.csv"])
def test_a_hostile_name_is_left_out_and_nothing_is_written_elsewhere(name, tmp_path, own_cache):
    mirror = Mirror(MemoryStore({name: b"step,loss\n0,1\n1,2\n", EVENTS: events(1)}))
    mirror.update()
    assert copied(mirror) == {EVENTS: events(1)}
    assert ["Left out an object" in note.what for note in mirror.notes] == [True]
    outside = [path for path in files_in(tmp_path).values() if own_cache not in path.parents]
    assert outside == []
    assert all(
        path.name in ("mirror.json", "lock", "in-use", "events.out.tfevents.1") for path in files_in(own_cache).values()
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_name_has_a_path(name, tmp_path):
    assert local_path(str(tmp_path), name) is None


def test_the_name_of_a_url_never_leads_out_of_the_cache(own_cache):
    mirror = Mirror(MemoryStore({EVENTS: events(1)}, url=f"s3://memory/{'n' * 300}"))
    mirror.update()
    assert own_cache in Path(mirror.path).parents


def test_a_name_that_is_also_a_directory_is_left_out():
    mirror = Mirror(MemoryStore({"a": b"", "b": b"x", EVENTS: events(1), "b/events.out.tfevents.1": events(2)}))
    mirror.update()
    assert set(copied(mirror)) == {EVENTS, "b/events.out.tfevents.1"}
    assert [note.path for note in mirror.notes] == ["s3://memory/runs/b"]


def test_growth_is_appended_in_place_and_a_replacement_is_a_new_file():
    store = MemoryStore({EVENTS: events(10)})
    mirror = Mirror(store)
    mirror.update()
    inode = os.stat(mirror.path + "/" + EVENTS).st_ino
    store.files[EVENTS] = events(20)
    mirror.update()
    assert (copied(mirror)[EVENTS], os.stat(mirror.path + "/" + EVENTS).st_ino) == (events(20), inode)
    store.files[EVENTS] = b"x" + events(30)
    mirror.update()
    assert copied(mirror)[EVENTS] == b"x" + events(30)
    assert os.stat(mirror.path + "/" + EVENTS).st_ino != inode


def test_without_etags_another_time_alone_costs_only_the_last_bytes():
    store = MemoryStore({EVENTS: events(100)}, versions=False)
    mirror = Mirror(store)
    mirror.update()
    store.times[EVENTS], store.reads = 2_000, []
    mirror.update()
    size = len(events(100))
    assert store.reads == [(EVENTS, size - 64, size)]
    assert os.stat(mirror.path + "/" + EVENTS).st_mtime == 2_000
    store.reads = []
    assert mirror.update() is False
    assert store.reads == []


def test_with_etags_another_time_alone_costs_nothing():
    store = MemoryStore({EVENTS: events(100)})
    mirror = Mirror(store)
    mirror.update()
    store.times[EVENTS], store.reads = 2_000, []
    assert mirror.update() is False
    assert store.reads == []


def test_a_file_that_is_refused_is_noted_and_not_tried_again_until_it_changes():
    store = MemoryStore({EVENTS: events(1), "b/events.out.tfevents.1": events(2)})
    store.refuses = {EVENTS}
    mirror = Mirror(store)
    assert mirror.update() is True
    assert set(copied(mirror)) == {"b/events.out.tfevents.1"}
    for _ in range(2):
        (note,) = mirror.notes
        assert (note.what, note.path) == ("Left out a file: InvalidObjectState.", f"s3://memory/runs/{EVENTS}")
        store.reads = []
        assert mirror.update() is False
        assert store.reads == []
    store.files[EVENTS], store.refuses = events(3), set()
    assert mirror.update() is True
    assert (copied(mirror)[EVENTS], mirror.notes) == (events(3), ())


class SlowStore(MemoryStore):
    """Delivers its first file at once, and of the others nothing for a minute."""

    def read(self, file, *, start, end):
        if not file.name.startswith("000/"):
            for _ in range(6000):
                time.sleep(0.01)
                yield b""
        yield from super().read(file, start=start, end=end)


def test_ctrl_c_does_not_wait_for_the_rest():
    store = SlowStore({f"{i:03}/events.out.tfevents.1": events(50) for i in range(100)})

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Mirror(store).update(progress=interrupt)
    assert [name for name, *_ in store.reads] == ["000/events.out.tfevents.1"]
    mirror = Mirror(MemoryStore(store.files))
    mirror.update()
    assert copied(mirror) == store.files


def test_a_database_is_always_fetched_whole():
    store = MemoryStore({"mlflow.db": b"a" * 1000})
    mirror = Mirror(store)
    mirror.update()
    store.files["mlflow.db"] = b"b" + b"a" * 1999
    mirror.update()
    assert copied(mirror)["mlflow.db"] == b"b" + b"a" * 1999


def test_a_download_that_was_cut_off_continues_where_it_ended():
    store = MemoryStore({EVENTS: events(100)})
    mirror = Mirror(store)
    store.cut = 500
    with pytest.raises(RemoteError):
        mirror.update()
    assert copied(mirror)[EVENTS] == events(100)[:500]
    store.cut, store.reads = None, []
    mirror.update()
    assert copied(mirror)[EVENTS] == events(100)
    assert store.reads == [(EVENTS, 500 - 64, len(events(100)))]


def test_a_file_that_changes_between_listing_and_reading_is_read_after_the_next_listing():
    store = MemoryStore({EVENTS: events(1)})
    mirror = Mirror(store)
    mirror.connect()
    store.files[EVENTS] = events(2)
    mirror.update()
    assert copied(mirror) == {}
    mirror.update()
    assert copied(mirror)[EVENTS] == events(2)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"schema": 1}', b"\xff\xfe", b'{"schema": 1, "url": 3, "files": 4}'])
def test_a_damaged_state_is_fetched_again(damage, own_cache):
    store = MemoryStore({EVENTS: events(3)})
    Mirror(store).update()
    (state,) = own_cache.glob("*/mirror.json")
    state.write_bytes(damage)
    mirror = Mirror(store)
    mirror.update()
    assert copied(mirror)[EVENTS] == events(3)


def test_the_cache_may_be_deleted_at_any_time(own_cache):
    import shutil

    store = MemoryStore({EVENTS: events(3)})
    mirror = Mirror(store)
    mirror.update()
    shutil.rmtree(own_cache)
    mirror.update()
    assert copied(mirror)[EVENTS] == events(3)


def test_threads_and_processes_take_turns():
    store = MemoryStore({f"{i}/events.out.tfevents.1": events(i + 1) for i in range(20)})
    mirrors = [Mirror(store) for _ in range(4)]
    threads = [threading.Thread(target=mirror.update) for mirror in mirrors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert copied(mirrors[0]) == store.files
    assert len(store.reads) == 20


# ---- the limit


def test_the_newest_files_stay_within_the_limit(monkeypatch, own_cache):
    monkeypatch.setenv("PULSEBOARD_REMOTE_CACHE_GB", "0.0001")  # 100 kB
    store = MemoryStore({f"{i}/log.csv": b"%d," % i * 10_000 for i in range(9)})
    store.times = {f"{i}/log.csv": 1_000 + i for i in range(9)}
    mirror = Mirror(store)
    mirror.update()
    assert set(copied(mirror)) == {f"{i}/log.csv" for i in (8, 7, 6, 5, 4)}
    (note,) = mirror.notes
    assert "Left out 4 files" in note.what
    assert "PULSEBOARD_REMOTE_CACHE_GB" in note.what
    assert sum(path.stat().st_size for path in files_in(own_cache).values()) < 110_000


def test_a_file_that_is_too_large_does_not_push_out_the_others(monkeypatch):
    monkeypatch.setenv("PULSEBOARD_REMOTE_CACHE_GB", "0.0001")
    store = MemoryStore({"big/events.out.tfevents.1": b"x" * 30_000, EVENTS: events(3)})
    mirror = Mirror(store)
    mirror.update()
    assert set(copied(mirror)) == {EVENTS}
    assert [note.path for note in mirror.notes] == ["s3://memory/runs/big/events.out.tfevents.1"]


def test_mirrors_that_nobody_uses_make_room_for_new_ones(monkeypatch, own_cache):
    monkeypatch.setenv("PULSEBOARD_REMOTE_CACHE_GB", "0.0001")
    names = ("old", "used", "new")
    stores = {
        name: MemoryStore({f"{i}/log.csv": b"0," * 10_000 for i in range(2)}, url=f"s3://{name}") for name in names
    }
    old, used, new = (Mirror(store) for store in stores.values())
    used.update()
    old.update()
    old.close()
    new.update()
    assert [os.path.exists(one.path) for one in (old, used, new)] == [False, True, True]
    assert len(copied(new)) == 2


def test_a_limit_that_is_not_a_number_is_an_error(monkeypatch):
    monkeypatch.setenv("PULSEBOARD_REMOTE_CACHE_GB", "lots")
    with pytest.raises(PulseboardError, match="must be a number of gigabytes, not 'lots'"):
        Mirror(MemoryStore({EVENTS: events(1)})).update()


def test_a_cache_that_cannot_be_written_is_an_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(PulseboardError, match="Cannot write the copy of a remote directory"):
        Mirror(MemoryStore({EVENTS: events(1)})).update()


def test_the_state_names_the_url(own_cache):
    mirror = Mirror(MemoryStore({EVENTS: events(1)}))
    mirror.update()
    (state,) = own_cache.glob("*/mirror.json")
    assert json.loads(state.read_text())["url"] == "s3://memory/runs"
    assert MirrorFiles(MemoryStore().url).load().files.keys() == {EVENTS}
