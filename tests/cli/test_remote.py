"""Commands on remote directories."""

import json

import pytest
from builders import event_file, scalars, version
from remote_hosts.fixtures import own_cache  # noqa: F401
from remote_hosts.store import MemoryStore

from pulseboard.read.remote import stores

URL = "s3://memory/runs"


@pytest.fixture
def store(own_cache, monkeypatch):  # noqa: F811
    """A remote directory with one run of each of two formats."""
    rows = "step,loss\n" + "".join(f"{i},{1 / (i + 1)}\n" for i in range(20))
    data = event_file(version(), *scalars("loss", (0, 1.0), (1, 0.5)))
    store = MemoryStore({"a/events.out.tfevents.1": data, "b/log.csv": rows.encode()})
    monkeypatch.setattr(stores, "open_store", lambda url, *, links_out: store)
    return store


def test_ls_lists_the_runs_with_their_urls(pulseboard, store):
    ran = pulseboard("ls", URL, "--json")
    assert ran.code == 0, ran.err
    runs = {run["run"]: run["path"] for run in json.loads(ran.out)["runs"]}
    assert runs == {"a": f"{URL}/a", "b/log.csv": f"{URL}/b"}


def test_no_command_shows_the_path_of_the_copy(pulseboard, store, tmp_path):
    store.files["c/events.out.tfevents.1"] = b"\x18" + b"damage" * 10
    for command in (("ls",), ("show",), ("du",), ("diagnose",), ("ls", "--json"), ("show", "--json"), ("du", "--json"),
                    ("diagnose", "--json"), ("export",)):  # fmt: skip
        ran = pulseboard(command[0], URL, *command[1:])
        assert ran.code == 0, ran.err
        assert str(tmp_path) not in ran.out + ran.err, command


def test_verbose_prints_requests_and_bytes(pulseboard, store):
    size = sum(map(len, store.files.values()))
    assert pulseboard("ls", URL, "-v").err == f"3 requests, 1 listing, {size} B read from {URL}\n"
    assert pulseboard("ls", URL).err == ""


def test_export_writes_every_point(pulseboard, store):
    assert len(pulseboard("export", URL).out.splitlines()) == 1 + 2 + 20


def test_diagnose_watches_a_remote_directory(pulseboard, store, monkeypatch):
    from pulseboard.read.runs import Runs

    monkeypatch.setattr(Runs, "follow", lambda runs, **options: iter(()))
    assert pulseboard("diagnose", URL, "--watch").code == 0


def test_archive_refuses_remote_directories(pulseboard, store, tmp_path):
    ran = pulseboard("archive", f"mine:{URL}", "--to", tmp_path / "archive")
    assert (ran.code, ran.out) == (2, "")
    assert "Only local runs can be archived" in ran.err
    assert store.reads == []


def test_an_unreachable_directory_is_a_message_and_exit_code_2(pulseboard, store):
    store.down = True
    for command in ("ls", "serve"):
        ran = pulseboard(command, URL)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f"pulseboard: Cannot be reached: it is down. Check the network. {URL}\n"
