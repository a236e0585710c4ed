"""Following remote directories: how often they are listed, and what an outage does."""

import logging
import threading

import pytest
from builders import event_file, scalars, version
from log_directories import values
from remote_hosts.store import MemoryStore
from servers import wait_for

import pulseboard as pb
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.remote import stores
from pulseboard.read.remote.follow import IDLE_SECS, next_interval
from pulseboard.read.runs import Runs


def events(count):
    return event_file(version(), *scalars("loss", *((i, float(i)) for i in range(count))))


def intervals(changes, *, every_secs=5.0, pages=1):
    """The time after each listing, given whether it found changes."""
    found, interval = [], every_secs
    for changed in changes:
        interval = next_interval(interval, every_secs=every_secs, changed=changed, listing_pages=pages)
        found.append(interval)
    return found


def test_an_idle_directory_is_listed_once_a_minute_at_most():
    assert intervals([True, False, False, False, False, False]) == [5, 10, 20, 40, 60, 60]
    assert IDLE_SECS == 60


def test_a_change_makes_listings_frequent_again():
    assert intervals([False] * 6 + [True, False])[-2:] == [5, 10]


def test_a_listing_of_many_pages_is_made_less_often():
    assert intervals([True], pages=4) == [20]
    assert intervals([True], pages=1000) == [60]


def test_the_user_may_choose_longer_intervals():
    assert intervals([True, False, False], every_secs=300.0) == [300, 300, 300]


@pytest.fixture
def followed(monkeypatch):
    """Runs of a store in memory that a thread follows, and the messages it logs."""
    store = MemoryStore({"a/events.out.tfevents.1": events(1)})
    monkeypatch.setattr(stores, "open_store", lambda url, *, links_out: store)
    runs = Runs(log_directories_from(["s3://memory/runs"]))
    runs.refresh()
    stop, seen = threading.Event(), []
    thread = threading.Thread(
        target=lambda: seen.extend(runs.follow(every_secs=0.05, stop=stop)), name="test-follow", daemon=True
    )
    thread.start()
    yield runs, store
    stop.set()
    thread.join(120)
    assert not thread.is_alive()


def test_growth_new_runs_and_removed_runs_are_seen(followed):
    runs, store = followed
    store.files["a/events.out.tfevents.1"] = events(2)
    wait_for(lambda: values(runs["a"]) == [0.0, 1.0])
    store.files["b/events.out.tfevents.1"] = events(1)
    wait_for(lambda: set(runs) == {"a", "b"})
    del store.files["a/events.out.tfevents.1"]
    wait_for(lambda: set(runs) == {"b"})


def test_an_outage_is_reported_once_and_ends_by_itself(followed, caplog):
    runs, store = followed
    with caplog.at_level(logging.WARNING, "pulseboard.read"):
        store.down = True
        wait_for(lambda: any("it is down" in message for message in caplog.messages))
        listings = store.traffic.listings
        assert values(runs["a"]) == [0.0]
        store.files["a/events.out.tfevents.1"] = events(3)
        store.down = False
        wait_for(lambda: values(runs["a"]) == [0.0, 1.0, 2.0])
        wait_for(lambda: any("Reachable again" in message for message in caplog.messages))
    assert store.traffic.listings > listings
    assert len(caplog.messages) == 2


def test_growth_on_a_real_server_is_seen(bucket):
    bucket.put("runs/a/events.out.tfevents.1", events(1))
    runs, stop = pb.read(bucket.url + "/runs"), threading.Event()
    thread = threading.Thread(target=lambda: list(runs.follow(every_secs=0.2, stop=stop)), daemon=True)
    thread.start()
    bucket.put("runs/a/events.out.tfevents.1", events(50))
    wait_for(lambda: len(values(runs["a"])) == 50)
    bucket.proxy.down = True
    bucket.put("runs/a/events.out.tfevents.1", events(60))
    bucket.proxy.down = False
    wait_for(lambda: len(values(runs["a"])) == 60)
    stop.set()
    thread.join(120)


def test_a_directory_that_does_not_exist_yet_is_waited_for(monkeypatch):
    store = MemoryStore()
    monkeypatch.setattr(stores, "open_store", lambda url, *, links_out: store)
    runs, stop = Runs(log_directories_from(["s3://memory/runs"])), threading.Event()
    assert runs.connect() == ["s3://memory/runs"]
    runs.refresh()
    thread = threading.Thread(target=lambda: list(runs.follow(every_secs=0.05, stop=stop)), daemon=True)
    thread.start()
    store.files["a/events.out.tfevents.1"] = events(1)
    wait_for(lambda: list(runs) == ["a"])
    stop.set()
    thread.join(120)
