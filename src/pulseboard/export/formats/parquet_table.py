"""Parquet: one long table with a row per point, for pandas, polars and DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from pulseboard.core.errors import MissingPackage
from pulseboard.export.format import NamedSeries, export_format

# Large enough to compress well, small enough to read in part.
_ROW_GROUP_ROWS = 1 << 20


def _require_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingPackage("Parquet export", package="pyarrow", extra="parquet") from error


@export_format(id="parquet", media_type="application/vnd.apache.parquet", require_packages=_require_pyarrow)
def write_parquet(series: Iterator[NamedSeries], stream: IO[bytes]) -> None:
    """The columns are run, tag, step, wall_time and value."""
    _require_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            ("run", name),
            ("tag", name),
            ("step", pa.int64()),
            ("wall_time", pa.float64()),
            ("value", pa.float64()),
        ]
    )
    # Steps and times rise evenly and values share exponents: these encodings halve the size that zstd alone gives.
    encodings = {
        "step": "DELTA_BINARY_PACKED",
        "wall_time": "BYTE_STREAM_SPLIT",
        "value": "BYTE_STREAM_SPLIT",
    }
    with pq.ParquetWriter(
        stream, schema, compression="zstd", use_dictionary=["run", "tag"], column_encoding=encodings
    ) as writer:
        pending: list[Any] = []
        rows = 0
        for run, one in series:
            indices = pa.array([], pa.int32()) if not len(one) else pa.repeat(pa.scalar(0, pa.int32()), len(one))
            columns = [
                pa.DictionaryArray.from_arrays(indices, [run]),
                pa.DictionaryArray.from_arrays(indices, [one.tag]),
                one.steps,
                one.wall_times,
                one.values,
            ]
            pending.append(pa.table(columns, schema=schema))
            rows += len(one)
            if rows >= _ROW_GROUP_ROWS:
                writer.write_table(pa.concat_tables(pending).unify_dictionaries(), row_group_size=_ROW_GROUP_ROWS)
                pending, rows = [], 0
        if pending:
            writer.write_table(pa.concat_tables(pending).unify_dictionaries(), row_group_size=_ROW_GROUP_ROWS)
