"""For these tests: a cache of their own, and real servers."""

import pytest
from remote_hosts.fixtures import bucket, own_cache, s3_endpoint, ssh_server, sshd  # noqa: F401


@pytest.fixture(autouse=True)
def never_the_cache_of_the_user(own_cache):  # noqa: F811
    """Also where a test does not name it."""
