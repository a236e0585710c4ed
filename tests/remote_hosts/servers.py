"""Real servers for remote directories, on loopback: SeaweedFS as S3, behind a proxy that counts, and OpenSSH."""

import contextlib
import getpass
import glob
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

KEY, SECRET = "test-key", "test-secret"
START_SECS = 60.0


def free_ports(count):
    """Ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def weed_command():
    """The path of SeaweedFS; None if it is not installed."""
    with_python = Path(sys.executable).parent / "weed"
    return str(with_python) if with_python.exists() else shutil.which("weed")


@contextlib.contextmanager
def s3_server(directory):
    """A running S3 server, as the URL of its endpoint."""
    ports = free_ports(8)
    roles = ("master", "volume", "filer", "s3")
    options = [f"-{role}.port={port}" for role, port in zip(roles, ports[:4], strict=True)]
    options += [f"-{role}.port.grpc={port}" for role, port in zip(roles, ports[4:], strict=True)]
    identity = {"name": "test", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
    config = Path(directory) / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    data = Path(directory) / "data"
    data.mkdir()
    with (Path(directory) / "weed.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(weed_command(), "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", *options),
                *("-filer", "-filer.saveToFilerLimit=1000000", "-s3", f"-s3.config={config}", "-volume.max=50"),
                *("-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"),
            ],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_for_port(ports[3], process)
        yield f"http://127.0.0.1:{ports[3]}"
    finally:
        process.kill()
        process.wait()
        for port in ports:
            for path in glob.glob(f"/tmp/seaweedfs-*-{port}.sock"):
                os.unlink(path)


def _wait_for_port(port, process):
    end = time.monotonic() + START_SECS
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        assert time.monotonic() < end, "the server did not start"
        time.sleep(0.05)
    raise AssertionError(f"the server ended with {process.returncode}")


class Request(NamedTuple):
    """One request that went through the proxy."""

    method: str
    path: str
    range: str | None
    body_bytes: int  # of the response


class CountingProxy:
    """Forwards HTTP to another server and keeps what was requested. While `down`, it drops every connection."""

    def __init__(self, target):
        self.requests = []
        self.down = False
        proxy, host = self, target.removeprefix("http://")

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _forward(self):
                if proxy.down:
                    self.close_connection = True
                    return
                backend = http.client.HTTPConnection(host, timeout=30)
                backend.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    backend.putheader(name, value)
                backend.endheaders()
                response = backend.getresponse()
                body = response.read()
                proxy.requests.append(Request(self.command, self.path, self.headers.get("Range"), len(body)))
                self.send_response_only(response.status)
                for name, value in response.getheaders():
                    if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                        self.send_header(name, value)
                length = response.getheader("content-length") if self.command == "HEAD" else str(len(body))
                self.send_header("Content-Length", length or "0")
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)
                backend.close()

            do_GET = do_HEAD = _forward  # noqa: N815 - the names that the base class calls

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class Sshd(NamedTuple):
    """A running OpenSSH server."""

    port: int
    command: str  # the ssh command that may log in, for PULSEBOARD_SSH
    stranger: str  # one that does not know the host
    without_key: str  # one that may not log in

    def url(self, path):
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{path}"


def sshd_command():
    """The path of sshd; None if it is not installed."""
    return shutil.which("sshd") or shutil.which("/usr/sbin/sshd")


@contextlib.contextmanager
def ssh_server(directory):
    """A running sshd with throwaway keys."""
    directory = Path(directory)
    (port,) = free_ports(1)
    for name in ("host", "user", "other"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True, timeout=60
        )
    shutil.copy(directory / "user.pub", directory / "authorized")
    (directory / "known").write_text(f"[127.0.0.1]:{port} {(directory / 'host.pub').read_text()}")
    (directory / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {directory}/host\nAuthorizedKeysFile {directory}/authorized\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n"
    )
    (directory / "ssh_config").write_text("Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd separates privileges
    process = subprocess.Popen(
        [sshd_command(), "-D", "-f", str(directory / "sshd_config"), "-E", str(directory / "sshd.log")],
        start_new_session=True,
    )
    ssh = f"ssh -F {directory}/ssh_config -o GlobalKnownHostsFile=/dev/null"
    known, key = f"-o UserKnownHostsFile={directory}/known", f"-i {directory}/user"
    try:
        _wait_for_port(port, process)
        yield Sshd(
            port,
            f"{ssh} {known} {key}",
            f"{ssh} -o UserKnownHostsFile=/dev/null {key}",
            f"{ssh} {known} -i {directory}/other",
        )
    finally:
        process.kill()
        process.wait()
