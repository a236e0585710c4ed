"""Images and audio stay in the logs: the database knows where each is, and servers read them there."""

import json
import os
import shutil
import urllib.error
import urllib.request

import numpy as np
import pytest
from database.comparing import push, same_series, stored
from database.test_serve import _until
from log_directories import write_run

import pulseboard as pb
from pulseboard.cli import main
from pulseboard.core.errors import LogNotFound, ValuesNotHere
from pulseboard.database import schema
from pulseboard.database.check import check
from pulseboard.database.connection import Connection
from pulseboard.database.push import logged, pusher
from pulseboard.database.span import Span
from pulseboard.database.stored import log_files
from pulseboard.database.stored.log_files import LogFiles
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.database.url import parse_url
from pulseboard.read.runs import read
from pulseboard.serve.settings import BadSetting


def record(directory, *, name="a", images=3):
    """A run with images, a clip and a text. Returns its directory."""
    with pb.init(dir=directory, name=name, telemetry_secs=0) as run:
        for step in range(images):
            run.image("sample", np.full((4, 5, 3), step * 9, np.uint8), step=step)
        run.audio("voice", np.zeros(80, np.float32), sample_rate=8000, step=1)
        run.text("note", "hello", step=1)
    return directory


def shown(url, *media):
    runs = StoredRuns.open(url, media=[str(one) for one in media])
    runs.refresh()
    (run,) = runs.values()
    return run


def frames(run):
    return [(one.step, one.frames) for one in run.images("sample")]


def test_images_and_audio_are_read_from_the_log_where_it_is(tmp_path, url, connection):
    (local,) = read(record(tmp_path / "logs")).values()
    push(tmp_path / "logs", connection)
    assert same_series(read(tmp_path / "logs"), stored(url)) == 0
    assert connection.rows("SELECT count(), sum(length(data)) > 0 FROM {db}.stored_values WHERE file = ''")[0][0] == 1
    # The log may be below another directory here than on the host that pushed it, and it may be archived.
    shutil.copytree(tmp_path / "logs", tmp_path / "mounted" / "logs")
    for top in (tmp_path, tmp_path / "logs", tmp_path / "mounted"):
        run = shown(url, top)
        assert frames(run) == frames(local)
        (clip,), (expected,) = run.audio("voice"), local.audio("voice")
        assert clip == expected
        assert [text.text for text in run.texts("note")] == ["hello"]
    expected, archive = frames(local), str(tmp_path / "archive")
    assert main(["archive", str(tmp_path / "logs"), "--to", archive, "--yes", "--min-age", "0"]) == 0
    assert not list((tmp_path / "logs").rglob("*tfevents*"))
    assert frames(shown(url, archive)) == expected


def test_what_was_pushed_with_media_needs_no_log(tmp_path, url, connection):
    (local,) = read(record(tmp_path / "logs")).values()
    expected = frames(local)
    push(tmp_path / "logs", connection, media=True)
    shutil.rmtree(tmp_path / "logs")
    assert frames(shown(url)) == expected


def test_a_database_from_before_spans_gets_those_of_its_runs(tmp_path, url, monkeypatch):
    (local,) = read(record(tmp_path / "logs")).values()
    connection = Connection(parse_url(url))
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:3])
        schema.migrate(connection)
    schema.migrate(connection)
    everything = logged.logged
    with monkeypatch.context() as patch:  # as it was before: images and audio were left out
        before = lambda run, **_: (one for one in everything(run) if one.name == "note")  # noqa: E731
        patch.setattr(pusher, "logged", before)
        push(tmp_path / "logs", connection)
    push(tmp_path / "logs", connection)
    assert frames(shown(url, tmp_path)) == frames(local)
    assert [text.text for text in shown(url).texts("note")] == ["hello"]
    assert check(connection).problems == ()


def test_a_log_that_is_not_here_is_named_with_what_to_do(tmp_path, url, connection):
    record(tmp_path / "logs")
    push(tmp_path / "logs", connection)
    with pytest.raises(ValuesNotHere, match=r"no `--media DIR` was given.*host:/.*tfevents"):
        shown(url).images("sample")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValuesNotHere, match=r"no directory given with `--media` has it"):
        shown(url, tmp_path / "empty").images("sample")
    with pytest.raises(LogNotFound, match="neither"):
        shown(url, tmp_path / "missing")
    with pytest.raises(BadSetting, match="logs of a database"):
        pb.serve(tmp_path / "logs", port=0, media=[str(tmp_path)])


def test_a_log_that_has_changed_is_not_shown_and_what_is_missing_is_noted(tmp_path, url, connection):
    record(tmp_path / "logs")
    push(tmp_path / "logs", connection)
    (file,) = (one for one in (tmp_path / "logs").rglob("*tfevents*") if one.is_file())
    spans = [one.span for one in _values(url)]
    data = bytearray(file.read_bytes())
    data[spans[0].offset + 3] ^= 1
    file.write_bytes(bytes(data[: spans[2].offset + 1]))  # the first is damaged, the last is cut off
    run = shown(url, tmp_path)
    assert [step for step, _ in frames(run)] == [1]
    assert any("2 of 3 values of tag 'sample'" in note.what for note in run.notes())


def _values(url):
    run = shown(url)
    row = run.row("sample", scalar=False)
    return list(run._stored(row, list(row.fields)))


def test_only_event_files_below_the_named_directories_are_read(tmp_path):
    secret, inside = tmp_path / "secret", tmp_path / "logs"
    secret.mkdir()
    inside.mkdir()
    content = b"x" * 100
    for path in (secret / "events.out.tfevents.1", inside / "events.out.tfevents.2", inside / "key.pem"):
        path.write_bytes(content)
    (inside / "events.out.tfevents.3").symlink_to(secret / "events.out.tfevents.1")
    (inside / "out").symlink_to(secret)
    os.mkfifo(inside / "events.out.tfevents.4")
    (inside / "events.out.tfevents.5").mkdir()
    files = LogFiles([str(inside)])
    crc = log_files.crc32(content)

    def got(file, offset=0, length=100, crc=crc):
        try:
            return list(files.read([Span(str(file), offset, length, crc)], host="h").values())
        except ValuesNotHere:
            return []

    assert got(inside / "events.out.tfevents.2") == [content]
    for file in (
        secret / "events.out.tfevents.1",
        inside / ".." / "secret" / "events.out.tfevents.1",
        inside / "events.out.tfevents.3",
        inside / "out" / "events.out.tfevents.1",
        inside / "events.out.tfevents.4",
        inside / "events.out.tfevents.5",
        inside / "key.pem",
        "events.out.tfevents.2\0",
        "",
        "/",
        "s3://bucket/../events.out.tfevents.2",
    ):
        assert got(file) == [], file
    assert got(inside / "events.out.tfevents.2", offset=1) == []
    assert got(inside / "events.out.tfevents.2", length=1 << 60, crc=0) == []
    assert got(inside / "events.out.tfevents.2", offset=1 << 63, crc=0) == []
    assert got(inside / "events.out.tfevents.2", crc=1) == []


def test_no_more_of_a_tag_is_read_than_a_server_has_room_for(tmp_path, monkeypatch):
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(b"x" * 100)
    spans = [Span(str(path), at, 10, log_files.crc32(b"x" * 10)) for at in range(0, 100, 10)]
    monkeypatch.setattr(log_files, "MAX_TAG_BYTES", 35)
    assert list(LogFiles([str(tmp_path)]).read(spans, host="h")) == spans[:3]
    monkeypatch.setattr(log_files, "MAX_VALUE_BYTES", 9)
    with pytest.raises(ValuesNotHere):
        LogFiles([str(tmp_path)]).read(spans, host="h")


def test_images_in_a_bucket_are_read_by_span(tmp_path, url, connection, bucket):
    bucket.upload(record(tmp_path / "logs", images=20))
    write_run(tmp_path / "other")
    push(f"{bucket.url}/runs", connection)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"])
    (local,) = read(tmp_path / "logs").values()
    before = len(bucket.requests)
    assert frames(shown(url, f"{bucket.url}/runs")) == frames(local)
    assert len(bucket.requests) - before <= 2  # neighbors with one request
    assert frames(shown(url, tmp_path / "logs")) == frames(local)  # a copy on this machine
    for elsewhere in (tmp_path / "other", f"{bucket.url}/run", f"{bucket.url}/elsewhere"):
        with pytest.raises(ValuesNotHere, match=bucket.url):
            shown(url, elsewhere).images("sample")
    bucket.proxy.close()
    with pytest.raises(ValuesNotHere, match="cannot be read"):
        shown(url, bucket.url).images("sample")


def test_the_dashboard_of_a_database_shows_images_of_logs_that_it_can_reach(tmp_path, url, connection):
    (local,) = read(record(tmp_path / "logs")).values()
    push(tmp_path / "logs", connection)
    with pb.serve(url, port=0, media=[str(tmp_path / "logs")]) as server:
        _until(lambda: len(json.loads(_get(server, "runs"))["runs"]) == 1)
        items = json.loads(_get(server, f"images?run={local.name}&tag=sample"))["items"]
        assert [item["width"] for item in items] == [one.width for one in local.images("sample")]
        assert _get(server, f"image?run={local.name}&tag=sample&index=2") == local.images("sample")[2].frames[0]
        assert _get(server, f"clip?run={local.name}&tag=voice&index=0") == local.audio("voice")[0].clips[0].data
    with pb.serve(url, port=0) as server:
        _until(lambda: len(json.loads(_get(server, "runs"))["runs"]) == 1)
        with pytest.raises(urllib.error.HTTPError) as caught:
            _get(server, f"images?run={local.name}&tag=sample")
        assert caught.value.code == 404
        assert "--media DIR" in json.load(caught.value)["error"]["what"]


def _get(server, what):
    with urllib.request.urlopen(f"{server.url}api/{what}", timeout=60) as response:
        return response.read()
