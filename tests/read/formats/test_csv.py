"""CSV histories: which column is the step, what a cell may hold, and what is left of a file that is cut."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from other_formats import levels, only_run, points, runs_of_other_formats, written

from pulseboard.read.formats import csv_table
from pulseboard.read.parsing import line_file, line_table

# ---- tables of many chunks


# Memory is reserved from the length of the first lines: more lines may follow than that, and of other shapes.
@pytest.mark.parametrize("later", ["0.5", "0.50000000000", "", "text"], ids=["shorter", "longer", "empty", "words"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_table_is_read_in_chunks_as_in_one_piece(tmp_path, monkeypatch, threads, later):
    monkeypatch.setattr(line_file, "_CHUNK_BYTES", 9_000)
    monkeypatch.setattr(line_table, "_MIN_THREADED_BYTES", 5_000)
    monkeypatch.setattr(csv_table, "threads_for", lambda path: threads)
    rows = [(i, f"{i}.2500000", "1.5") for i in range(700)]
    rows += [(i, f"{i}", later) for i in range(700, 4000)]
    run = only_run(written(tmp_path / "log.csv", "step,loss,norm\n" + "".join(f"{i},{x},{y}\n" for i, x, y in rows)))
    assert points(run, "loss") == [(i, float(x)) for i, x, _ in rows]
    assert points(run, "norm") == [(i, float(y)) for i, _, y in rows if y not in ("", "text")]


def test_a_line_break_that_only_the_scanner_sees_does_not_split_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(line_file, "_CHUNK_BYTES", 1_000)
    monkeypatch.setattr(line_table, "_MIN_THREADED_BYTES", 500)
    monkeypatch.setattr(csv_table, "threads_for", lambda path: 2)
    rows = [(i, i / 4) for i in range(600)]
    breaks = ["\n", "\r", "\r\n"]
    text = "step,loss\n" + "".join(f"{i},{x}{breaks[i // 200]}" for i, x in rows)
    assert points(only_run(written(tmp_path / "log.csv", text)), "loss") == rows


def test_what_goes_wrong_in_a_scanning_thread_is_raised_where_the_lines_are_used(monkeypatch):
    monkeypatch.setattr(line_table, "_MIN_THREADED_BYTES", 1)

    def fails(line, tokens):
        raise MemoryError("no memory for a plan")

    table = line_table.LineTable(fails, threads=2)
    table.feed(b"step 1 loss 0.5\n")
    with pytest.raises(MemoryError, match="no memory for a plan"):
        table.columns()


# ---- steps


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        ("step,loss", ["0,2.5", "10,1.5"], [(0, 2.5), (10, 1.5)]),
        ("loss,_step,_timestamp", ["2.5,0,1700000000", "1.5,10,1700000009"], [(0, 2.5), (10, 1.5)]),
        ("Step,loss", ["0,2.5", "10,1.5"], [(0, 2.5), (10, 1.5)]),
        ("epoch,loss", ["1,2.5", "2,1.5"], [(1, 2.5), (2, 1.5)]),
        ("iter,epoch,loss", ["5,0,2.5", "6,0,1.5"], [(5, 2.5), (6, 1.5)]),
        ("loss,accuracy", ["2.5,0.1", "1.5,0.2"], [(0, 2.5), (1, 1.5)]),
        ("epoch,loss", ["0.5,2.5", "1.0,1.5", "1.5,1.0"], [(1, 2.5), (2, 1.5), (3, 1.0)]),
        ("step,loss", ["3.0,2.5", "4.0,1.5"], [(3, 2.5), (4, 1.5)]),
        ("step,loss", ["0,2.5", ",1.5", "10,1.0"], [(0, 2.5), (0, 1.5), (10, 1.0)]),
        ("step,loss", ["9,2.5", "3,1.5", "3,1.0"], [(9, 2.5), (3, 1.5), (3, 1.0)]),
    ],
)
def test_steps_come_from_the_best_column_or_the_row_number(tmp_path, header, rows, expected):
    path = written(tmp_path / "log.csv", "\n".join([header, *rows, ""]))
    assert points(only_run(path), "loss") == expected


def test_the_step_column_is_not_a_tag_but_other_counters_are(tmp_path):
    run = only_run(written(tmp_path / "log.csv", "step,epoch,loss\n0,0,2.5\n1,0,1.5\n"))
    assert run.tags("scalar") == ["epoch", "loss"]


# ---- wall times


def test_wall_times_come_from_the_log(tmp_path):
    run = only_run(written(tmp_path / "log.csv", "_step,_timestamp,loss\n0,1700000000.5,2\n1,1700000001.5,1\n"))
    assert run.series("loss").wall_times.tolist() == [1700000000.5, 1700000001.5]
    assert (run.started, run.ended) == (1700000000.5, 1700000001.5)
    assert run.tags() == ["loss"]


def test_wall_times_in_milliseconds_and_as_dates_are_read(tmp_path):
    run = only_run(written(tmp_path / "a.csv", "step,timestamp,loss\n0,1700000000500,2\n"))
    assert run.series("loss").wall_times.tolist() == [1700000000.5]
    run = only_run(written(tmp_path / "b.csv", "step,time,loss\n0,2023-11-14T22:13:20+00:00,2\n"))
    assert run.series("loss").wall_times.tolist() == [1700000000.0]


def test_a_log_without_times_has_nan_and_a_duration_is_not_a_wall_time(tmp_path):
    run = only_run(written(tmp_path / "log.csv", "step,time,loss\n0,0.25,2\n1,0.5,1\n"))
    assert np.isnan(run.series("loss").wall_times).all()
    assert points(run, "time") == [(0, 0.25), (1, 0.5)]
    assert math.isnan(run.started)
    assert run.last_active == pytest.approx((tmp_path / "log.csv").stat().st_mtime)


# ---- cells


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1.5", 1.5),
        (" 1.5 ", 1.5),
        ('"1.5"', 1.5),
        ("-3e-05", -3e-05),
        (".5", 0.5),
        ("5.", 5.0),
        ("nan", "nan"),
        ("NaN", "nan"),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
    ],
)
def test_every_spelling_of_a_number_is_read(tmp_path, cell, value):
    run = only_run(written(tmp_path / "log.csv", f"step,loss\n0,2\n1,{cell}\n"))
    assert points(run, "loss") == [(0, 2.0), (1, value)]
    assert run.notes() == []


@pytest.mark.parametrize("cell", ["", " ", "NA", "None", "null", '""'])
def test_a_missing_value_is_not_a_point(tmp_path, cell):
    run = only_run(written(tmp_path / "log.csv", f"step,loss\n0,2\n1,{cell}\n2,1\n"))
    assert points(run, "loss") == [(0, 2.0), (2, 1.0)]
    assert run.notes() == []


@pytest.mark.parametrize("cell", ["abc", "1_000", "0x10", "True", '"1,5"', "1.2.3", "12%"])
def test_a_cell_that_is_not_a_number_is_left_out_and_noted(tmp_path, cell):
    run = only_run(written(tmp_path / "log.csv", f"step,loss\n0,2\n1,{cell}\n2,1\n"))
    assert points(run, "loss") == [(0, 2.0), (2, 1.0)]
    (note,) = run.notes()
    assert (note.level, note.path) == ("damage", str(tmp_path / "log.csv"))
    assert "1 non-numeric cell of column 'loss'" in note.what
    assert "line 3" in note.what


def test_a_column_of_text_is_skipped_without_a_note(tmp_path):
    run = only_run(written(tmp_path / "log.csv", 'step,loss,sample\n0,2,"{a, b}"\n1,1,"two\nlines"\n'))
    assert run.tags() == ["loss"]
    assert points(run, "loss") == [(0, 2.0), (1, 1.0)]
    assert run.notes() == []


def test_a_decimal_comma_is_read_if_the_comma_is_not_the_delimiter(tmp_path):
    run = only_run(written(tmp_path / "log.csv", "step;loss\n0;2,5\n1;1,25e-3\n"))
    assert points(run, "loss") == [(0, 2.5), (1, 1.25e-3)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_delimiter_and_line_break_is_read(tmp_path, delimiter, newline):
    text = newline.join(["step,loss,acc", "0,2.5,0.1", "1,1.5,0.2", ""]).replace(",", delimiter)
    run = only_run(written(tmp_path / "log.csv", text))
    assert points(run, "loss") == [(0, 2.5), (1, 1.5)]
    assert points(run, "acc") == [(0, 0.1), (1, 0.2)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_every_unicode_encoding_is_read(tmp_path, encoding):
    run = only_run(written(tmp_path / "log.csv", "step,loss,größe\n0,2.5,1\n1,1.5,1\n", encoding=encoding))
    assert points(run, "loss") == [(0, 2.5), (1, 1.5)]
    assert len(run.tags()) == 2


# ---- rows


def test_short_rows_are_read_as_far_as_they_go_and_long_ones_are_noted(tmp_path):
    run = only_run(written(tmp_path / "log.csv", "step,loss,acc\n0,2\n1,1,0.5\n2,0.5,0.6,7,8\n"))
    assert points(run, "loss") == [(0, 2.0), (1, 1.0), (2, 0.5)]
    assert points(run, "acc") == [(1, 0.5), (2, 0.6)]
    assert levels(run) == ["damage"]
    assert "extra cells of 1 row" in run.notes()[0].what


def test_repeated_headers_and_comments_are_not_rows(tmp_path):
    run = only_run(written(tmp_path / "log.csv", '#{"t": 1}\nstep,loss\n0,2\n\nstep,loss\n# resumed\n1,3\n'))
    assert points(run, "loss") == [(0, 2.0), (1, 3.0)]
    assert run.notes() == []


def test_columns_with_the_same_name_get_distinct_tags(tmp_path):
    run = only_run(written(tmp_path / "log.csv", "step,loss,loss,\n0,2,3,4\n"))
    assert run.tags() == ["loss", "loss'", "column 4"]


def test_an_incomplete_last_line_loses_only_the_cell_that_may_lack_digits(tmp_path):
    whole = "step,loss,acc\n0,2.5,0.125\n1,1.5,0.25\n"
    for end in range(len(whole) - 11, len(whole)):
        run = only_run(written(tmp_path / "log.csv", whole[:end]))
        for tag, expected in (("loss", [(0, 2.5), (1, 1.5)]), ("acc", [(0, 0.125), (1, 0.25)])):
            assert points(run, tag) == expected[: len(run.series(tag))]
            assert len(run.series(tag)) >= 1
        assert levels(run) in ([], ["info"])


def test_a_header_alone_is_an_empty_run_only_if_the_user_gave_the_file(tmp_path):
    path = written(tmp_path / "log.csv", "epoch,train_mse,val_mse\n")
    assert only_run(path).tags() == []
    assert runs_of_other_formats(tmp_path) == {}


def test_a_dataset_below_a_directory_is_not_a_run(tmp_path):
    written(tmp_path / "iris.csv", "sepal,petal,species\n5.1,1.4,setosa\n4.9,1.4,setosa\n")
    written(tmp_path / "numbers.csv", "1,2,3\n4,5,6\n")
    assert runs_of_other_formats(tmp_path) == {}


# ---- Lightning and exports


def test_lightning_runs_are_named_after_their_version_and_have_hyperparameters(tmp_path):
    pytest.importorskip("lightning")
    from lightning.pytorch.loggers import CSVLogger

    logger = CSVLogger(tmp_path, name="mnist")
    logger.log_hyperparams({"lr": 0.1, "model": {"width": 64}})
    for step in range(4):
        logger.log_metrics({"train_loss": 1.0 / (step + 1), "epoch": step // 2}, step=step * 10)
    logger.log_metrics({"val_loss": math.nan}, step=30)
    logger.save()
    runs = runs_of_other_formats(tmp_path)
    assert list(runs) == ["mnist/version_0"]
    run = runs["mnist/version_0"]
    assert run.format == "lightning-csv"
    assert points(run, "train_loss") == [(0, 1.0), (10, 0.5), (20, pytest.approx(1 / 3)), (30, 0.25)]
    assert points(run, "epoch") == [(0, 0.0), (10, 0.0), (20, 1.0), (30, 1.0)]
    assert points(run, "val_loss") == [(30, "nan")]
    assert run.config() == {"lr": 0.1, "model": {"width": 64}}
    assert run.hparams().values == {"lr": 0.1, "model/width": 64.0}


def test_hyperparameters_that_are_python_objects_or_invalid_yaml_do_not_stop_reading(tmp_path):
    path = written(tmp_path / "metrics.csv", "step,loss\n0,1\n")
    written(
        tmp_path / "hparams.yaml",
        "lr: 0.1\nact: !!python/name:torch.nn.ReLU ''\nf: !!python/object/apply:os.getcwd []\n",
    )
    run = only_run(path)
    assert run.config() == {"lr": 0.1, "act": "name:torch.nn.ReLU", "f": "object/apply:os.getcwd"}
    written(tmp_path / "hparams.yaml", "a: [1, 2\nb: }")
    run = only_run(path)
    assert run.config() == {}
    assert levels(run) == ["damage"]
    assert points(run, "loss") == [(0, 1.0)]


def test_an_exported_table_is_read_back(tmp_path):
    text = (
        "run,tag,step,wall_time,value\n"
        'a,loss,0,100.5,0.1\na,loss,1,101.5,nan\n"b, c",acc,7,nan,-inf\na,acc,9,1e3,1e-45\n'
    )
    runs = runs_of_other_formats(written(tmp_path / "all.csv", text))
    assert list(runs) == ["all.csv/a", "all.csv/b, c"]
    assert points(runs["all.csv/a"], "loss") == [(0, 0.1), (1, "nan")]
    assert runs["all.csv/a"].series("loss").wall_times.tolist() == [100.5, 101.5]
    assert points(runs["all.csv/b, c"], "acc") == [(7, -math.inf)]
    assert points(runs["all.csv/a"], "acc") == [(9, 1e-45)]


# ---- anything at all

_NAMES = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8)


@given(
    names=st.lists(
        _NAMES.filter(lambda n: n.strip() == n and not n.startswith("#")), min_size=1, max_size=4, unique=True
    ),
    rows=st.lists(st.lists(st.none() | st.floats(), min_size=4, max_size=4), min_size=1, max_size=20),
)
def test_every_number_that_a_csv_writer_writes_is_read_back(tmp_path_factory, names, rows):
    names = [f"m {name}" for name in names]
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(["step", *names])
    for step, row in enumerate(rows):
        table.writerow([step, *("" if value is None else repr(value) for value in row[: len(names)])])
    path = written(tmp_path_factory.mktemp("csv") / "log.csv", out.getvalue())
    (run,) = runs_of_other_formats(path).values()
    for i, name in enumerate(names):
        expected = [
            (step, "nan" if math.isnan(row[i]) else row[i]) for step, row in enumerate(rows) if row[i] is not None
        ]
        assert (points(run, name) if name in run.tags() else []) == expected
    assert run.notes() == []


@given(data=st.binary(max_size=300) | st.text('step,loss;\t"\n\r0123456789.e-+naif#\x00', max_size=300).map(str.encode))
def test_no_bytes_raise_an_error(tmp_path_factory, data):
    for name in ("log.csv", "metrics.csv"):
        for run in runs_of_other_formats(written(tmp_path_factory.mktemp("any") / name, data)).values():
            for tag in run.tags():
                series = run.series(tag)
                assert len(series.steps) == len(series.wall_times) == len(series.values) > 0


def test_row_numbers_without_a_name_are_the_steps_and_the_header_is_left_out(tmp_path):
    rows = "".join(f"{i},0.{i},{9 - i}\n" for i in range(5))
    run = only_run(written(tmp_path / "history.csv", ",accuracy,loss\n" + rows))
    assert run.tags() == ["accuracy", "loss"]
    assert points(run, "loss") == [(i, 9.0 - i) for i in range(5)]
    run = only_run(written(tmp_path / "history.csv", ",accuracy,loss\n" + rows.replace("1,", "7.5,")))
    assert points(run, "accuracy")[0] == (0, 0.0)


@pytest.mark.parametrize(
    ("name", "header", "tags"),
    [
        ("loss.csv", ",train,val", ["loss/train", "loss/val"]),
        ("val_accuracy.csv", ",0", ["val_accuracy"]),
        ("loss.csv", ",loss,lr", ["loss", "lr"]),
    ],
)
def test_a_frame_of_one_metric_gets_its_name_from_the_file(tmp_path, name, header, tags):
    width = header.count(",")
    run = only_run(written(tmp_path / name, header + "\n" + "".join(f"{i}{',0.5' * width}\n" for i in range(3))))
    assert sorted(run.tags()) == tags
    assert points(run, tags[0]) == [(0, 0.5), (1, 0.5), (2, 0.5)]


def test_a_frame_of_something_else_is_not_a_run(tmp_path):
    written(tmp_path / "pixels.csv", ",0\n0,0.5\n1,0.5\n")
    assert not runs_of_other_formats(tmp_path)


def test_numbered_rows_of_metrics_are_a_run_and_others_are_not(tmp_path):
    rows = "".join(f"{i},{i / 4}\n" for i in range(4))
    assert points(only_run(written(tmp_path / "a" / "rewards.csv", ",reward\n" + rows)), "reward")[2] == (2, 0.5)
    written(tmp_path / "b" / "sizes.csv", ",width\n" + rows)
    assert not runs_of_other_formats(tmp_path / "b")
