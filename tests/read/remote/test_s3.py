"""S3 directories, on a real server. Requests are counted on the way there."""

import obstore
import pytest
from builders import event_file, scalars, version
from log_directories import append, values, write_run

import pulseboard as pb
from pulseboard.core.errors import LogNotFound, RemoteError
from pulseboard.read.remote.fetch import OVERLAP_BYTES


def test_a_bucket_has_the_same_runs_as_the_directory_that_was_uploaded(bucket, tmp_path):
    local = tmp_path / "runs"
    write_run(local / "a", (0, 1.0), (1, 0.5))
    write_run(local / "b" / "deep ü #1%20", (0, 2.0))
    (local / "c").mkdir()
    (local / "c" / "log.csv").write_text("step,loss\n" + "".join(f"{i},{1 / (i + 1)}\n" for i in range(20)))
    bucket.upload(local)
    remote, expected = pb.read(bucket.url + "/runs"), pb.read(local)
    assert set(remote) == set(expected) == {"a", "b/deep ü #1%20", "c/log.csv"}
    for name, run in expected.items():
        assert remote[name].tags() == run.tags()
        assert all(values(remote[name], tag) == values(run, tag) for tag in run.tags("scalar"))


def test_runs_are_shown_with_their_urls(bucket, tmp_path):
    write_run(tmp_path / "runs" / "a")
    bucket.upload(tmp_path / "runs")
    runs = pb.read(bucket.url + "/runs/")
    assert runs["a"].location == f"{bucket.url}/runs/a"
    assert f"{bucket.url}/runs" in repr(runs)


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.long)])
def test_many_runs_take_at_most_three_requests_each(bucket, tmp_path, count):
    for i in range(count):
        with pb.init(
            dir=tmp_path / "runs", run_id=f"run-{i:03}", telemetry_secs=0, report_to=["tensorboard", "json"]
        ) as run:
            run.log({"loss": 1.0 / (i + 1)})
    bucket.upload(tmp_path / "runs")
    runs = pb.read(bucket.url + "/runs")
    assert len(runs) == count
    assert len(bucket.requests) <= 3 * count
    assert runs.traffic()[f"{bucket.url}/runs"].requests == len(bucket.requests)


def test_a_listing_of_several_pages_is_counted_as_such(bucket):
    bucket.put("runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))
    for i in range(1100):
        bucket.put(f"runs/weights/{i:04}.pt", b"x")
    runs = pb.read(bucket.url + "/runs")
    assert len(bucket.requests) == 3
    assert runs.traffic()[f"{bucket.url}/runs"].requests == 3


def test_reading_again_costs_one_request(bucket, tmp_path):
    for i in range(5):
        write_run(tmp_path / "runs" / str(i))
    bucket.upload(tmp_path / "runs")
    pb.read(bucket.url + "/runs")
    bucket.requests.clear()
    assert len(pb.read(bucket.url + "/runs")) == 5
    assert [request.method for request in bucket.requests] == ["GET"]
    assert "list-type=2" in bucket.requests[0].path


def test_only_new_bytes_of_a_grown_file_are_read(bucket, tmp_path):
    path = write_run(tmp_path / "runs" / "a", *((i, float(i)) for i in range(1000)))
    bucket.upload(tmp_path / "runs")
    runs = pb.read(bucket.url + "/runs")
    size = path.stat().st_size
    append(path, (1000, 1000.0))
    bucket.upload(tmp_path / "runs")
    bucket.requests.clear()
    assert runs.poll().grown == ("a",)
    assert values(runs["a"])[-1] == 1000.0
    read = [request for request in bucket.requests if "list-type" not in request.path]
    assert [request.range for request in read] == [f"bytes={size - OVERLAP_BYTES}-{path.stat().st_size - 1}"]
    assert sum(request.body_bytes for request in read) == path.stat().st_size - size + OVERLAP_BYTES


def test_only_new_rows_of_a_csv_are_read(bucket):
    rows = "step,loss\n" + "".join(f"{i},{i / 2}\n" for i in range(500))
    bucket.put("runs/a/log.csv", rows)
    runs = pb.read(bucket.url + "/runs")
    bucket.put("runs/a/log.csv", rows + "500,250.0\n")
    bucket.requests.clear()
    runs.poll()
    (run,) = runs.values()
    assert len(run.series("loss")) == 501
    assert sum(request.body_bytes for request in bucket.requests if "list-type" not in request.path) < 100


def test_a_record_that_was_uploaded_in_two_halves_is_read_when_it_is_whole(bucket):
    data = event_file(version(), *scalars("loss", (0, 1.0), (1, 2.0)))
    bucket.put("runs/a/events.out.tfevents.1", data[:-10])
    runs = pb.read(bucket.url + "/runs")
    assert values(runs["a"]) == [1.0]
    bucket.put("runs/a/events.out.tfevents.1", data)
    runs.poll()
    assert values(runs["a"]) == [1.0, 2.0]


@pytest.mark.parametrize("count", [1, 2, 5], ids=["shorter", "as long", "longer"])
def test_a_replaced_file_is_read_whole(bucket, count):
    bucket.put("runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0), (1, 2.0))))
    runs = pb.read(bucket.url + "/runs")
    bucket.put(
        "runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", *((i, 7.0) for i in range(count))))
    )
    runs.poll()
    assert values(runs["a"]) == [7.0] * count


def test_a_rewritten_json_document_is_read_whole(bucket):
    import json

    def history(n):
        return json.dumps([{"epoch": i, "loss": 1.0 / (i + 1)} for i in range(n)])

    bucket.put("runs/a/history.json", history(10))
    runs = pb.read(bucket.url + "/runs")
    bucket.put("runs/a/history.json", history(30))
    runs.poll()
    (run,) = runs.values()
    assert len(run.series("loss")) == 30


def test_a_removed_run_disappears_and_its_copy_too(bucket, own_cache):
    for name in "ab":
        bucket.put(f"runs/{name}/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))
    runs = pb.read(bucket.url + "/runs")
    bucket.delete("runs/a/events.out.tfevents.1")
    assert runs.poll().removed == ("a",)
    assert list(runs) == ["b"]
    assert [path.parent.name for path in own_cache.rglob("*tfevents*")] == ["b"]


def test_weights_and_media_are_not_fetched(bucket):
    bucket.put("runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))
    for name in ("model.pt", "last.ckpt", "weights.bin", "model.safetensors", "sample.png", "tokenizer.json"):
        bucket.put(f"runs/a/{name}", b"x" * 1000)
    pb.read(bucket.url + "/runs")
    assert len(bucket.requests) == 2


def test_of_a_large_file_that_is_not_a_log_only_the_beginning_is_read_once(bucket):
    bucket.put("runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))
    bucket.put("runs/corpus.txt", b"The quick brown fox jumps over the lazy dog. " * 100_000)
    runs = pb.read(bucket.url + "/runs")
    assert list(runs) == ["a"]
    assert runs.traffic()[f"{bucket.url}/runs"].bytes_read < 1_100_000
    bucket.requests.clear()
    pb.read(bucket.url + "/runs")
    assert len(bucket.requests) == 1


def test_a_large_log_is_recognized_by_its_beginning_and_read_whole(bucket):
    rows = "".join(f"step {i} loss {i / 7:.12f} lr 0.000100000 grad_norm {i / 3:.12f}\n" for i in range(40_000))
    assert len(rows) > 1 << 21
    bucket.put("runs/a/train.log", rows)
    (run,) = pb.read(bucket.url + "/runs").values()
    assert len(run.series("loss")) == 40_000
    assert len(bucket.requests) == 3


def test_the_url_of_one_file_is_read_as_that_file(bucket):
    data = event_file(version(), *scalars("loss", (0, 1.0)))
    bucket.put("runs/a/events.out.tfevents.1", data)
    bucket.put("runs/a/events.out.tfevents.2", data)
    (run,) = pb.read(bucket.url + "/runs/a/events.out.tfevents.1").values()
    assert (run.name, run.location) == ("events.out.tfevents.1", bucket.url + "/runs/a")


def test_several_urls_are_named_after_their_last_parts(bucket):
    for name in "ab":
        bucket.put(f"{name}/x/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))
    assert set(pb.read(f"{bucket.url}/a", f"mine:{bucket.url}/b")) == {"a/x", "mine/x"}


def test_nothing_there_is_an_error_that_names_the_url(bucket, own_cache):
    bucket.put("other/file", b"x")
    with pytest.raises(LogNotFound, match=f"nothing is there.*{bucket.url}/runs"):
        pb.read(bucket.url + "/runs")
    assert not own_cache.exists()


def test_a_missing_bucket_is_an_error(bucket):
    with pytest.raises(RemoteError, match="There is no bucket or container 'no-such-bucket'"):
        pb.read("s3://no-such-bucket/runs")


def test_wrong_credentials_are_an_error_that_says_what_to_do(bucket, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(RemoteError, match=r"Access was refused \(SignatureDoesNotMatch\).*aws configure"):
        pb.read(bucket.url + "/runs")


def test_keys_of_aws_configure_are_used(bucket, tmp_path, monkeypatch):
    from remote_hosts.servers import KEY, SECRET

    bucket.put("runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_PROFILE", "lab")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    (tmp_path / "credentials").write_text(f"[lab]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    (tmp_path / "config").write_text(f"[profile lab]\nregion = us-east-1\nendpoint_url = {bucket.proxy.url}\n")
    assert list(pb.read(bucket.url + "/runs")) == ["a"]


def test_an_outage_keeps_what_was_read(bucket):
    bucket.put("runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))
    runs = pb.read(bucket.url + "/runs")
    bucket.proxy.down = True
    with pytest.raises(RemoteError, match="Cannot be reached"):
        runs.poll()
    assert values(runs["a"]) == [1.0]
    bucket.proxy.down = False
    bucket.put("runs/b/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 2.0))))
    assert runs.poll().added == ("b",)


def test_an_outage_in_the_middle_is_continued_where_it_ended(bucket, own_cache):
    """What a killed process has fetched is used: the file on disk counts, not what was recorded about it."""
    data = event_file(version(), *scalars("loss", *((i, float(i)) for i in range(1000))))
    bucket.put("runs/a/events.out.tfevents.1", data)
    pb.read(bucket.url + "/runs")
    (path,) = own_cache.rglob("*tfevents*")
    path.write_bytes(data[:30_000])
    bucket.requests.clear()
    assert values(pb.read(bucket.url + "/runs")["a"]) == [float(i) for i in range(1000)]
    assert path.read_bytes() == data
    assert (
        sum(request.body_bytes for request in bucket.requests if "list-type" not in request.path) < len(data) - 29_000
    )


def test_a_missing_package_is_an_error_that_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ImportError, match=r'pip install "pulseboard\[remote\]"'):
        pb.read("s3://bucket/runs")


def test_names_that_obstore_refuses_leave_out_only_their_directory(bucket, monkeypatch):
    """A key with an empty part makes obstore refuse the whole listing. SeaweedFS has no such keys; S3 does."""
    bucket.put("runs/a/events.out.tfevents.1", event_file(version(), *scalars("loss", (0, 1.0))))

    def refused(*args, **kwargs):
        raise obstore.exceptions.InvalidPathError("Path runs/b//c contained empty path segment")

    monkeypatch.setattr(obstore, "list", refused)
    assert list(pb.read(bucket.url + "/runs")) == ["a"]
