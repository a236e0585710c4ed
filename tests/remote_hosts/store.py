"""A remote directory in memory, for what real servers do not do on request."""

from pulseboard.core.errors import RemoteError
from pulseboard.read.remote.store import FileGone, FileRefused, Listing, RemoteFile, Traffic
from pulseboard.read.remote.url import parse_url


class MemoryStore:
    """Files by name. `down` makes every request fail; `cut` ends every read after that many bytes."""

    def __init__(self, files=None, *, url="s3://memory/runs", versions=True):
        self.url, self.traffic = parse_url(url), Traffic()
        self.files = dict(files or {})
        self.times = {}
        self.reads = []
        self.attempts = 0
        self.refuses = set()
        self.down, self.cut, self._versions = False, None, versions

    def listing(self):
        self._check()
        self.traffic.add(requests=1, listings=1)
        return Listing([self._file(name) for name in self.files])

    def _file(self, name):
        data = self.files[name]
        version = str(hash(data)) if self._versions else ""
        return RemoteFile(name, len(data), self.times.get(name, 1_000) * 10**9, version)

    def read(self, file, *, start, end):
        self._check()
        self.traffic.add(requests=1)
        self.reads.append((file.name, start, end))
        if file.name in self.refuses:
            raise FileRefused("InvalidObjectState")
        if file.name not in self.files or (self._versions and self._file(file.name) != file):
            raise FileGone
        data = self.files[file.name][start:end]
        if self.cut is not None:
            yield data[: self.cut]
            raise RemoteError(str(self.url), why="Cannot be reached: cut off.", advice="Try again.")
        self.traffic.add(bytes_read=len(data))
        for at in range(0, len(data), 10):  # in small pieces, as a slow network delivers them
            yield data[at : at + 10]

    def _check(self):
        self.attempts += 1
        if self.down:
            raise RemoteError(str(self.url), why="Cannot be reached: it is down.", advice="Check the network.")

    def close(self):
        pass
