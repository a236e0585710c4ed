"""Which store is behind a URL."""

from __future__ import annotations

from pulseboard.read.remote.store import Store
from pulseboard.read.remote.url import RemoteUrl


def open_store(url: RemoteUrl, *, links_out: bool = True) -> Store:
    """The store behind a URL. Does not connect yet. Raises MissingPackage.

    Without `links_out`, links that lead out of the directory are not followed.
    """
    if url.scheme == "ssh":
        from pulseboard.read.remote.ssh_store import SshStore

        return SshStore(url, links_out=links_out)
    from pulseboard.read.remote.object_store import ObjectStore

    return ObjectStore(url)
