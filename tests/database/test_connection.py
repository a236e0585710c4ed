import pytest

from pulseboard.cli import main
from pulseboard.database import schema
from pulseboard.database.connection import Connection, DatabaseError, NoRights, NoSchema
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.database.url import BadDatabaseUrl, parse_url


def test_a_url_names_host_port_database_user_and_password():
    url = parse_url("clickhouse://me:p%40ss@db.example:9000/team?secure=1")
    assert (url.host, url.port, url.name, url.secure, url.user, url.password) == (
        "db.example", 9000, "team", True, "me", "p@ss",
    )  # fmt: skip
    assert str(url) == "clickhouse://me@db.example:9000/team?secure=1"
    assert "p@ss" not in repr(url)
    assert parse_url("clickhouse://db/team").port == 8123
    assert parse_url("clickhouse://db/team?secure=1").port == 8443


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("clickhouse:///team", "no host"),
        ("clickhouse://db", "Name the database"),
        ("clickhouse://db/a b", "Name the database"),
        ("clickhouse://db/team?tls=1", "Unknown option 'tls'"),
        ("clickhouse://db:port/team", "not a URL"),
    ],
)
def test_a_bad_url_is_an_error_that_says_why(bad, why):
    with pytest.raises(BadDatabaseUrl, match=why):
        parse_url(bad)


def test_a_server_that_is_away_is_an_error_that_may_pass():
    with pytest.raises(DatabaseError, match="does not answer") as caught:
        Connection(parse_url("clickhouse://127.0.0.1:1/team"))
    assert caught.value.transient


def test_a_database_without_tables_says_how_to_fill_it(url, capsys):
    assert main([url]) == 2
    assert "holds no runs" in capsys.readouterr().err
    with pytest.raises(NoSchema, match="pulseboard push"):
        StoredRuns.open(url)


def test_a_user_without_rights_is_refused_with_advice(clickhouse, url, tmp_path, capsys):
    other = clickhouse.url(url.rpartition("/")[2], user="reader:secret")
    assert main(["push", str(tmp_path), other, "--once"]) == 2
    assert "'reader' may not do this" in capsys.readouterr().err
    with pytest.raises(NoRights, match="password"):
        Connection(parse_url(clickhouse.url("x", user="reader:wrong")))


def test_tables_of_an_older_version_are_migrated_without_loss_and_newer_ones_refused(url, monkeypatch):
    connection = Connection(parse_url(url))
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
    monkeypatch.setattr(schema, "VERSION", 1)
    schema.migrate(connection)
    connection.insert("runs", {"run": ("UInt64", [1]), "name": ("String", ["kept"])}, token="")
    monkeypatch.undo()
    with pytest.raises(NoSchema, match=f"of version 1, not {schema.VERSION}"):
        schema.require(connection)
    schema.migrate(connection)
    schema.migrate(connection)
    schema.require(connection)
    assert connection.rows("SELECT name FROM {db}.runs") == [("kept",)]
    connection.insert("schema_version", {"version": ("UInt32", [99])}, token="")
    with pytest.raises(NoSchema, match="Update Pulseboard"):
        schema.migrate(connection)
