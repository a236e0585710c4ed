"""URLs of remote directories."""

import pytest

from pulseboard.core.errors import PulseboardError
from pulseboard.core.locations import is_url, location_of
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.remote.url import RemoteUrl, parse_url
from pulseboard.rundir.layout import split_named_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket", RemoteUrl("s3", "bucket")),
        ("s3://bucket/a b/c%20/", RemoteUrl("s3", "bucket", "a b/c%20")),
        ("gs://bucket.with.dots/runs", RemoteUrl("gs", "bucket.with.dots", "runs")),
        ("az://container/runs", RemoteUrl("az", "container", "runs")),
        ("ssh://host/abs/path/", RemoteUrl("ssh", "host", "/abs/path")),
        ("ssh://me@host:2222/~/runs", RemoteUrl("ssh", "host", "runs", "me", 2222)),
        ("ssh://host", RemoteUrl("ssh", "host", "/")),
        ("ssh://[::1]:22/x", RemoteUrl("ssh", "[::1]", "/x", "", 22)),
    ],
)
def test_a_url_is_taken_literally(text, expected):
    assert parse_url(text) == expected
    assert parse_url(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://host/runs", "Supported are s3://"),
        ("s3:///runs", "not the name of a bucket"),
        ("s3://bucket/a/../b", "must not contain"),
        ("s3://bucket/runs/2026-*", "Patterns do not work"),
        ("ssh://-oProxyCommand=touch/x", "not a host"),
        ("ssh://-l@host/x", "not a host"),
        ("ssh://a b/x", "not a host"),
    ],
)
def test_a_url_that_cannot_be_read_is_an_error_that_says_why(text, why):
    with pytest.raises(PulseboardError, match=why):
        log_directories_from([text])


def test_a_url_may_have_a_name():
    assert split_named_path("mine:s3://bucket/runs") == ("mine", "s3://bucket/runs")
    assert split_named_path("s3://bucket/runs") == (None, "s3://bucket/runs")


def test_paths_are_not_urls():
    assert not any(map(is_url, ["runs", "/data/runs", "mine:/data/runs", "C:\\runs", "a/b://c"]))


def test_the_location_of_a_copy_is_its_url():
    (directory,) = log_directories_from(["s3://bucket/exp/runs"])
    assert directory.location == "s3://bucket/exp/runs"
    assert directory.path.endswith("/runs")
    assert location_of(directory.path + "/a/log.csv") == "s3://bucket/exp/runs/a/log.csv"
    elsewhere = directory.path.removesuffix("/files/runs") + "-other/files/runs"
    assert location_of(elsewhere) == elsewhere
