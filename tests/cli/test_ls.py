"""`pulseboard ls`: one line a run."""

import json

from builders import event_file, scalars, version
from log_directories import write_run


def test_ls_prints_a_line_for_each_run(pulseboard, runs, golden, readable):
    ran = pulseboard("ls", runs)
    assert ran.code == 0
    golden(readable(ran.out), "ls.txt")


def test_ls_reports_damaged_files_on_standard_error(pulseboard, runs, golden, readable):
    golden(readable(pulseboard("ls", runs).err), "ls.err.txt")


def test_ls_of_an_undamaged_log_prints_nothing_on_standard_error(pulseboard, runs):
    assert pulseboard("ls", runs / "sweep").err == ""


def test_ls_json_has_every_run_and_every_note(pulseboard, runs, golden, readable):
    ran = pulseboard("ls", runs, "--json")
    assert (ran.code, ran.err) == (0, "")
    golden(readable(ran.out), "ls.json")
    document = json.loads(ran.out)
    assert document["schema"] == 1
    for run in document["runs"]:
        assert set(run) >= {
            "run", "aliases", "path", "files", "last_step", "points", "tags", "kinds", "started", "ended", "size_bytes",
            "restarts",
        }  # fmt: skip
    (note,) = document["notes"]
    assert note["byte"] is not None
    assert note["path"].endswith("damaged/events.out.tfevents.1700000000.host")


def test_runs_are_selected_by_name_and_by_regular_expression(pulseboard, runs):
    def names(*args):
        return {run["run"] for run in json.loads(pulseboard("ls", runs, "--json", *args).out)["runs"]}

    assert names("-r", "baseline") == {"baseline"}
    assert names("-r", "^sweep/") == {"sweep/lr=0.1", "sweep/lr=0.01"}
    assert names("-r", "sweep/lr=0.1") == {"sweep/lr=0.1"}  # a run's name is that run, though it matches two
    assert names("-r", "empty", "--run", "base") == {"empty", "baseline"}


def test_several_directories_make_one_list(pulseboard, runs):
    ran = pulseboard("ls", runs / "sweep", f"mine:{runs / 'resumed'}", "--json")
    assert {run["run"] for run in json.loads(ran.out)["runs"]} == {"sweep/lr=0.1", "sweep/lr=0.01", "mine/."}


def test_an_empty_directory_is_reported(pulseboard, tmp_path, golden, readable):
    (tmp_path / "nothing").mkdir()
    ran = pulseboard("ls", tmp_path / "nothing")
    assert (ran.code, ran.err) == (0, "")
    golden(readable(ran.out), "ls_empty.txt")
    assert json.loads(pulseboard("ls", tmp_path / "nothing", "--json").out) == {"schema": 1, "runs": [], "notes": []}


def test_many_notes_are_cut_short_and_json_has_them_all(pulseboard, tmp_path):
    for i in range(12):
        (tmp_path / f"run{i}").mkdir()
        (tmp_path / f"run{i}" / "x.tfevents").write_bytes(b"this is not an event file")
    ran = pulseboard("ls", tmp_path)
    assert ran.err.count("note  ") == 8
    assert "… and 4 more notes; --json lists them all." in ran.err
    assert len(json.loads(pulseboard("ls", tmp_path, "--json").out)["notes"]) == 12


def test_a_file_still_being_written_gets_no_note(pulseboard, tmp_path):
    path = write_run(tmp_path, (0, 1.0))
    path.write_bytes(path.read_bytes()[:-3])
    assert pulseboard("ls", tmp_path).err == ""
    (note,) = json.loads(pulseboard("ls", tmp_path, "--json").out)["notes"]
    assert note["level"] == "info"


def test_names_are_printed_literally(pulseboard, tmp_path):
    for name in ("lr[red]", "a[/b]", "x:smile:y", "[bold]"):
        write_run(tmp_path / name)
    out = pulseboard("ls", tmp_path).out
    for name in ("lr[red]", "a[/b]", "x:smile:y", "[bold]"):
        assert name in out


def test_impossible_times_are_printed_as_a_dash(pulseboard, tmp_path):
    for i, wall in enumerate([float("inf"), -float("inf"), float("nan"), 1e300, -1.0, 0.0]):
        events = scalars("loss", (0, 1.0), (1, 2.0))
        events[1].wall_time = wall
        (tmp_path / f"run{i}").mkdir()
        (tmp_path / f"run{i}" / "x.tfevents").write_bytes(event_file(version(), *events))
    assert pulseboard("ls", tmp_path).code == 0
    assert pulseboard("show", tmp_path).code == 0
    json.loads(pulseboard("ls", tmp_path, "--json").out, parse_constant=lambda word: 1 / 0)
