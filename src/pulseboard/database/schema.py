"""The tables, as migrations that run forward: what a version added stays where it is."""

from __future__ import annotations

from pulseboard.database.connection import Connection, NoSchema

# A token is remembered for this many inserts into its table.
_TOKENS = "non_replicated_deduplication_window = 10000"

# `part` is what one rank of a run logged; `seq` counts the points of a series in the order they were logged.
# Both `part` and `tag` are hashes that the client makes, so pushers on many hosts need not agree on numbers.
_V1 = (
    "CREATE DATABASE IF NOT EXISTS {db}",
    """CREATE TABLE IF NOT EXISTS {db}.schema_version (version UInt32, at DateTime64(3) DEFAULT now64(3))
    ENGINE = MergeTree ORDER BY version""",
    f"""CREATE TABLE IF NOT EXISTS {{db}}.points (
        part UInt64, tag UInt64,
        seq UInt64 CODEC(DoubleDelta, ZSTD(1)), step Int64 CODEC(DoubleDelta, ZSTD(1)),
        wall Float64 CODEC(Gorilla, ZSTD(1)), value Float64 CODEC(ZSTD(1)))
    ENGINE = MergeTree ORDER BY (tag, part, seq) SETTINGS {_TOKENS}""",
    # One row per block of 2^shift points, written once when the block is full. The numbers are over finite values.
    f"""CREATE TABLE IF NOT EXISTS {{db}}.rollup (
        part UInt64, tag UInt64, shift UInt8, block UInt64 CODEC(DoubleDelta, ZSTD(1)),
        nans UInt32 CODEC(ZSTD(1)), plus_infs UInt32 CODEC(ZSTD(1)), minus_infs UInt32 CODEC(ZSTD(1)),
        first Float64 CODEC(ZSTD(1)), min Float64 CODEC(ZSTD(1)),
        max Float64 CODEC(ZSTD(1)), last Float64 CODEC(ZSTD(1)),
        step_first Int64 CODEC(DoubleDelta, ZSTD(1)), step_last Int64 CODEC(DoubleDelta, ZSTD(1)),
        wall_first Float64 CODEC(Gorilla, ZSTD(1)), wall_last Float64 CODEC(Gorilla, ZSTD(1)))
    ENGINE = MergeTree ORDER BY (tag, part, shift, block) SETTINGS {_TOKENS}""",
    # Everything else that was logged: the bytes of the event file, decoded by who reads them.
    f"""CREATE TABLE IF NOT EXISTS {{db}}.stored_values (
        part UInt64, tag UInt64, seq UInt64, step Int64, wall Float64, field UInt32, data String CODEC(ZSTD(3)))
    ENGINE = MergeTree ORDER BY (part, tag, seq) SETTINGS index_granularity = 256, {_TOKENS}""",
    # What is known of a series after the plan of this number: how far it is in, and what restarts orphaned.
    """CREATE TABLE IF NOT EXISTS {db}.series (
        part UInt64, tag UInt64, number UInt32, name String, position UInt32, scalar Bool, count UInt64,
        check_step UInt32, check_wall UInt32, check_value UInt32,
        step_rising Bool, wall_rising Bool, orphans Array(UInt64),
        plugin Nullable(String), fields Array(UInt32), metadata String, axis String)
    ENGINE = ReplacingMergeTree(number) ORDER BY (part, tag)""",
    """CREATE TABLE IF NOT EXISTS {db}.runs (
        run UInt64, name String, host String, info String, updated DateTime64(6) DEFAULT now64(6))
    ENGINE = ReplacingMergeTree(updated) ORDER BY run""",
    """CREATE TABLE IF NOT EXISTS {db}.parts (part UInt64, run UInt64, rank UInt32, generation UInt32)
    ENGINE = ReplacingMergeTree ORDER BY (run, rank, generation)""",
    """CREATE TABLE IF NOT EXISTS {db}.files (
        run UInt64, name String, content String CODEC(ZSTD(3)), updated DateTime64(6) DEFAULT now64(6))
    ENGINE = ReplacingMergeTree(updated) ORDER BY (run, name)""",
    # The number of the block shows which of two plans came first, also after parts were merged.
    f"""CREATE TABLE IF NOT EXISTS {{db}}.ledger (
        part UInt64, number UInt32, state Enum8('plan' = 1, 'done' = 2, 'void' = 3), batch UInt64,
        tags Array(UInt64), starts Array(UInt64), ends Array(UInt64),
        pusher String, at DateTime64(6) DEFAULT now64(6), INDEX of_batch batch TYPE bloom_filter GRANULARITY 1)
    ENGINE = MergeTree ORDER BY (part, number, state)
    SETTINGS enable_block_number_column = 1, enable_block_offset_column = 1, {_TOKENS}""",
    # For people who query it themselves.
    """CREATE VIEW IF NOT EXISTS {db}.named_points AS
    SELECT r.name AS run, p.rank AS rank, s.name AS tag, v.seq AS seq, v.step AS step, v.wall AS wall, v.value AS value
    FROM {db}.points AS v
    INNER JOIN (SELECT part, tag, name FROM {db}.series FINAL) AS s ON s.part = v.part AND s.tag = v.tag
    INNER JOIN {db}.parts AS p ON p.part = v.part
    INNER JOIN (SELECT run, name FROM {db}.runs FINAL) AS r ON r.run = p.run""",
)

# What users add to runs: marks and saved views. An empty value is one that was removed.
_V2 = (
    """CREATE TABLE IF NOT EXISTS {db}.entries (
        kind LowCardinality(String), key String, value String, server String, updated DateTime64(6) DEFAULT now64(6))
    ENGINE = ReplacingMergeTree(updated) ORDER BY (kind, key)""",
)

# Retention, stored diagnoses and teams. A point that was removed is still in its block of 64 in `rollup`.
_V3 = (
    """CREATE TABLE IF NOT EXISTS {db}.pruned (part UInt64, tag UInt64, points UInt64)
    ENGINE = ReplacingMergeTree(points) ORDER BY (part, tag)""",
    """CREATE TABLE IF NOT EXISTS {db}.reports (
        run UInt64, version String, report String CODEC(ZSTD(3)), worker String,
        updated DateTime64(6) DEFAULT now64(6))
    ENGINE = ReplacingMergeTree(updated) ORDER BY run""",
    """CREATE TABLE IF NOT EXISTS {db}.workers (name String, here Bool DEFAULT 1, seen DateTime64(6) DEFAULT now64(6))
    ENGINE = ReplacingMergeTree(seen) ORDER BY name""",
    """CREATE TABLE IF NOT EXISTS {db}.audit (
        at DateTime64(6) DEFAULT now64(6), who String, server String, kind LowCardinality(String), key String,
        value String CODEC(ZSTD(3)))
    ENGINE = MergeTree ORDER BY at""",
)

# Images and audio that stay in the log: where they are there. `file` is empty if the bytes are here.
_V4 = tuple(
    f"ALTER TABLE {{db}}.stored_values ADD COLUMN IF NOT EXISTS {column}"
    for column in ("file LowCardinality(String)", "offset UInt64", "length UInt64", "crc UInt32")
)

MIGRATIONS = (_V1, _V2, _V3, _V4)
"""Statements that lead from version to version. Each may run twice: a migration that was interrupted is repeated."""

VERSION = len(MIGRATIONS)


def version_of(connection: Connection) -> int:
    """The version of the tables; 0 if there are none."""
    try:
        found = connection.rows("SELECT max(version) FROM {db}.schema_version")
    except NoSchema:
        return 0
    return int(found[0][0])


def migrate(connection: Connection) -> None:
    """Bring the tables to this version. Raises NoSchema if they are of a newer one."""
    version = version_of(connection)
    _refuse_newer(connection, version)
    for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in statements:
            connection.run(statement)
        row = {"version": ("UInt32", [number])}
        connection.insert("schema_version", row, token=f"version-{number}")


def require(connection: Connection) -> None:
    """Raise NoSchema unless the tables are of this version."""
    version = version_of(connection)
    _refuse_newer(connection, version)
    if version < VERSION:
        why = "The database holds no runs." if not version else f"Its tables are of version {version}, not {VERSION}."
        raise NoSchema(str(connection.url), why=why, advice="`pulseboard push LOGDIR URL` creates and updates them:")


def _refuse_newer(connection: Connection, version: int) -> None:
    if version > VERSION:
        why = f"The tables are of version {version}; this Pulseboard knows those up to {VERSION}."
        raise NoSchema(str(connection.url), why=why, advice="Update Pulseboard here:")
