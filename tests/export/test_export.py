"""Exports: every point of every run, in a form that reads back exactly."""

import csv
import io
import json
import math
import struct
import sys

import numpy as np
import pytest
from builders import event_file, scalars, session_start, summary, tensor, version
from hypothesis import given
from hypothesis import strategies as st
from log_directories import write_run
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import pulseboard as pb
from pulseboard.core.errors import MissingPackage, PulseboardError
from pulseboard.core.series import Series
from pulseboard.export import format as format_module
from pulseboard.export import write as export
from pulseboard.export.format import export_format, export_formats
from pulseboard.export.formats import parquet_table

# Doubles that a careless hand would change.
NUMBERS = [
    0.1, 1 / 3, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
    1e22, 1e23, 9007199254740993.0, 123456789012345680.0, 1e-7, 100.0, 1e16, float(2**63),
]  # fmt: skip
STEPS = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]


class FakeRun:
    """A run that has just these series."""

    def __init__(self, name, *series):
        self.name, self._series = name, {one.tag: one for one in series}

    def tags(self):
        return list(self._series)

    def series(self, tag, *, orphans=False):
        return self._series[tag]


def series(tag, steps, walls, values):
    columns = np.array(steps, np.int64), np.array(walls, float), np.array(values, float)
    return Series(tag, *columns, np.zeros(len(steps), bool))


def written(form, *runs, **options):
    stream = io.BytesIO()
    points = export.write([(run, run.tags()) for run in runs], stream, format=form, **options)
    return stream.getvalue(), points


def bits(numbers):
    """NaN equals NaN, and 0.0 differs from -0.0."""
    return [struct.pack("<d", number) for number in numbers]


AWKWARD = FakeRun(
    "run",
    series("numbers", range(len(NUMBERS)), NUMBERS[::-1], NUMBERS),
    series("steps", STEPS, [1e9] * len(STEPS), [1.0] * len(STEPS)),
)


# ---- CSV


def test_csv_has_exactly_this_header_and_one_line_per_point(tmp_path):
    write_run(tmp_path / "exp", (0, 0.5), (10, math.nan))
    log = pb.read(tmp_path)
    stream = io.BytesIO()
    assert export.write([(log["exp"], ["loss"])], stream, format="csv") == 2
    assert stream.getvalue() == (
        b"run,tag,step,wall_time,value\n"
        b"exp,loss,0,100.0,0.5\n"
        b"exp,loss,10,110.0,nan\n"
    )  # fmt: skip


def test_csv_of_no_points_is_its_header():
    assert written("csv") == (b"run,tag,step,wall_time,value\n", 0)


def test_csv_reads_back_bit_for_bit():
    data, points = written("csv", AWKWARD)
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    assert points == len(rows) == len(NUMBERS) + len(STEPS)
    numbers = [row for row in rows if row["tag"] == "numbers"]
    assert bits(float(row["value"]) for row in numbers) == bits(NUMBERS)
    assert bits(float(row["wall_time"]) for row in numbers) == bits(NUMBERS[::-1])
    assert [int(row["step"]) for row in rows if row["tag"] == "steps"] == STEPS


def test_csv_spells_nan_and_infinities_plainly():
    data, _ = written("csv", FakeRun("r", series("t", [0, 1, 2], [1, 1, 1], [math.nan, math.inf, -math.inf])))
    assert [line.rpartition(",")[2] for line in data.decode().splitlines()[1:]] == ["nan", "inf", "-inf"]


@given(st.text(), st.text(), st.floats(allow_nan=False) | st.just(math.nan), st.integers(-(2**63), 2**63 - 1))
def test_csv_keeps_any_name_and_any_number(run, tag, value, step):
    data, _ = written("csv", FakeRun(run, series(tag, [step], [value], [value])))
    header, row = csv.reader(io.StringIO(data.decode(), newline=""))
    assert header == ["run", "tag", "step", "wall_time", "value"]
    assert row[:3] == [run, tag, str(step)]
    assert bits(map(float, row[3:])) == bits([value, value])


@pytest.mark.parametrize("name", ["a,b", 'say "so"', "two\nlines", "cr\rlf", " spaced ", "", "漢字", "'quoted'"])
def test_csv_keeps_awkward_names(name):
    data, _ = written("csv", FakeRun(name, series(name + "!", [1], [2.0], [3.0])))
    assert list(csv.reader(io.StringIO(data.decode(), newline="")))[1] == [name, name + "!", "1", "2.0", "3.0"]


def test_csv_is_read_back_unchanged_by_pandas_and_polars():
    import pandas
    import polars

    data, _ = written("csv", AWKWARD)
    want = NUMBERS + [1.0] * len(STEPS)
    assert bits(pandas.read_csv(io.BytesIO(data))["value"]) == bits(want)
    assert polars.read_csv(io.BytesIO(data), infer_schema_length=None)["step"].to_list()[-len(STEPS) :] == STEPS


# ---- JSON


def _strictly(data):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(data, parse_constant=refuse)


def test_json_is_strict_and_reads_back_bit_for_bit():
    data, points = written("json", AWKWARD)
    document = _strictly(data)
    assert document["schema"] == 1
    assert points == len(NUMBERS) + len(STEPS)
    numbers, steps = document["series"]
    assert (numbers["run"], numbers["tag"]) == ("run", "numbers")
    assert bits(map(float, numbers["values"])) == bits(NUMBERS)
    assert bits(map(float, numbers["wall_times"])) == bits(NUMBERS[::-1])
    assert steps["steps"] == STEPS


def test_json_has_nan_and_infinities_as_strings():
    data, _ = written("json", FakeRun("r", series("t", [0, 1, 2], [1, 1, 1], [math.nan, math.inf, -math.inf])))
    assert _strictly(data)["series"][0]["values"] == ["nan", "inf", "-inf"]


def test_json_of_no_points_is_a_document_without_series():
    assert _strictly(written("json")[0]) == {"schema": 1, "series": []}


@given(st.text(), st.text())
def test_json_keeps_any_name(run, tag):
    (found,) = _strictly(written("json", FakeRun(run, series(tag, [1], [2.0], [3.0])))[0])["series"]
    assert (found["run"], found["tag"]) == (run, tag)


# ---- Parquet


def _parquet(data):
    import pyarrow.parquet

    return pyarrow.parquet.read_table(io.BytesIO(data))


def test_parquet_reads_back_bit_for_bit():
    data, points = written("parquet", AWKWARD, FakeRun("other", series("numbers", [1], [2.0], [3.0])))
    table = _parquet(data)
    assert table.column_names == ["run", "tag", "step", "wall_time", "value"]
    assert table.num_rows == points == len(NUMBERS) + len(STEPS) + 1
    columns = table.to_pydict()
    assert bits(columns["value"]) == bits([*NUMBERS, *[1.0] * len(STEPS), 3.0])
    assert bits(columns["wall_time"][: len(NUMBERS)]) == bits(NUMBERS[::-1])
    assert columns["step"][len(NUMBERS) : -1] == STEPS
    assert columns["run"] == ["run"] * (points - 1) + ["other"]
    assert columns["tag"] == ["numbers"] * len(NUMBERS) + ["steps"] * len(STEPS) + ["numbers"]


def test_parquet_of_no_points_has_its_columns():
    table = _parquet(written("parquet")[0])
    assert (table.num_rows, table.column_names) == (0, ["run", "tag", "step", "wall_time", "value"])


def test_parquet_takes_a_series_without_points():
    table = _parquet(written("parquet", FakeRun("r", series("empty", [], [], []), series("t", [1], [2.0], [3.0])))[0])
    assert table.to_pydict() == {"run": ["r"], "tag": ["t"], "step": [1], "wall_time": [2.0], "value": [3.0]}


def test_parquet_of_many_points_is_written_in_several_groups(monkeypatch):
    import pyarrow.parquet

    monkeypatch.setattr(parquet_table, "_ROW_GROUP_ROWS", 1000)
    runs = [FakeRun(f"r{i}", series("t", range(700), [0.0] * 700, [float(i)] * 700)) for i in range(5)]
    data, points = written("parquet", *runs)
    assert points == 3500
    assert pyarrow.parquet.ParquetFile(io.BytesIO(data)).num_row_groups > 2
    assert _parquet(data)["value"].to_pylist() == [float(i) for i in range(5) for _ in range(700)]
    assert set(_parquet(data)["run"].to_pylist()) == {f"r{i}" for i in range(5)}


def test_parquet_without_pyarrow_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackage, match=r'Parquet export needs pyarrow.*pip install "pulseboard\[parquet\]"'):
        written("parquet", AWKWARD)


# ---- all formats


@pytest.mark.parametrize("form", export_formats())
def test_progress_is_reported_tag_by_tag(form):
    reported = []
    written(form, AWKWARD, AWKWARD, progress=lambda done, total: reported.append((done, total)))
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(("orphans", "want"), [(False, [1.0, 30.0]), (True, [1.0, 2.0, 30.0])])
def test_orphaned_points_are_exported_only_when_asked_for(tmp_path, orphans, want):
    events = [version(), *scalars("loss", (0, 1.0), (1, 2.0)), session_start(1), *scalars("loss", (1, 30.0))]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(*events))
    stream = io.BytesIO()
    export.write([(pb.read(tmp_path)["."], ["loss"])], stream, format="json", orphans=orphans)
    assert json.loads(stream.getvalue())["series"][0]["values"] == want


def test_full_resolution_means_every_point(tmp_path):
    third = TensorProto(dtype=2, double_val=[1 / 3])
    events = [version(), *scalars("loss", *((i, i) for i in range(30_000))), summary(tensor("exact", third), step=1)]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(*events))
    run = pb.read(tmp_path)["."]
    stream = io.BytesIO()
    assert export.write([(run, run.tags("scalar"))], stream, format="csv") == 30_001
    assert stream.getvalue().splitlines()[-1] == b".,exact,1,2.0,0.3333333333333333"


# ---- declarations


def test_a_declared_format_is_written(monkeypatch):
    export_formats()  # loads the formats there are, so that the copy below has them
    monkeypatch.setattr(format_module, "_formats", dict(format_module._formats))
    export_formats.cache_clear()
    try:

        @export_format(id="tags", media_type="text/plain")
        def write_tags(series, stream):
            stream.writelines(f"{run} {one.tag}\n".encode() for run, one in series)

        assert written("tags", FakeRun("r", series("t", [1], [2.0], [3.0]))) == (b"r t\n", 1)
    finally:
        export_formats.cache_clear()


def test_two_formats_with_one_id_are_refused_and_both_files_named():
    export_formats()
    with pytest.raises(PulseboardError, match=r"Two export formats have the id 'csv'.*csv_table\.py and .*test_export"):
        export_format(id="csv", media_type="text/csv")(lambda series, stream: None)
