"""Object stores (s3://, gs://, az://), through obstore."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

from pulseboard.core.errors import MissingPackage, RemoteError
from pulseboard.core.note import Note
from pulseboard.read.remote.aws_profile import s3_settings
from pulseboard.read.remote.store import FileGone, FileRefused, Listing, RemoteFile, Traffic
from pulseboard.read.remote.url import RemoteUrl

# S3 and Azure list at most this many objects (5,000 on Azure) per request.
_PAGE = 1000
_PIECE_BYTES = 4 << 20
# obstore's own defaults would retry for three minutes: a mirror tries again by itself.
_RETRIES = {"max_retries": 2, "retry_timeout": datetime.timedelta(seconds=20)}
_CLIENT = {"timeout": "120s", "connect_timeout": "10s"}
# One listing holds all names in memory.
_MAX_OBJECTS = 1_000_000

_CREDENTIALS = {
    "s3": "Run `aws configure`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a public bucket, "
    "set AWS_SKIP_SIGNATURE=true.",
    "gs": "Run `gcloud auth application-default login`, or set GOOGLE_SERVICE_ACCOUNT to a key file; for a public "
    "bucket, set GOOGLE_SKIP_SIGNATURE=true.",
    "az": "Set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN.",
}
# Without credentials, obstore tries the services that give them to machines in a cloud.
_NO_CREDENTIALS = ("169.254.169.254", "169.254.170.2", "metadata.google.internal", "Missing", "must be specified")


class ObjectStore:
    """The objects below one prefix of a bucket."""

    def __init__(self, url: RemoteUrl) -> None:
        try:
            import obstore
            import obstore.exceptions
            import obstore.store
        except ImportError as error:
            raise MissingPackage(f"Reading {url.scheme}:// directories", package="obstore", extra="remote") from error
        self.url = url
        self.traffic = Traffic()
        self._obstore: Any = obstore
        self._store: Any = None

    # ---- listing

    def listing(self) -> Listing:
        """All objects below the prefix, or the one object of that very name."""
        try:
            listing = self._list_all()
        except self._invalid_path():
            # One name with an empty part makes obstore refuse the whole listing.
            listing = self._list_by_directory()
        if not listing.files and self.url.path:
            listing.files = self._object_itself()
        self.traffic.add(listings=1)
        return listing

    def _list_all(self) -> Listing:
        files: list[RemoteFile] = []
        notes: list[Note] = []
        requests = 0
        try:
            for page in self._obstore.list(self._opened(), self.url.path or None, chunk_size=_PAGE):
                requests += 1
                files += filter(None, map(self._file, page))
                if len(files) >= _MAX_OBJECTS:
                    notes.append(Note("damage", f"Stopped listing after {len(files):,} objects.", str(self.url)))
                    break
        except Exception as error:
            self.traffic.add(requests=requests + 1)
            raise self._explained(error) from error
        requests = max(requests, 1)
        self.traffic.add(requests=requests)
        return Listing(files, notes, requests)

    def _list_by_directory(self) -> Listing:
        """Slower, one request per directory: only the directories that contain invalid names are left out."""
        listing = Listing([], pages=0)
        directories = [self.url.path]
        while directories and len(listing.files) < _MAX_OBJECTS:
            directory = directories.pop()
            listing.pages += 1
            self.traffic.add(requests=1)
            try:
                found = self._obstore.list_with_delimiter(self._opened(), directory or None)
            except Exception as error:
                if not isinstance(error, self._invalid_path()):
                    raise self._explained(error) from error
                where = f"{self.url.scheme}://{self.url.host}/{directory}"
                what = "Left out a directory: it contains an object whose name is not a path."
                listing.notes.append(Note("unreadable", what, where))
                continue
            listing.files += filter(None, map(self._file, found["objects"]))
            directories += [prefix for prefix in found["common_prefixes"] if prefix != directory]
        return listing

    def _object_itself(self) -> list[RemoteFile]:
        self.traffic.add(requests=1)
        try:
            found = self._obstore.head(self._opened(), self.url.path)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise self._explained(error) from error
        return [_remote_file("", found)]

    def _file(self, found: Any) -> RemoteFile | None:
        path: str = found["path"]
        name = path[len(self.url.path) :].lstrip("/") if self.url.path else path
        return _remote_file(name, found) if name else None

    # ---- reading

    def read(self, file: RemoteFile, *, start: int, end: int) -> Iterator[bytes | memoryview]:
        """One request. It fails if the object is no longer the one that was listed."""
        options: dict[str, Any] = {"if_match": file.version} if file.version else {}
        if start or end < file.size:
            options["range"] = (start, end)
        path = "/".join(filter(None, (self.url.path, file.name)))
        self.traffic.add(requests=1)
        try:
            for piece in self._obstore.get(self._opened(), path, options=options).stream(min_chunk_size=_PIECE_BYTES):
                self.traffic.add(bytes_read=len(piece))
                yield memoryview(piece)
        except (FileNotFoundError, self._obstore.exceptions.PreconditionError) as error:
            raise FileGone from error
        except Exception as error:
            status = _status(error)
            if status == 416:
                raise FileGone from error
            if status in (400, 401, 403, 404):
                raise FileRefused(_code(error) or f"HTTP status {status}") from error
            raise self._explained(error) from error

    def close(self) -> None:
        """obstore has no connection to close: it drops idle ones itself."""

    def _opened(self) -> Any:
        if self._store is None:
            settings = s3_settings() if self.url.scheme == "s3" else {}
            client = {**_CLIENT, **settings.pop("client_options", {})}
            try:
                self._store = self._obstore.store.from_url(
                    f"{self.url.scheme}://{self.url.host}", client_options=client, retry_config=_RETRIES, **settings
                )
            except Exception as error:
                raise self._explained(error) from error
        return self._store

    # ---- errors

    def _invalid_path(self) -> tuple[type[Exception], ...]:
        return (self._obstore.exceptions.InvalidPathError,)

    def _explained(self, error: Exception) -> Exception:
        """The error with what to do about it. obstore has one type for most errors, so its text has to decide."""
        if isinstance(error, (RemoteError, *self._invalid_path())):
            return error
        text, status, code = _text(error), _status(error), _code(error)
        url, scheme = str(self.url), self.url.scheme
        if any(hint in text for hint in _NO_CREDENTIALS):
            return RemoteError(url, why="No credentials were found.", advice=_CREDENTIALS[scheme])
        if status == 404 or isinstance(error, FileNotFoundError):
            return RemoteError(
                url, why=f"There is no bucket or container {self.url.host!r}.", advice="Check the name and the account."
            )
        if status in (401, 403) or isinstance(error, PermissionError):
            return RemoteError(url, why=f"Access was refused ({code or status}).", advice=_CREDENTIALS[scheme])
        if status == 301 or "region" in text.lower():
            return RemoteError(
                url, why="The bucket is in another region.", advice="Set AWS_REGION to the region of the bucket."
            )
        return RemoteError(url, why=f"Cannot be reached: {_short(text)}.", advice="Check the network and the endpoint.")


def _remote_file(name: str, found: Any) -> RemoteFile:
    return RemoteFile(name, found["size"], int(found["last_modified"].timestamp() * 1e9), found["e_tag"] or "")


def _text(error: Exception) -> str:
    return str(error).partition("\n\nDebug source")[0]


def _status(error: Exception) -> int | None:
    found = re.search(r"status code: (\d{3})", _text(error))
    return int(found[1]) if found else None


def _code(error: Exception) -> str | None:
    """The code in the XML of an error, such as NoSuchBucket."""
    found = re.search(r"<Code>(\w+)</Code>", _text(error))
    return found[1] if found else None


def _short(text: str) -> str:
    """The cause at the end of a chain of messages, without the XML of the response."""
    line = text.partition("\n")[0].partition("<?xml")[0].strip(" :")
    return line.rpartition(" - ")[2] or line
