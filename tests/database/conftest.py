"""A real ClickHouse server for the tests of this folder, and a database of its own for each test."""

import itertools

import pytest
from database import clickhouse_server
from remote_hosts.fixtures import bucket, own_cache, s3_endpoint  # noqa: F401
from remote_hosts.servers import free_ports

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def clickhouse(tmp_path_factory):
    """A running server."""
    pytest.importorskip("clickhouse_connect", reason="clickhouse-connect is not installed (the extra `clickhouse`)")
    if why := clickhouse_server.missing():
        pytest.skip(why)
    server = clickhouse_server.ClickHouse(tmp_path_factory.mktemp("clickhouse"), free_ports(1)[0])
    server.start()
    yield server
    server.kill()


@pytest.fixture
def url(clickhouse):
    """The URL of a database that does not exist yet."""
    return clickhouse.url(f"test_{next(_numbers)}")


@pytest.fixture
def connection(url):
    """A connection to an empty database with all tables."""
    from pulseboard.database import schema
    from pulseboard.database.connection import Connection
    from pulseboard.database.url import parse_url

    connection = Connection(parse_url(url))
    schema.migrate(connection)
    yield connection
    connection.close()
