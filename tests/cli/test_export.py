"""`pulseboard export`: every point of every run, in one command."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest
from log_directories import write_run

import pulseboard as pb


def exported(*args):
    """What the command writes to its standard output: bytes, so that the process is a real one."""
    done = subprocess.run([sys.executable, "-m", "pulseboard", "export", *map(str, args)], capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def test_csv_of_a_whole_log_goes_to_standard_output(runs, golden):
    code, out, err = exported(runs)
    assert code == 0
    golden(out.decode(), "export.csv")
    assert "Skipped 1 record" in err
    rows = list(csv.DictReader(io.StringIO(out.decode())))
    assert {row["run"] for row in rows} == {"baseline", "resumed", "sweep/lr=0.1", "sweep/lr=0.01", "damaged"}


def test_json_and_parquet_hold_the_same_points(runs, tmp_path, pulseboard):
    want = sum(len(run.series(tag)) for run in pb.read(runs).values() for tag in run.tags("scalar"))
    for form in ("csv", "json", "parquet"):
        ran = pulseboard("export", runs, "--format", form, "-o", tmp_path / "out")
        assert ran.code == 0
        assert ran.out.startswith(f"Wrote {want} points of 6 runs to {tmp_path / 'out'}, ")


def test_the_format_is_taken_from_the_files_name(runs, tmp_path, pulseboard):
    pulseboard("export", runs, "-o", tmp_path / "all.json")
    assert json.loads((tmp_path / "all.json").read_text())["schema"] == 1
    pulseboard("export", runs, "-o", tmp_path / "all.parquet")
    assert (tmp_path / "all.parquet").read_bytes()[:4] == b"PAR1"
    pulseboard("export", runs, "-o", tmp_path / "all.txt")
    assert (tmp_path / "all.txt").read_bytes().startswith(b"run,tag,step,wall_time,value\n")


def test_the_summary_of_an_export_is_json_with_json(runs, tmp_path, pulseboard):
    ran = pulseboard("export", runs, "-o", tmp_path / "all.csv", "--json", "-r", "resumed")
    assert json.loads(ran.out) == {
        "schema": 1,
        "output": str(tmp_path / "all.csv"),
        "format": "csv",
        "runs": 1,
        "points": 10,
        "size_bytes": (tmp_path / "all.csv").stat().st_size,
    }


def test_json_without_a_file_is_the_export_itself(runs):
    code, out, _ = exported(runs, "--json")
    assert code == 0
    assert {series["run"] for series in json.loads(out)["series"]} >= {"baseline", "resumed"}


def test_runs_tags_and_orphans_can_be_selected(runs, tmp_path, pulseboard):
    def points(*args):
        return json.loads(pulseboard("export", runs, "-o", tmp_path / "out", "--json", *args).out)["points"]

    assert points("-r", "resumed") == 10
    assert points("-r", "resumed", "--orphans") == 14
    assert points("-t", "rate$") == 100
    assert points("-t", "no such tag") == 0


def test_what_other_ranks_logged_is_exported_too(tmp_path):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    write_run(tmp_path / "exp" / "ranks" / "1", (0, 2.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    rows = list(csv.DictReader(io.StringIO(exported(tmp_path)[1].decode())))
    assert [(row["run"], row["value"]) for row in rows] == [("exp", "1.0"), ("exp/ranks/1", "2.0")]


def test_a_missing_directory_is_reported_and_nothing_is_written(runs, tmp_path, pulseboard):
    ran = pulseboard("export", runs, "-o", tmp_path / "nowhere" / "all.csv")
    assert ran.code == 2
    assert "No such file or directory" in ran.err


def test_an_export_that_fails_leaves_the_file_of_that_name_alone(runs, tmp_path, pulseboard, monkeypatch):
    target = tmp_path / "all.csv"
    target.write_text("what was there before")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pulseboard.export.write.write", fail)
    ran = pulseboard("export", runs, "-o", target)
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert target.read_text() == "what was there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.csv", "runs"]


def test_an_exported_file_has_ordinary_permissions(runs, tmp_path, pulseboard):
    before = os.umask(0o022)
    try:
        pulseboard("export", runs, "-o", tmp_path / "all.csv")
    finally:
        os.umask(before)
    assert (tmp_path / "all.csv").stat().st_mode & 0o777 == 0o644


def test_an_empty_directory_exports_a_header(tmp_path):
    assert exported(tmp_path)[:2] == (0, b"run,tag,step,wall_time,value\n")


def test_parquet_is_not_printed_to_a_terminal(runs, pulseboard, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    ran = pulseboard("export", runs, "--format", "parquet")
    assert ran.code == 2
    assert "Write to a file with -o FILE" in ran.err


@pytest.mark.parametrize("name", ["comma,run", 'quote"run', "line\nrun"])
def test_awkward_run_names_survive(tmp_path, name):
    write_run(tmp_path / name, (0, 1.5))
    code, out, _ = exported(tmp_path)
    assert code == 0
    assert list(csv.reader(io.StringIO(out.decode(), newline="")))[1] == [name, "loss", "0", "100.0", "1.5"]
