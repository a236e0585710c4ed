"""Tables: a series, a run and all runs as data frames of pandas, polars and Arrow."""

import struct
import subprocess
import sys

import numpy as np
import pytest
from builders import event_file, scalars, session_start, version
from log_directories import write_run

import pulseboard as pb
from pulseboard.core.errors import MissingPackage

LIBRARIES = {
    "to_pandas": lambda frame: {name: frame[name].tolist() for name in frame.columns},
    "to_polars": lambda frame: {name: frame[name].to_list() for name in frame.columns},
    "to_arrow": lambda frame: frame.to_pydict(),
}


@pytest.fixture(params=LIBRARIES)
def framed(request):
    """Turns a table into a data frame of each library, and that into plain lists."""
    return lambda table: LIBRARIES[request.param](getattr(table, request.param)())


@pytest.fixture
def log(tmp_path):
    """Two runs; `a` has two tags."""
    events = [version(), *scalars("loss", (0, 1.5), (1, -2.5)), *scalars("accuracy", (1, 0.25))]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "events.out.tfevents.1").write_bytes(event_file(*events))
    write_run(tmp_path / "b", (7, 3.0), wall_time=-50)
    return pb.read(tmp_path)


def test_a_series_is_a_table_of_its_points(log, framed):
    assert framed(log["a"].series("loss")) == {"step": [0, 1], "wall_time": [100.0, 101.0], "value": [1.5, -2.5]}


def test_a_run_is_a_table_of_all_its_scalars(log, framed):
    assert framed(log["a"]) == {
        "tag": ["loss", "loss", "accuracy"],
        "step": [0, 1, 1],
        "wall_time": [100.0, 101.0, 101.0],
        "value": [1.5, -2.5, 0.25],
    }


def test_runs_are_one_table(log, framed):
    assert framed(log) == {
        "run": ["a", "a", "a", "b"],
        "tag": ["loss", "loss", "accuracy", "loss"],
        "step": [0, 1, 1, 7],
        "wall_time": [100.0, 101.0, 101.0, 57.0],
        "value": [1.5, -2.5, 0.25, 3.0],
    }


def test_numbers_keep_their_bits(tmp_path, framed):
    numbers = [float("nan"), float("inf"), -float("inf"), -0.0, 2.0**-149]
    write_run(tmp_path, *enumerate(numbers))
    got = framed(pb.read(tmp_path)["."].series("loss"))["value"]
    assert [struct.pack("<d", float(number)) for number in got] == [struct.pack("<d", number) for number in numbers]


def test_numbers_have_their_types(log):
    frame = log.to_arrow()
    assert [str(frame.schema.field(name).type) for name in ("step", "wall_time", "value")] == [
        "int64",
        "double",
        "double",
    ]
    assert dict(log.to_pandas().dtypes[["step", "wall_time", "value"]]) == {
        "step": np.int64,
        "wall_time": np.float64,
        "value": np.float64,
    }


def test_names_are_text_in_tables_with_and_without_rows(log, tmp_path):
    import polars

    (tmp_path / "nothing").mkdir()
    for table in (log, pb.read(tmp_path / "nothing")):
        assert table.to_polars().schema["run"] == polars.String
        assert str(table.to_arrow().schema.field("run").type) == "string"


def test_no_runs_are_a_table_without_rows_but_with_all_columns(tmp_path, framed):
    assert framed(pb.read(tmp_path)) == {"run": [], "tag": [], "step": [], "wall_time": [], "value": []}


def test_a_run_without_scalars_is_a_table_without_rows_but_with_all_columns(tmp_path, framed):
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version()))
    assert framed(pb.read(tmp_path)["."]) == {"tag": [], "step": [], "wall_time": [], "value": []}


def test_orphaned_points_are_left_out_of_tables(tmp_path, framed):
    events = [version(), *scalars("loss", (0, 1.0), (1, 2.0)), session_start(1), *scalars("loss", (1, 3.0))]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(*events))
    assert framed(pb.read(tmp_path))["value"] == [1.0, 3.0]


@pytest.mark.parametrize(
    ("call", "package", "extra"),
    [("to_pandas", "pandas", "pandas"), ("to_polars", "polars", "polars"), ("to_arrow", "pyarrow", "arrow")],
)
def test_an_error_about_a_missing_library_says_how_to_install_it(log, monkeypatch, call, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage) as caught:
        getattr(log, call)()
    assert str(caught.value) == (
        f'{call}() needs {package}, which is not installed. Install it with: pip install "pulseboard[{extra}]"'
    )
    assert isinstance(caught.value, ImportError)


def test_reading_loads_no_data_frame_library(tmp_path):
    write_run(tmp_path)
    code = (
        "import sys, pulseboard as pb; pb.read(sys.argv[1])['.'].series('loss').columns(); "
        "sys.exit(', '.join({'pandas', 'polars', 'pyarrow'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_a_series_has_a_readable_repr(log):
    assert repr(log["a"].series("loss")) == "Series('loss', 2 points, steps 0..1, last -2.5)"
    assert len(log["a"].series("loss")) == 2
    assert repr(log["a"]) == "Run('a', 2 tags, 3 points)"
    assert "2 runs" in repr(log)
